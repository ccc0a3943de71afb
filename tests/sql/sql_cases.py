"""The cases of this folder and the catalog they share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from panewise.core.schema import Catalog, SourceKind, SourceSchema

DAY = "2026-01-01"
HERE = Path(__file__).parent
TYPES = {"t": pa.timestamp("us", tz="UTC"), "i": pa.int64(), "f": pa.float64(), "s": pa.string(), "d": pa.date32(),
         "l": pa.list_(pa.int64())}


@cache
def catalog() -> Catalog:
    sources = {
        name: SourceSchema({c: TYPES[t] for c, t in entry["columns"].items()}, entry.get("time"),
                           SourceKind(entry.get("kind", "stream")))
        for name, entry in load("catalog.yaml").items()
    }
    return Catalog(sources)


def load(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


def variants(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The query with each other value it lists under ``also``, named after it.

    >>> also = {"params": {"w": [2]}, "text": {"ftp": ["ssh"]}}
    >>> case = {"id": "q", "text": "x = ftp", "params": {"w": 1}, "also": also}
    >>> [(other["id"], other["text"], other["params"]) for other in variants(case)]
    [('q with 2', 'x = ftp', {'w': 2}), ('q with ssh', 'x = ssh', {'w': 1})]
    """
    for part, values in case.get("also", {}).items():
        for name, value in ((name, value) for name, every in values.items() for value in every):
            other = case[part].replace(name, value) if part == "text" else {**case[part], name: value}
            yield {**case, part: other, "id": f"{case['id']} with {value}"}


def options(case: dict[str, Any]) -> dict[str, Any]:
    """What goes to the parser beside the text; one with a bare time of day runs with a day."""
    given = {k: case[k] for k in ("params", "functions", "lenient") if k in case}
    texts = [case.get("text", ""), *map(str, case.get("params", {}).values())]
    return {**given, "day": DAY} if any(" AT '0" in text for text in texts) else given
