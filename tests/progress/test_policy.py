"""Progress policies as users write them."""

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.errors import ProgressError, SchemaError
from panewise.core.ordinals import OrdinalKind
from panewise.progress.generators import Generator
from panewise.progress.policy import parse_progress

TYPES = {"ts": pa.timestamp("us"), "wm": pa.timestamp("ms"), "seg": pa.int64(), "name": pa.string()}


@pytest.mark.parametrize(("text", "kind", "description"), [
    ("source", OrdinalKind.TIMESTAMP, "source"),
    ("ordered", OrdinalKind.TIMESTAMP, "ordered"),
    (" Ordered ", OrdinalKind.DATE, "ordered"),
    ("late:10s", OrdinalKind.TIMESTAMP, "at most 10000000 late"),
    ("late: 1.5 min", OrdinalKind.TIMESTAMP, "at most 90000000 late"),
    ("late:2 days", OrdinalKind.DATE, "at most 2 late"),
    ("late:10", OrdinalKind.INTEGER, "at most 10 late"),
    ("rows:100", OrdinalKind.TIMESTAMP, "at most 100 rows late"),
    ("rows:5 rows", OrdinalKind.INTEGER, "at most 5 rows late"),
    ("column:wm", OrdinalKind.TIMESTAMP, "column wm"),
    ("substream:seg=1|2", OrdinalKind.TIMESTAMP, "2 substreams by seg"),
    ("heartbeat:3s", OrdinalKind.TIMESTAMP, "heartbeat 3000000 behind the clock"),
    ("ordered, lull=5s", OrdinalKind.TIMESTAMP, "ordered, lull after 5000000"),
    ("ordered, every=1s, lull=5s", OrdinalKind.TIMESTAMP, "ordered, every 1000000, lull after 5000000"),
    ("late:1s,max_jump=1h,patience=5,idle=1min", OrdinalKind.TIMESTAMP, "at most 1000000 late, idle after 60000000"),
])
def test_every_form_is_understood(text: str, kind: OrdinalKind, description: str) -> None:
    generator = parse_progress(text, kind, TYPES)
    assert isinstance(generator, Generator)
    assert generator.describe() == description


def test_options_take_effect() -> None:
    generator = parse_progress("ordered, max_jump=10, patience=2", OrdinalKind.INTEGER)
    assert generator.observe(np.array([1, 50, 2])).after == 2
    assert generator.observe(np.array([50, 51])).after == 50


def test_substreams_take_the_type_of_their_column() -> None:
    generator = parse_progress("substream:seg=1|2", OrdinalKind.TIMESTAMP, TYPES)
    assert generator.observe(np.array([5, 6]), {"seg": pa.array([1, 2])}).after == 5
    by_name = parse_progress("substream:name=1|2", OrdinalKind.TIMESTAMP, TYPES)
    assert by_name.observe(np.array([5, 6]), {"name": pa.array(["1", "2"])}).after == 5


@pytest.mark.parametrize(("text", "problem"), [
    ("", r"no progress policy '': write one of source, ordered, late:10s, rows:100"),
    ("sorted", "no progress policy 'sorted'"),
    ("late", "'late' needs an argument: write for example 'late:10s'"),
    ("late:", "needs an argument"),
    ("late:soon", "'late:soon': cannot read the quantity 'soon'"),
    ("late:10", None),
    ("late:-3s", "delay must be a non-negative"),
    ("late:5 rows", "5 rows does not measure a timestamp attribute: write a time unit"),
    ("late:10 fortnights", "unknown unit 'fortnights'"),
    ("rows:many", "cannot read the quantity 'many'"),
    ("rows:10s", "'10s' is not a number of rows"),
    ("rows:-1", "must not be negative"),
    ("ordered:yes", "'ordered' takes no argument, it was given 'yes'"),
    ("column:", "needs an argument"),
    ("column:vm", "names the column 'vm'; there are ts, wm, seg, name"),
    ("column:seg", "'seg' is int64, but the windowing attribute is a timestamp"),
    ("substream:seg", "register every substream"),
    ("substream:seg=|", "register every substream"),
    ("substream:sge=1|2", "names the column 'sge'"),
    ("substream:seg=a|b", "'a' is not a value of its type int64"),
    ("ordered, wait=3s", "no option 'wait'; there are max_jump"),
    ("ordered, lull", "write lull=VALUE"),
    ("ordered, lull=1s, lull=2s", "gives lull twice"),
    ("ordered, patience=3", "only together with max_jump"),
    ("source, max_jump=3s", "max_jump is for policies that look at rows"),
    ("ordered, idle=0s", "idle timeout must be positive"),
])
def test_what_is_wrong_is_named(text: str, problem: str | None) -> None:
    if problem is None:
        assert parse_progress(text, OrdinalKind.TIMESTAMP).describe() == "at most 10 late"
        return
    with pytest.raises(ProgressError, match=problem):
        parse_progress(text, OrdinalKind.TIMESTAMP, TYPES)


def test_a_progress_column_without_order_is_refused() -> None:
    with pytest.raises(SchemaError, match="string and cannot order"):
        parse_progress("column:name", OrdinalKind.TIMESTAMP, TYPES)
