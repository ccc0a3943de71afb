"""Tables in every entry point in process: what is declared of them, what their rows say, what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import panewise as pw
from panewise.cli.main import main
from panewise.core.errors import BadRowError, PlanError, SchemaError, SqlError

QUERY = "SELECT s.ts, n.name FROM s, n WHERE s.k = n.k"
STREAM = [{"ts": ts, "k": "a"} for ts in (5, 7, 10)]
NAMES = [{"k": "a", "name": "one", "at": 0}, {"k": "a", "name": "two", "at": 0},
         {"k": "a", "name": "one", "at": 6, "change": -1}, {"k": "a", "name": "three", "at": 9}]
MET = [(5, "one"), (5, "two"), (7, "two"), (10, "three"), (10, "two")]
COLUMNS = "k string, name string, at bigint, ts bigint"


def by_sql(engine: str) -> Callable[..., list[dict[str, Any]]]:
    return lambda text, names, **options: list(pw.sql(text, s=STREAM, n=names, engine=engine, **options))


def by_pushes(text: str, names: Any, **options: Any) -> list[dict[str, Any]]:
    """The rows of the table one by one, each saved and restored before the next; then the stream."""
    def opened() -> pw.Query:
        return pw.open_query(text, s="ts bigint, k string",
                             n=pw.table(COLUMNS, time=names.time, key=names.key), **options)
    query = opened()
    found: list[dict[str, Any]] = []
    items = [("n", row) for row in names.value] + [("s", row) for row in STREAM]
    for stream, row in items:
        found += query.push(stream, row).to_pylist()
        saved, query = query.snapshot(), opened()
        query.restore(saved)
    return found + query.finish().to_pylist()


def by_run(text: str, names: Any, **options: Any) -> list[dict[str, Any]]:
    live = pw.table(iter(names.value), time=names.time, key=names.key)
    return list(pw.run(text, s=iter(STREAM), n=live, columns={"n": COLUMNS}, **options))


ENTRIES = {"oracle": by_sql("oracle"), "embedded": by_sql("embedded"), "open_query": by_pushes, "run": by_run}
every_entry = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def pairs(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted((row["ts"], row["name"]) for row in rows)


@every_entry
def test_several_rows_of_one_key_come_and_go(entry: Any) -> None:
    assert pairs(entry(QUERY, pw.table(NAMES, time="at"))) == MET


@every_entry
def test_the_time_of_a_table_may_be_said_with_those_of_the_streams(entry: Any) -> None:
    assert pairs(entry(QUERY, pw.table(NAMES), time={"n": "at"})) == MET
    with pytest.raises(PlanError, match="said twice: 'at' and 'k'"):
        entry(QUERY, pw.table(NAMES, time="at"), time={"n": "k"})


@every_entry
def test_a_table_without_a_time_is_static_whatever_its_columns_are_called(entry: Any) -> None:
    rows = [{"k": "a", "name": "one", "at": 99, "ts": 99}]
    assert pairs(entry(QUERY, pw.table(rows), time="ts")) == [(5, "one"), (7, "one"), (10, "one")]


@every_entry
def test_changes_of_which_nobody_knows_the_instant_are_refused(entry: Any) -> None:
    with pytest.raises(SchemaError, match=r"'change', which says that .* no time column that says when: name it"):
        entry(QUERY, pw.table(NAMES))


@every_entry
@pytest.mark.parametrize("sign", [0, 2, -3, None])
def test_a_change_is_plus_or_minus_one(entry: Any, sign: int | None) -> None:
    names = [*NAMES, {"k": "a", "name": "four", "at": 9, "change": sign}]
    message = f"'change' is {sign}, expected \\+1 \\(the row comes\\) or -1"
    with pytest.raises(BadRowError, match=f"stream 'n'.*{message}"):
        entry(QUERY, pw.table(names, time="at"))
    assert pairs(entry(QUERY, pw.table(names, time="at"), bad_rows="skip")) == MET


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_rows_whose_change_means_nothing_are_put_aside_with_their_place(engine: str) -> None:
    names = pw.table([*NAMES[:2], {"k": "a", "name": "x", "at": 3, "change": 7}, *NAMES[2:]], time="at")
    found = pw.sql(QUERY, s=STREAM, n=names, engine=engine, bad_rows="aside")
    assert pairs(list(found)) == MET
    [bad] = found.bad_rows.to_pylist()
    assert bad["stream"] == "n"
    assert "'change' is 7" in bad["reason"]
    assert bad["place"].startswith("stream 'n'" if engine == "oracle" else "stream 'n', row 3")


@every_entry
def test_a_declared_key_has_one_row_and_does_not_come_back(entry: Any) -> None:
    with pytest.raises(SchemaError, match=r"two rows with the key \{'k': 'a'\} at 0"):
        entry(QUERY, pw.table(NAMES, time="at", key="k"))
    update = [NAMES[0], {**NAMES[1], "at": 6}, NAMES[2], {**NAMES[1], "at": 9, "change": -1}, NAMES[3]]
    assert pairs(entry(QUERY, pw.table(update, time="at", key="k"))) == [(5, "one"), (7, "two"), (10, "three")]
    gap = [NAMES[0], NAMES[2], NAMES[3]]
    with pytest.raises(SchemaError, match=r"\{'k': 'a'\} at 9 uses a key that was deleted at 6"):
        entry(QUERY, pw.table(gap, time="at", key="k"))
    assert pairs(entry(QUERY, pw.table(gap, time="at"))) == [(5, "one"), (10, "three")]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_several_versions_of_a_key_need_a_time(engine: str) -> None:
    with pytest.raises(SchemaError, match=r"two rows with the key \{'k': 'a'\}"):
        ENTRIES[engine](QUERY, pw.table(NAMES[:2], key=["k"]))


@pytest.mark.parametrize(("declared", "message"), [
    ({"time": "when"}, "no time column 'when'"),
    ({"time": "at", "key": "id"}, "no key column 'id'"),
])
@every_entry
def test_what_is_declared_must_be_there(entry: Any, declared: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        entry(QUERY, pw.table(NAMES, **declared))


def test_what_a_declaration_cannot_mean_is_refused() -> None:
    with pytest.raises(SchemaError, match="is no part of its key"):
        pw.table(NAMES, time="at", key=["k", "at"])
    with pytest.raises(SchemaError, match="time= names a column"):
        pw.table(NAMES, key=[1])  # type: ignore[list-item]
    with pytest.raises(SchemaError, match=r"'change' of a table says .* it is double"):
        pw.sql(QUERY, s=STREAM, n=pw.table([{**NAMES[0], "change": 1.0}], time="at"))
    query = pw.open_query(QUERY, s="ts bigint, k string", n=pw.table(COLUMNS, time="at"))
    with pytest.raises(SchemaError, match="'change' is double, expected integers"):
        query.push("n", pa.table({"k": ["a"], "name": ["x"], "at": [1], "change": [1.0]}))


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("text", [
    "SELECT s.ts, n.name FROM n, s WHERE s.k = n.k",
    "SELECT s.ts, n.name FROM n JOIN s ON s.k = n.k",
    "SELECT ts, name FROM (SELECT u.ts AS ts, t.name AS name FROM n AS t, s AS u WHERE t.k = u.k) AS q",
])
def test_a_table_may_stand_before_the_stream(engine: str, text: str) -> None:
    found = pw.sql(text, s=STREAM, n=pw.table(NAMES, time="at"), engine=engine)
    assert pairs(list(found)) == MET


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_columns_stand_as_the_text_has_the_sources(engine: str) -> None:
    found = pw.sql("SELECT * FROM n, s WHERE s.k = n.k", s=STREAM, n=pw.table(NAMES, time="at"), engine=engine)
    assert found.to_arrow().column_names == ["n.k", "n.name", "n.at", "s.ts", "s.k"]


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("declared", [{}, {"time": "at", "retroactive": True}])
def test_before_several_streams_a_table_stands_where_its_place_says_nothing(engine: str, declared: Any) -> None:
    text = "SELECT n.name, a.ts, b.ts AS other FROM {} WHERE a.k = b.k AND n.k = a.k"
    names = pw.table(NAMES[:2], **declared)
    first, last = (list(pw.sql(text.format(order), a=STREAM, b=STREAM, n=names, engine=engine))
                   for order in ("n, a [RANGE 3], b [RANGE 3]", "a [RANGE 3], b [RANGE 3], n"))
    assert first
    assert sorted(map(repr, first)) == sorted(map(repr, last))


def test_a_table_whose_place_says_when_it_is_met_is_named_behind_a_stream() -> None:
    with pytest.raises(SqlError, match="a table that changes stands before several streams"):
        pw.sql("SELECT * FROM n, s [RANGE 3] AS a, s [RANGE 3] AS b", s=STREAM, n=pw.table(NAMES, time="at"))
    with pytest.raises(SqlError, match="no stream meets this table"):
        pw.sql("SELECT n.k FROM n, m WHERE n.k = m.k", n=pw.table(NAMES, time="at"), m=pw.table(NAMES[:1]))


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_tables_whose_changes_reach_back_meet_without_a_stream(engine: str) -> None:
    left, right = (pw.table(rows, time="at", retroactive=True) for rows in (NAMES, [{"k": "a", "w": 1, "at": 7}]))
    found = pw.sql("SELECT n.name, m.w FROM n, m WHERE n.k = m.k", n=left, m=right, engine=engine)
    assert sorted((row["name"], row["valid_from"], row["change"]) for row in found) == [("three", 9, 1), ("two", 7, 1)]


# -- on the command line


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    every = [{"change": 1} | row for row in NAMES]
    pq.write_table(pa.Table.from_pylist(every), tmp_path / "n.parquet")
    (tmp_path / "n.ndjson").write_text("".join(json.dumps(row) + "\n" for row in every))
    (tmp_path / "n.csv").write_text("k,name,at,change\n" + "".join(
        f"{row['k']},{row['name']},{row['at']},{row['change']}\n" for row in every))
    (tmp_path / "s.ndjson").write_text("".join(json.dumps(row) + "\n" for row in STREAM))
    return tmp_path


def command(folder: Path, *options: str) -> tuple[int, list[tuple[Any, ...]]]:
    out = folder / "out.ndjson"
    out.unlink(missing_ok=True)
    code = main(["run", QUERY, "--stream", f"s={folder}/s.ndjson", "--quiet", "--out", str(out), *options])
    return code, pairs([json.loads(line) for line in out.read_text().splitlines()]) if code == 0 else []


@pytest.mark.parametrize("engine", ["oracle", "embedded"])
@pytest.mark.parametrize("form", ["csv", "ndjson", "parquet"])
def test_a_table_on_the_command_line(engine: str, form: str, folder: Path) -> None:
    table = f"n={folder}/n.{form}"
    assert command(folder, "--engine", engine, "--table", f"{table},time=at") == (0, MET)
    assert command(folder, "--engine", engine, "--table", table, "--time", "n=at") == (0, MET)
    assert command(folder, "--engine", engine, "--table", f"{table},time=at,key=k,key=name") == (0, MET)


@pytest.mark.parametrize("table", ["n.csv,time=at", "n.ndjson,time=at"])
def test_a_table_beside_a_live_stream(table: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--stream", f"s={folder}/s.ndjson", "--table", f"n={folder}/{table}"]
    assert main(["run", QUERY, *options, "--engine", "embedded", "--quiet", "--out", "-"]) == 0
    assert pairs([json.loads(line) for line in capsys.readouterr().out.splitlines()]) == MET


def test_explain_takes_tables(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", QUERY, "--stream", f"s={folder}/s.ndjson", "--table", f"n={folder}/n.csv,time=at"]) == 0
    assert "table n, updates reach only later rows" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "message"), [
    (["--table", "n={}/n.csv"], "no time column that says when"),
    (["--table", "n={}/n.csv,time=when"], "no time column 'when'"),
    (["--table", "n={}/n.csv,time=at", "--table", "n={}/n.csv"], "table 'n' was given twice"),
    (["--table", "s={}/n.csv,time=at"], "table 's' was given twice, or is a stream, too"),
    (["--table", "n={}/n.csv,time=at,key=k"], "two rows with the key {'k': 'a'} at 0"),
])
def test_what_is_wrong_with_a_table_on_the_command_line(options: list[str], message: str, folder: Path,
                                                        capsys: pytest.CaptureFixture[str]) -> None:
    code, _ = command(folder, "--engine", "embedded", *(option.replace("{}", str(folder), 1) for option in options))
    assert code == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.parametrize("option", ["n=n.csv,keys=k", "n=n.csv,time=a,time=b", "n=n.csv,time=at,key=at", "n"])
def test_options_of_a_table_that_say_nothing(option: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command(folder, "--table", option)
    assert "argument --table: " in capsys.readouterr().err


def test_a_run_needs_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", QUERY, "--engine", "embedded"]) == 2
    assert "--stream NAME=PATH, --table NAME=PATH" in capsys.readouterr().err.replace("\n", " ")
