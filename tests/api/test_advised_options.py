"""Options that errors advise exist in every entry point; one that does not exist names the nearest that does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import PlanError, SchemaError, SqlError

ROWS = [{"ts": 1, "k": "a", "v": 2}, {"ts": 2, "k": "b", "v": 3}]
COLUMNS = "ts bigint, k string, v bigint"


def opened(text: str, **options: Any) -> Any:
    query = pw.open_query(text, s=COLUMNS, **options)
    return [*query.push("s", ROWS).to_pylist(), *query.finish().to_pylist()]


ENTRIES: dict[str, Callable[..., Any]] = {
    "sql": lambda text, **options: list(pw.sql(text, s=ROWS, **options)),
    "oracle": lambda text, **options: list(pw.sql(text, s=ROWS, engine="oracle", **options)),
    "run": lambda text, **options: list(pw.run(text, s=ROWS, **options)),
    "open_query": opened,
    "explain": lambda text, **options: pw.explain(text, s=ROWS, **options),
}



@pytest.mark.parametrize("entry", ENTRIES)
def test_lenient_groups_by_plain_columns_in_every_entry_point(entry: str) -> None:
    text = "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
    with pytest.raises(SqlError, match="'k' is neither grouped nor aggregated"):
        ENTRIES[entry](text)
    found = ENTRIES[entry](text, lenient=True)
    assert entry == "explain" or sorted((row["k"], row["n"]) for row in found) == [("a", 1), ("b", 1)]


@pytest.mark.parametrize("entry", ENTRIES)
def test_the_functions_that_an_error_advises_are_taken_by_every_entry_point(entry: str) -> None:
    text = "SELECT quux(v) AS w FROM s"
    with pytest.raises(SqlError, match=r"functions=\{'quux': callable\}, or say what quux stands for"):
        ENTRIES[entry](text)
    found = ENTRIES[entry](text, functions={"quux": pw.function(lambda v: v * 10, returns="bigint")})
    assert entry == "explain" or sorted(row["w"] for row in found) == [20, 30]
    total = ENTRIES[entry]("SELECT quux(v) [RANGE 10, SLIDE 10, WA ts] AS w FROM s", functions={"quux": "sum"})
    assert entry == "explain" or [row["w"] for row in total] == [5]


def test_the_method_calls_take_functions_too() -> None:
    def windows(**options: Any) -> Any:
        return pw.stream(ROWS, time="ts", **options).where("quux(v) > 20").window(range=10, slide=10).agg(n="count(*)")

    with pytest.raises(SqlError, match=r"functions=\{'quux'"):
        windows()
    assert [row["n"] for row in windows(functions={"quux": pw.function(lambda v: v * 10, returns="bigint")})] == [1]


@pytest.mark.parametrize(("given", "meant"), [
    ("leniant", "lenient"), ("function", "functions"), ("bad_row", "bad_rows"), ("max_jmp", "max_jump"),
    ("late_kep", "late_keep"), ("progres", "progress"), ("suppress_partal", "suppress_partial"), ("zon", "zone"),
])
@pytest.mark.parametrize("entry", [*sorted(set(ENTRIES) - {"oracle"}), "stream"])
def test_an_unknown_option_names_the_nearest_known_one(entry: str, given: str, meant: str) -> None:
    call = ENTRIES.get(entry) or (lambda text, **options: pw.stream(ROWS, **options))
    if (entry, meant) == ("stream", "lenient"):
        return  # a chain of calls says group_by
    with pytest.raises(PlanError, match=rf"no option '{given}'.*did you mean '{meant}'\?"):
        call("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", **{given: "x"})


def test_the_command_line_has_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.ndjson").write_text('{"ts": 1, "k": "a"}\n')
    run = ["run", "SELECT k, count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", "--stream", f"s={tmp_path}/s.ndjson",
           "--engine", "embedded", "--quiet"]
    assert main(run) == 2
    assert main([*run, "--lenient"]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*run, "--leniant"])
    assert "did you mean '--lenient'?" in capsys.readouterr().err


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("options", [
    {"late": 5}, {"late": None}, {"progress": 7}, {"progress": {"s": 5}}, {"progress": {5: "ordered"}},
    {"functions": 5}, {"params": 5}, {"time": 5}, {"time": {"s": 5}}, {"stats": 5}, {"emit": 3}, {"joins": 3},
    {"max_jump": [1]}, {"max_jump": True}, {"now": "yesterday"}, {"columns": 5}, {"checkpoint": 5},
    {"checkpoint_seconds": "x"}, {"lenient": "no"}, {"lenient": 1}, {"suppress_partial": "false"}, {"exact": None},
    {"analyze": "no"}, {"events": "x"}, {"current": 1}, {"empty_windows": "x"}, {"max_line": "1 MB"},
    {"max_line": True}, {"max_line": 0},
], ids=str)
def test_an_option_of_another_type_is_refused_by_its_name(entry: str, options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises(PlanError, match=name):
        ENTRIES[entry]("SELECT count(*) [RANGE 10, SLIDE 10, WA ts] AS n FROM s", **options)


def test_columns_of_another_type_are_refused() -> None:
    with pytest.raises(SchemaError, match="columns are an Arrow schema"):
        pw.open_query("SELECT ts FROM s", s=5)  # type: ignore[arg-type]
