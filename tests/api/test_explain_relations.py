"""Explain of relational queries: what is kept, and with statistics the plans there are and why one won."""

from __future__ import annotations

from pathlib import Path

import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import PlanError

QUERY = ("SELECT * FROM S1 [RANGE 1 min], S2 [RANGE 1 min] WHERE S1.a = S2.a AND NOT EXISTS "
         "(SELECT * FROM S3 [RANGE 1 min] WHERE S3.a = S1.a)")
MANY = {"S1.rows_per_second": 100, "S2.rows_per_second": 100, "S1.a": 50, "S2.a": 50, "S3.a": 50}


def test_without_statistics_every_edge_says_how_it_is_kept_and_no_plan_is_compared():
    text = pw.explain(QUERY)
    assert "kept as   chains by key (rows leave in the order they came)" in text
    assert "kept as   counts by key, queue (rows leave in the order they came)" in text
    assert "result    not kept, rows are named when they are gone (a row that leaves meets the other" in text
    assert "plans:" not in text


def test_with_statistics_candidates_are_listed_with_label_and_cost_and_the_winner_is_shown():
    text = pw.explain(QUERY, stats=MANY)
    written, candidates, chosen = text.split("\n\n")
    assert written.startswith("STR ── AntiJoin")
    assert candidates.splitlines()[2].endswith("(S1[] ▷ S3[]) ⋈ S2[]  negation above join")
    assert candidates.splitlines()[-1].startswith("chosen: ")
    assert chosen.startswith("STR ── Join")
    assert "kept as" in chosen


def test_the_picture_shows_the_plan_that_won_and_what_it_keeps():
    written, chosen = pw.explain(QUERY, format="svg"), pw.explain(QUERY, format="svg", stats=MANY)
    for picture in (written, chosen):
        assert "kept as: chains by key" in picture
        assert "rows leave in the order" not in picture  # reasons are in the text
    assert written.index("AntiJoin") < written.index(">Join<")
    assert chosen.index(">Join<") < chosen.index("AntiJoin")


def test_the_command_line_takes_statistics_by_input(capsys: pytest.CaptureFixture[str]):
    stats = ",".join(f"{name}={value}" for name, value in MANY.items())
    assert main(["explain", QUERY, "--stats", stats]) == 0
    assert "negation above join" in capsys.readouterr().out


def test_the_style_is_an_option(capsys: pytest.CaptureFixture[str]):
    assert main(["explain", QUERY, "--strategy", "negative"]) == 0
    assert "counts by key, rows by number, every end is sent (style: every expiry is sent)" in capsys.readouterr().out
    assert main(["explain", QUERY, "--strategy", "direct"]) == 0
    assert "counts by key, list in order of arrival" in capsys.readouterr().out
    assert main(["explain", QUERY.replace("RANGE 1 min", "ROWS 10"), "--strategy", "direct"]) == 0
    assert "counts by key, rows by number" in capsys.readouterr().out


def test_statistics_of_a_relational_plan_are_measured_on_its_files(tmp_path: Path,
                                                                   capsys: pytest.CaptureFixture[str]):
    for name, values in (("S1", 3), ("S2", 3), ("S3", 3)):
        lines = [f"{second},{second % values}" for second in range(200)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["ts,a", *lines]) + "\n", encoding="utf-8")
    streams = [part for name in ("S1", "S2", "S3") for part in ("--stream", f"{name}={tmp_path / name}.csv")]
    assert main(["explain", QUERY.replace("1 min", "60"), *streams, "--stats", "measure"]) == 0
    shown = capsys.readouterr().out
    assert "measured statistics" in shown
    assert "chosen: " in shown


def test_a_window_aggregate_over_a_union_of_streams_has_nothing_to_choose():
    text = pw.explain("SELECT count(*) [RANGE 1 min, SLIDE 1 min, WA ts] AS n FROM S1 UNION S2")
    assert "kept as" not in text
    assert "result " not in text


def test_a_statistic_of_nothing_is_refused():
    with pytest.raises(PlanError, match="above zero"):
        pw.explain(QUERY, stats={"S1.a": 0})


THREE = "SELECT c.v FROM a [RANGE 6], b [RANGE 6], c [RANGE 6] WHERE a.k = b.k AND b.k = c.k"
RATES = {"a.rows_per_second": 100, "b.rows_per_second": 100, "c.rows_per_second": 1}


def test_plans_that_need_columns_are_said_to_be_missing_where_columns_are_not_known() -> None:
    rows = [{"ts": 1, "k": "x", "v": 2}]
    without, given = pw.explain(THREE, stats=RATES), pw.explain(THREE, stats=RATES, a=rows, b=rows, c=rows)
    assert "plans: 1 candidate," in without
    assert "not looked for: plans that must know columns" in without
    assert "give schemas or rows of a, b, c" in without
    assert "plans: 1 candidate," not in given
    assert "not looked for" not in given


BAND = "SELECT * FROM a [WA ts, RANGE 3], b [WA ts, RANGE 2] WHERE a.k = b.k"
OVER_BAND = "SELECT DISTINCT a.k FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] WHERE a.k = b.k"
COUNTED = ("SELECT a.k, count(*) [RANGE 10, SLIDE 10, WA a.ts] AS n FROM a [RANGE 3, WA ts], b [RANGE 3, WA ts] "
           "WHERE a.k = b.k GROUP BY a.k")


@pytest.mark.parametrize("query", [BAND, OVER_BAND, COUNTED])
def test_statistics_of_streams_that_are_joined_by_their_times_are_said_to_be_of_no_use(query: str) -> None:
    rows = [{"ts": 1, "k": "x", "v": 2}]
    assert "statistics: not used, because a join of streams by their times" in pw.explain(query, stats=RATES)
    assert "statistics: not used" not in pw.explain(query)
    with pytest.raises(PlanError, match="stats= chooses nothing here: a join of streams by their times"):
        pw.sql(query, stats=RATES, a=rows, b=rows)


def test_statistics_of_the_windows_over_joined_streams_still_choose_their_kernel() -> None:
    rows = [{"ts": 1, "k": "x", "v": 2}]
    assert len(list(pw.sql(COUNTED, stats={"rows_per_unit": 5, "groups": 3}, a=rows, b=rows))) == 1
