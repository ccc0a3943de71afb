"""Ask Spark in which type two others meet, in UNION, EXCEPT ALL, coalesce and array, and keep the answers.

    python tools/ask_common_types.py

They are in tests/functions/common_types.json: for every pair of types that meet, in both orders, the type of each form.
Spark refuses the pairs that are not there. Same Spark: same file.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from functions.common_types import (  # noqa: E402 (what is asked is that of the tests)
    FILE,
    FORMS,
    LISTS,
    SET_OPERATIONS,
    TYPES,
    VALUES,
    Asked,
    expression,
    written,
)

SETTINGS = {"spark.ui.enabled": "false", "spark.sql.ansi.enabled": "true", "spark.sql.session.timeZone": "UTC"}


def column(kind: str) -> str:
    """A column of a type."""
    return "NULL" if kind == "void" else f"CAST(NULL AS {kind})"


def text_of(form: str, kinds: tuple[str, ...]) -> str:
    """A query whose column ``c`` has the common type."""
    if form in SET_OPERATIONS:
        return f" {SET_OPERATIONS[form]} ".join(f"SELECT {column(kind)} AS c" for kind in kinds)
    names = [f"c{i}" for i in range(len(kinds))]
    inner = ", ".join(f"{column(kind)} AS {name}" for kind, name in zip(kinds, names, strict=True))
    return f"SELECT {expression(form, names)} AS c FROM (SELECT {inner})"


def asked(session: Any, form: str, kinds: tuple[str, ...]) -> str | None:
    """The type of the column; None if there is none."""
    from pyspark.errors import AnalysisException

    try:
        kind = session.sql(text_of(form, kinds)).schema["c"].dataType
    except AnalysisException:
        return None
    return str((kind.elementType if form == "array" else kind).simpleString())


def valued(session: Any, kinds: tuple[str, str], values: tuple[str, str]) -> list[str] | str:
    """The rows of a UNION as text, or the condition it fails with."""
    from pyspark.errors import PySparkException

    first, second = (f"SELECT CAST(x AS {kind}) AS c FROM VALUES ({value}) AS t(x)"
                     for kind, value in zip(kinds, values, strict=True))
    try:
        return [row[0] for row in session.sql(f"SELECT CAST(c AS string) FROM ({first} UNION ALL {second})").collect()]
    except PySparkException as error:
        return f"! {error.getCondition()}"


def main() -> None:
    """Every pair, and lists of three in every order that is asked."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").appName("ask_common_types")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    logging.getLogger("SQLQueryContextLogger").disabled = True
    every = [*((one, other) for one in TYPES for other in TYPES), *LISTS]
    types = written([Asked(kinds, {form: asked(session, form, kinds) for form in FORMS}) for kinds in every])
    values = [[*kinds, *both, valued(session, kinds, both)] for kinds, both in VALUES]
    lines = ",\n".join(json.dumps(row) for row in types)
    results = ",\n".join(json.dumps(row) for row in values)
    FILE.write_text(f'{{"spark": "{session.version}",\n"types": [\n{lines}\n],\n"values": [\n{results}\n]}}\n')


if __name__ == "__main__":
    main()
