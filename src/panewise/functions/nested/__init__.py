"""Functions of arrays, maps and structs."""

from panewise.functions.nested import access, arrays, lambdas, maps, sequences, sets, structs  # noqa: F401 -- importing declares
