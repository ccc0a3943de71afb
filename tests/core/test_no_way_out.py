"""No query text reaches a file, the network or an extension.

The columns are in capitals: a quoted unit of time was written again in capitals, and only a text whose names were
found among the columns came as far as the file.
"""

from __future__ import annotations

import socket
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.core.errors import PanewiseError, SqlError
from panewise.core.schema import Catalog
from panewise.sql import parse

ROWS: list[dict[str, Any]] = [{"TS": 1, "D": date(2020, 1, 1), "T": datetime(2020, 1, 1, tzinfo=UTC), "CONTENT": "c"}]
READING = "(SELECT CONTENT FROM read_text(lower('{path}')))"
COUNTING = "(SELECT count(*) FROM read_blob(lower('{path}')))"

ESCAPES = [
    f"extract(`year FROM DATE '2020-01-01') || {READING} || extract(year` FROM D)",
    f"extract(`year FROM DATE '2020-01-01') || {COUNTING} || extract(year` FROM DATE '2020-01-01')",
    f"timestampdiff(`SECOND, T, T) || {READING} || datediff(SECOND`, T, T)",
    f"timestampdiff(`SECOND, T, T) + {COUNTING} + datediff(SECOND`, T, T)",
    f"timestampadd(`DAY, 1, T) || {READING} || timestampadd(DAY`, 1, T)",
    f"dateadd(`DAY, 1, T) || {READING} || dateadd(DAY`, 1, T)",
    f"datediff(`DAY, T, T) + {COUNTING} + datediff(DAY`, T, T)",
    f"date_trunc(`'YEAR', T) || {READING} || date_trunc('YEAR'`, T)",
    f"CAST(D AS `INT) || {READING} || CAST(1 AS INT`)",
    f"`TS\" || {READING} || \"TS`",
    READING, COUNTING, "read_text('{path}')", "read_csv('{path}')", "glob('{path}')", "getenv('HOME')",
    "reflect('java.lang.System', 'getProperty', 'user.home')",
    "java_method('java.lang.System', 'getProperty', 'user.home')",
]


@pytest.fixture
def secret(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file whose path survives capitals and small letters."""
    found = tmp_path_factory.mktemp("lower") / "secret"
    found.write_text("the secret")
    return found


@pytest.mark.parametrize("expression", ESCAPES)
@pytest.mark.parametrize("engine", ["embedded", "oracle"])
def test_an_expression_that_would_read_a_file_is_refused(engine: str, expression: str, secret: Path) -> None:
    text = f"SELECT {expression.format(path=secret)} AS x FROM s"
    with pytest.raises(PanewiseError) as refused:
        list(pw.sql(text, s=ROWS, engine=engine))
    assert "the secret" not in str(refused.value)


def test_no_address_is_asked_for() -> None:
    """The text that made DuckDB fetch an extension for http, with a server that would be heard."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/x"
        with pytest.raises(SqlError, match="is no unit of time"):
            pw.sql(f"SELECT {ESCAPES[0].format(path=address)} AS x FROM s", s=ROWS)
        with pytest.raises(TimeoutError):
            server.accept()


# -- on Spark, where the JVM has functions that open files by themselves

OPENING = [
    "from_xml('<a><b>1</b></a>', 'b int', map('rowValidationXSDPath', '{path}'))",
    "from_xml('<a><b>1</b></a>', 'b int', map('mode', 'FAILFAST', 'ROWVALIDATIONXSDPATH', '{path}'))",
    "from_xml('<a><b>1</b></a>', 'b int', map(concat('rowValidation', 'XSDPath'), '{path}'))",
    "`from_xml`('<a><b>1</b></a>', 'b int', map('rowValidationXSDPath', '{path}'))",
    "schema_of_xml('<a><b>1</b></a>', map('rowValidationXSDPath', '{path}'))",
]
QUOTED = [
    "extract(`YEAR FROM D) || (SELECT VALUE FROM TEXT.``{path}``) || extract(YEAR` FROM D)",
    "timestampdiff(`SECOND, T, T) || (SELECT VALUE FROM TEXT.``{path}``) || timestampdiff(SECOND`, T, T)",
    "dateadd(`DAY, 1, T) || (SELECT VALUE FROM TEXT.``{path}``) || dateadd(DAY`, 1, T)",
    "datediff(`DAY, T, T) || (SELECT VALUE FROM TEXT.``{path}``) || datediff(DAY`, T, T)",
]


@pytest.mark.parametrize("expression", OPENING)
def test_an_option_that_names_a_file_is_refused_at_its_place(expression: str, secret: Path) -> None:
    text = f"SELECT {expression.format(path=secret)} AS x FROM s"
    with pytest.raises(SqlError, match="would open a file that the text of a query names") as refused:
        parse(text, Catalog.anything())
    assert refused.value.start == text.index(expression.split("(", maxsplit=1)[0])


@pytest.mark.spark
@pytest.mark.parametrize("expression", [*OPENING, *QUOTED])
def test_on_spark_nothing_is_opened(expression: str, spark: SparkSession, secret: Path) -> None:
    frame = spark.createDataFrame([(1, date(2020, 1, 1), datetime(2020, 1, 1), "v")],
                                  "TS bigint, D date, T timestamp, VALUE string")
    with pytest.raises(PanewiseError):
        pw.sql(f"SELECT {expression.format(path=secret)} AS x FROM s", s=frame).collect()


@pytest.mark.spark
def test_other_options_of_such_functions_work(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1,)], "TS bigint")
    text = "SELECT from_xml('<a><b>1</b></a>', 'b int', map('mode', 'FAILFAST')).b AS x FROM s"
    assert [row.x for row in pw.sql(text, s=frame).collect()] == [1]
