"""A number without a unit on a timestamp counts microseconds: it runs, with a warning that says what to write."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from panewise.api import stream
from panewise.cli.main import main
from panewise.core.errors import PanewiseWarning
from panewise.core.schema import Catalog, SourceSchema
from panewise.sql import parse

TIMED = Catalog({"s": SourceSchema.of(pa.schema({"ts": pa.timestamp("us"), "v": pa.int64()}))})
COUNTED = Catalog({"s": SourceSchema.of(pa.schema({"ts": pa.int64(), "v": pa.int64()}))})


@pytest.mark.parametrize(("window", "params"), [
    ("RANGE 60, SLIDE 60 s, WA ts", {}), ("RANGE :r, SLIDE 60 s, WA ts", {"r": 60}), ("RANGE 60", {}),
    ("RANGE TUMBLING 60", {}),
])
def test_a_bare_number_on_a_timestamp_is_warned_about(window: str, params: Mapping[str, object]) -> None:
    with pytest.warns(PanewiseWarning, match="60 on a timestamp is 60 microseconds: write 60 seconds, or 60 us"):
        parse(f"SELECT count(*) FROM s [{window}]", TIMED, params)


@pytest.mark.parametrize(("window", "catalog"), [
    ("RANGE 60 us, SLIDE 60 ticks, WA ts", TIMED), ("RANGE 60000000, SLIDE 30000000, WA ts", TIMED),
    ("RANGE 60, SLIDE 60, WA ts", COUNTED), ("RANGE 60, SLIDE 60, WA ts", Catalog.anything()),
    ("RANGE 60, SLIDE 60, WA v", TIMED), ("ROWS 60", TIMED),
])
def test_a_unit_a_long_time_an_integer_or_an_unknown_column_is_fine(window: str, catalog: Catalog) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parse(f"SELECT count(*) FROM s [{window}]", catalog)


def test_the_python_api_warns_too() -> None:
    table = pa.table({"ts": pa.array([0], pa.timestamp("us"))})
    with pytest.warns(PanewiseWarning, match="slide 30 on a timestamp is 30 microseconds"):
        stream(table).window(range="1 min", slide=30)


def test_the_command_line_prints_the_warning_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "s.ndjson").write_text('{"ts": "2026-01-01T00:00:10Z", "k": "a"}\n')
    assert main(["explain", "SELECT count(*) [RANGE 60, SLIDE 60, WA ts] FROM s",
                 "--stream", f"s={tmp_path / 's.ndjson'}"]) == 0
    said = capsys.readouterr().err
    assert said.count("warning: RANGE 60 on a timestamp is 60 microseconds") == 1
