"""An expression that fails on a row says which row that is: of which stream, as which row, made of which others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

import panewise as pw
from panewise.core.errors import EvaluationError
from panewise.dataflow.origins import MOST, Origins

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S = [{"ts": ts, "v": 5 - ts, "k": "a"} for ts in range(10)]
B = [{"ts": ts, "w": 5 - ts, "k": "a"} for ts in range(10)]
OF_S, OF_B = "stream 's', row 6, came in at 5", "stream 'b', row 6, came in at 5"
PAIR = "a pair of 's' and 'b'"
MEETING = "s AS a [RANGE 3], b [RANGE 1] WHERE a.k = b.k"
IN_TIME = "s AS a, b WHERE a.k = b.k AND a.ts BETWEEN b.ts - 2 AND b.ts + 2"

PLACES = {
    "SELECT 10 / v AS x FROM s": OF_S,
    "SELECT 10 / v AS x FROM s [RANGE 3]": OF_S,
    "SELECT v FROM s [RANGE 3] WHERE 10 / v > 1": OF_S,
    "SELECT v FROM s [ROWS 2 WHERE 10 / v > 1]": OF_S,
    "SELECT v FROM s [RANGE 2 WHERE 10 / v > 1]": OF_S,
    "SELECT sum(10 / v) AS x FROM s [RANGE 3]": OF_S,
    "SELECT explode(array(10 / v)) AS x FROM s [RANGE 3]": OF_S,
    "SELECT a.v FROM s AS a [RANGE 3], b [RANGE 3] WHERE 10 / a.v = b.w": f"{PAIR}, came in at 7",
    "SELECT a.v FROM s AS a [RANGE 3], b [RANGE 3] WHERE 10 / a.v = 10 / b.w": OF_S,
    "SELECT v FROM s [RANGE 5] EXCEPT ALL SELECT 10 / w FROM b [RANGE 3]": OF_B,
    "SELECT v + 0.5 AS v FROM s [RANGE 5] UNION SELECT 10 / w FROM b [RANGE 3]": OF_B,
    f"SELECT a.v FROM {MEETING} AND 10 / (a.v + b.w) > 0": f"{PAIR}, came in at 6",
    f"SELECT 10 / (a.v + b.w) AS x FROM {MEETING}": "made of stream 's', row 5 and stream 'b', row 7, came in at 6",
    "SELECT v FROM s AS a [RANGE 5] WHERE EXISTS (SELECT * FROM b [RANGE 5] WHERE a.k = b.k AND 10 / (a.v + b.w) > 1)":
        f"{PAIR}, came in at 7",
    f"SELECT a.v FROM {IN_TIME} AND 10 / (a.v + b.w) > 1": PAIR,
    f"SELECT 10 / (a.v + b.w) AS x FROM {IN_TIME}": PAIR,
    "SELECT 10 / n AS x FROM (SELECT sum(v) AS n, k FROM s [RANGE 1] GROUP BY k)": "a result of GROUP BY, came in at 5",
    "SELECT 10 / n AS x FROM (SELECT sum(v) [RANGE 1, SLIDE 1, WA ts] AS n FROM s)": "window 5 – 6",
    "SELECT 10 / m.n AS x FROM (SELECT sum(v) [RANGE 1, SLIDE 1, WA ts] AS n FROM s) [RANGE 5] AS m":
        "a result of a window, came in at 5",
}


def given(text: str) -> dict[str, Any]:
    return {"s": S, "b": B} if re.search(r"\bb\b", text) else {"s": S}


@pytest.mark.parametrize("text", PLACES)
def test_the_row_is_named(text: str) -> None:
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO") as caught:
        list(pw.sql(text, streams=given(text)))
    assert caught.value.place == PLACES[text]


@pytest.mark.parametrize("text", PLACES)
def test_the_oracle_names_rows_of_streams(text: str) -> None:
    with pytest.raises(EvaluationError, match="DIVIDE_BY_ZERO") as caught:
        pw.sql(text, streams=given(text), engine="oracle")
    of_one = PLACES[text] in (OF_S, OF_B) and "b.w" not in text
    assert caught.value.place == (PLACES[text].partition(",")[0] + ", row 6" if of_one else "")


def test_the_oracle_counts_rows_that_are_left_out_and_elements_as_their_row() -> None:
    rows = [*S[:3], {"ts": None, "v": 0, "k": "a"}, *S[3:]]
    with pytest.raises(EvaluationError, match=r"\(stream 's', row 7\)"):
        pw.sql("SELECT 10 / x AS y FROM s LATERAL VIEW explode(array(v, v + 9)) t AS x WHERE ts > 0", s=rows,
               engine="oracle")


@pytest.mark.parametrize("parts", [1, 3, 7])
def test_numbers_are_those_of_the_stream_however_streams_take_turns(parts: int) -> None:
    query = pw.open_query("SELECT 10 / v AS x FROM s [RANGE 3] UNION ALL SELECT w + 0.5 FROM b [RANGE 3]",
                          s="ts bigint, v bigint, k string", b="ts bigint, w bigint, k string", progress="ordered")

    def run() -> None:
        for start in range(0, 10, parts):
            query.push("b", B[start:start + parts])
            query.push("s", S[start:start + parts])
        query.finish()

    with pytest.raises(EvaluationError, match=r"v = 0 \(stream 's', row 6, came in at 5\)"):
        run()


def test_rows_that_were_left_out_count() -> None:
    rows = [*S[:3], {"ts": None, "v": 1, "k": "a"}, *S[3:]]
    with pytest.raises(EvaluationError, match=r"\(stream 's', row 7, came in at 5\)"):
        list(pw.sql("SELECT 10 / v AS x FROM s [RANGE 3]", s=rows, bad_rows="skip"))


def test_a_restart_knows_them_too() -> None:
    def opened() -> pw.LiveQuery:
        return pw.open_query("SELECT 10 / v AS x FROM s [RANGE 3]", s="ts bigint, v bigint, k string",
                             progress="late:20")

    before, after = opened(), opened()
    before.push("s", S[:7])
    after.restore(before.snapshot())
    after.push("s", S[7:])
    with pytest.raises(EvaluationError, match=r"\(stream 's', row 6, came in at 5\)"):
        after.finish()


def test_what_is_remembered_is_bounded_and_what_is_forgotten_is_not_guessed() -> None:
    origins = Origins()
    for number in range(MOST + 10):
        origins.came("ab"[number % 2], range(number + 1, number + 2), range(number // 2 + 1, number // 2 + 2))
    assert origins.of(10) is None
    assert origins.of(11) == "stream 'a', row 6"
    assert origins.of(MOST + 11) is None
    one = Origins()
    for number in range(10_000):
        one.came("s", range(number + 1, number + 2), range(number + 1, number + 2))
    assert len(one.saved()) == 1


ON_SPARK = {
    "SELECT 10 / v AS x FROM s": "a row of s",
    "SELECT v FROM s WHERE 10 / v > 1": "a row of s",
    "SELECT sum(10 / v) [RANGE 3, SLIDE 3, WA ts] AS x FROM s": "a row of s",
    "SELECT v FROM s [RANGE 5] EXCEPT ALL SELECT 10 / w FROM b [RANGE 3]": "a row of b",
    "SELECT 10 / n AS x FROM (SELECT sum(v) [RANGE 1, SLIDE 1, WA ts] AS n FROM s)": "a result over s",
    f"SELECT a.v FROM {MEETING} AND f(a.v + b.w) > 0": f"{PAIR}, came in at 6",
    "SELECT k FROM s [RANGE 3] WHERE f(v) > 1": "a row of s",
    "SELECT sum(f(v)) [RANGE 3, SLIDE 3, WA ts] AS x FROM s": "a row of s",
}


@pytest.mark.spark
@pytest.mark.parametrize("text", ON_SPARK)
def test_on_spark_the_stream_is_named(spark: SparkSession, text: str) -> None:
    from panewise.engines.spark.session.failures import translate

    frames = {name: spark.createDataFrame(rows) for name, rows in given(text).items()}

    def inverse(value: int) -> int:
        return 10 // value

    with pytest.raises(Exception, match=r"DIVIDE_BY_ZERO|USER_FUNCTION") as caught:
        pw.sql(text, streams=frames, functions={"f": inverse}).collect()
    found = translate(caught.value)
    assert isinstance(found, EvaluationError)
    assert str(found).endswith(f"({ON_SPARK[text]})")
