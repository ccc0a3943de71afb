"""now() is the instant the run began: one on all rows, the same after a restart, and a run without end warns of it."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest

import panewise as pw
from panewise.core.errors import PanewiseWarning
from panewise.engines import checkpoints
from panewise.engines.embedded import run as embedded_run

NEW_YEAR = datetime(2026, 1, 1, 20, 0, 0, 5, tzinfo=UTC)
ROWS = pa.table({"ts": [1, 2, 13], "v": [1, 2, 3]})


@pytest.mark.parametrize("over", ["s", "s [RANGE 5]"])
@pytest.mark.parametrize("engine", ["oracle", "embedded"])
def test_now_is_one_instant_on_all_rows(engine: str, over: str) -> None:
    before = datetime.now(UTC)
    found = [row["n"] for row in pw.sql(f"SELECT ts, now() AS n FROM {over}", s=ROWS, engine=engine)]
    assert len(found) == 3
    assert len(set(found)) == 1
    assert before <= found[0] <= datetime.now(UTC)


def test_every_spelling_is_that_instant_on_the_clocks_of_the_run() -> None:
    query = pw.open_query("SELECT now() AS a, current_timestamp() AS b, current_timestamp AS c, current_date() AS d, "
                          "current_date AS e, localtimestamp() AS f, unix_timestamp() AS g FROM s",
                          s="ts bigint", zone="Asia/Tokyo", now=NEW_YEAR)
    (row,) = query.push("s", [{"ts": 1}]).to_pylist()
    tomorrow = date(2026, 1, 2)
    assert row == {"a": NEW_YEAR, "b": NEW_YEAR, "c": NEW_YEAR, "d": tomorrow, "e": tomorrow,
                   "f": datetime(2026, 1, 2, 5, 0, 0, 5), "g": 1767297600}


def test_a_restart_from_a_checkpoint_keeps_the_instant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(datetime(2026, 1, day, tzinfo=UTC) for day in range(1, 9))
    for module in (embedded_run, checkpoints):
        monkeypatch.setattr(module, "instant_now", lambda: next(clock))
    file = tmp_path / "s.ndjson"
    file.write_text("".join(json.dumps({"ts": ts}) + "\n" for ts in (1, 12, 25)))
    text = "SELECT max(cast(now() AS string)) [RANGE 10, SLIDE 10, WA ts] AS n FROM s"
    first = pw.run(text, s=str(file), checkpoint=tmp_path / "state", progress="ordered")
    tables = first.tables()
    assert next(tables).column("n").to_pylist()[0] == "2026-01-01 00:00:00"
    tables.close()
    again = [row["n"] for row in pw.run(text, s=str(file), checkpoint=tmp_path / "state", progress="ordered")]
    assert again
    assert set(again) == {"2026-01-01 00:00:00"}


def test_a_run_without_end_warns_that_its_clock_stands_still() -> None:
    rows = ({"ts": i} for i in range(3))
    with pytest.warns(PanewiseWarning, match=r"now\(\) is the instant the run began"):
        pw.run("SELECT now() AS n FROM s", s=rows)
