"""Text in formats: JSON, URLs, Java's format strings."""

from panewise.functions.formats import (  # noqa: F401 -- importing declares
    json_functions,
    json_values,
    json_writing,
    printing,
    urls,
)
