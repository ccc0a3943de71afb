"""Types called as functions: ``int(x)`` is ``CAST(x AS INT)``."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.registry import operator
from panewise.functions.casts import cast_bound
from panewise.functions.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
)

TYPES = {"boolean": BOOLEAN, "tinyint": TINYINT, "smallint": SMALLINT, "int": INT, "bigint": BIGINT, "float": FLOAT,
         "double": DOUBLE, "decimal": pa.decimal128(10, 0), "string": STRING, "binary": BINARY, "date": DATE,
         "timestamp": TIMESTAMP}


def _declare(name: str, to: pa.DataType) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if len(arguments) != 1:
            raise binder.error(f"{name} takes one value, {len(arguments)} are given", tree)
        try:
            return cast_bound(arguments[0], to, binder.zone, tree=tree)
        except TypeError as error:
            raise binder.error(str(error), tree) from error


for _name, _to in TYPES.items():
    _declare(_name, _to)
