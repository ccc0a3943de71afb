"""The cases of this folder and the catalog they share."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from panewise.core.schema import Catalog, SourceKind, SourceSchema

HERE = Path(__file__).parent
TYPES = {"t": pa.timestamp("us", tz="UTC"), "i": pa.int64(), "f": pa.float64(), "s": pa.string(), "d": pa.date32()}


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


def options(case: dict[str, Any]) -> dict[str, Any]:
    return {k: case[k] for k in ("params", "functions", "lenient") if k in case}
