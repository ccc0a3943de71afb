"""Times as text by a pattern, and text as times."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from panewise.functions.binding.binder_services import Binding
from panewise.functions.binding.bound import Bound
from panewise.functions.binding.by_value import ValueFailure, computed
from panewise.functions.binding.frame import Datum, Here
from panewise.functions.binding.registry import function, operator
from panewise.functions.times.calendar import DAY, SECOND, numbers_of, part_of_date
from panewise.functions.times.clocks import readings, session_zone
from panewise.functions.times.formatting import format_time
from panewise.functions.times.parsing import CANNOT, UnreadableError, parse_time
from panewise.functions.times.patterns import UNREAD, UNWRITTEN, Field, Text, pattern_parts, refusal
from panewise.functions.types import BIGINT, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, VOID, type_name
from panewise.functions.zones import zone_of

DEFAULT = "yyyy-MM-dd HH:mm:ss"
_WIDTHS = {"yyyy": 4, "MM": 2, "dd": 2, "HH": 2, "mm": 2, "ss": 2, "SSS": 3, "SSSSSS": 6}
"""Fields that have always as many digits."""
_FIRST, _LAST = -719_528, 2_932_897
"""Days from 0000-01-01 to before 10000-01-01."""


def _columnar(local: Any, pattern: str) -> pa.Array | None:
    """Patterns of fields with a fixed number of digits, digit by digit; None for others, and beyond years 0 to 9999."""
    parts = pattern_parts(pattern)
    if not parts or not all((isinstance(p, Text) and p.text.isascii()) or
                            (isinstance(p, Field) and p.letter * p.count in _WIDTHS) for p in parts):
        return None
    days = local // DAY
    if len(days) and (days.min() < _FIRST or days.max() >= _LAST):
        return None
    width = sum(len(p.text) if isinstance(p, Text) else _WIDTHS[p.letter * p.count] for p in parts
                if isinstance(p, Text | Field))
    signs = np.empty((len(local), width), np.uint8)
    numbers = _numbers(local, days, {p.letter for p in parts if isinstance(p, Field)})
    at = 0
    for part in parts:
        if isinstance(part, Text):
            signs[:, at:at + len(part.text)] = np.frombuffer(part.text.encode(), np.uint8)
            at += len(part.text)
        elif isinstance(part, Field):
            size = _WIDTHS[part.letter * part.count]
            rest = numbers[part.letter] // 10 ** (6 - size) if part.letter == "S" else numbers[part.letter]
            for place in range(at + size - 1, at - 1, -1):
                higher = rest // 10
                signs[:, place] = rest - higher * 10 + 48
                rest = higher
            at += size
    offsets = np.arange(0, (len(local) + 1) * width, max(width, 1), dtype=np.int64)[:len(local) + 1] if width else \
        np.zeros(len(local) + 1, np.int64)
    if len(local) * width >= 1 << 31:
        return None
    return pa.Array.from_buffers(STRING, len(local), [None, pa.py_buffer(offsets.astype(np.int32)),
                                                      pa.py_buffer(signs.tobytes())])


def _numbers(local: Any, days: Any, letters: set[str]) -> dict[str, Any]:
    """The numbers of the fields that are asked for, as narrow as they can be: divisions are what this costs."""
    found: dict[str, Any] = {}
    if letters & set("yMd"):
        found |= {letter: part_of_date(days, part) for part, letter in enumerate("yMd")}
    of_day = local - days * DAY
    seconds = (of_day // SECOND).astype(np.int32)
    if "S" in letters:
        found["S"] = (of_day - seconds.astype(np.int64) * SECOND).astype(np.int32)
    found |= {"H": seconds // 3600, "m": seconds // 60 % 60, "s": seconds % 60}
    return found


UNNAMED = "names of time zones (z) are refused: use XXX for the offset, VV for the zone"


@function("date_format", takes=[TIMESTAMP, STRING], gives=STRING, check=refusal(UNWRITTEN, "written"), note=UNNAMED)
def date_format(values: Datum, pattern: Datum, here: Here) -> Datum:
    """A timestamp as text, on the clock of the session's zone."""
    times = here.array(values)
    local = readings(times, here.zone)
    missing = times.is_null()
    if isinstance(pattern, pa.Scalar) and pattern.is_valid:
        try:
            common = _columnar(local, pattern.as_py())
        except ValueFailure as failure:
            if not times.null_count:
                here.fail(0, failure.condition, failure.message.replace("{", "{{").replace("}", "}}"))
            common = None
        if common is not None:
            return pc.if_else(missing, pa.scalar(None, STRING), common)
    offsets = (local - numbers_of(times)) // SECOND
    mask = missing.to_numpy(zero_copy_only=False)
    return computed(lambda micros, offset, form: format_time(micros, offset, here.zone, form),
                    [pa.array(local, BIGINT, mask=mask), pa.array(offsets, BIGINT, mask=mask), pattern], here)


def written_times(values: pa.Array, pattern: str, zone: str) -> pa.Array:
    """A column of timestamps by a constant pattern that is known to be right."""
    local = readings(values, zone)
    common = _columnar(local, pattern)
    if common is not None:
        return pc.if_else(values.is_null(), pa.scalar(None, STRING), common)
    offsets = ((local - numbers_of(values)) // SECOND).tolist()
    return pa.array([format_time(micros, offset, zone, pattern) if there else None for micros, offset, there in
                     zip(local.tolist(), offsets, values.is_valid().to_pylist(), strict=True)], STRING)


@function("from_unixtime", takes=[BIGINT, STRING], gives=STRING, optional=1, check=refusal(UNWRITTEN, "written"),
          note=UNNAMED)
def from_unixtime(seconds: Datum, pattern: Datum | None = None, *, here: Here) -> Datum:
    """Seconds since 1970 as text."""
    with np.errstate(over="ignore"):
        micros = pc.multiply(here.array(seconds), SECOND)
    return date_format(micros.view(TIMESTAMP), pa.scalar(DEFAULT) if pattern is None else pattern, here=here)


def _parsed(text: Datum, pattern: Datum, here: Here, of: pa.DataType, failing: bool) -> pa.Array:
    zone = session_zone(here.zone)

    def plain(value: str, form: str) -> int | None:
        try:
            local, written = parse_time(value, form)
        except UnreadableError:
            if failing:
                raise ValueFailure(CANNOT, f"{value[:60]!r} does not follow {form[:60]!r}") from None
            return None
        if of == TIMESTAMP_NTZ:
            return local
        named = zone if written is None else zone_of(written) or zone
        return int(named.to_instant(np.array([local]))[0])

    return computed(plain, [text, pattern], Here(here.frame, BIGINT, here.zone, here.expression))


def _declare(name: str, of: pa.DataType, failing: bool) -> None:
    @operator(name)
    def bind(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
        if len(arguments) not in (1, 2):
            raise binder.error(f"{name} takes a value and a pattern", tree)
        value = arguments[0]
        if len(arguments) == 1 or value.type != STRING:
            if value.type not in (STRING, DATE, TIMESTAMP, TIMESTAMP_NTZ, VOID):
                raise binder.error(f"{name} takes text or a time, not {type_name(value.type)}", tree)
            from panewise.functions.casts import cast_bound

            return cast_bound(value, of, binder.zone, failing=failing)

        def run(text: Datum, pattern: Datum, here: Here) -> pa.Array:
            if of == DATE:
                micros = _parsed(text, pattern, here, TIMESTAMP, failing)
                local = readings(micros.view(TIMESTAMP), here.zone)
                days = pa.array((local // DAY).astype(np.int32), mask=micros.is_null().to_numpy(zero_copy_only=False))
                return days.view(DATE)
            return _parsed(text, pattern, here, of, failing).view(of)

        pair = [value, binder.cast(arguments[1], STRING)]
        problem = refusal(UNREAD, "read")(pair)
        if problem is not None:
            raise binder.error(f"{name}: {problem}", tree)
        return binder.made(of, tree, pair, run, strict=True)


for _prefix, _failing in (("", True), ("try_", False)):
    _declare(f"{_prefix}to_date", DATE, _failing)
    _declare(f"{_prefix}to_timestamp", TIMESTAMP, _failing)
_declare("to_timestamp_ltz", TIMESTAMP, failing=True)
_declare("to_timestamp_ntz", TIMESTAMP_NTZ, failing=True)


@operator("unix_timestamp", "to_unix_timestamp")
def unix_timestamp(binder: Binding, arguments: list[Bound], tree: Any) -> Bound:
    """Seconds since 1970 of a time, or of text by a pattern."""
    if len(arguments) not in (1, 2):
        raise binder.error("unix_timestamp takes a value and a pattern", tree)
    value = arguments[0]
    if value.type == STRING:
        from panewise.functions.binding.bound import Constant

        form = binder.cast(arguments[1], STRING) if len(arguments) == 2 else \
            Constant(STRING, tree, pa.scalar(DEFAULT))
        value = binder.call("to_timestamp", [value, form], tree)
    elif value.type not in (DATE, TIMESTAMP, TIMESTAMP_NTZ, VOID):
        raise binder.error(f"unix_timestamp takes text or a time, not {type_name(value.type)}", tree)
    value = value if value.type in (TIMESTAMP, TIMESTAMP_NTZ) else binder.cast(value, TIMESTAMP)

    def run(times: pa.Array) -> pa.Array:
        """Whole seconds, cut towards zero; a reading without a zone counts as UTC."""
        micros = numbers_of(times)
        seconds = micros // SECOND
        seconds += (micros < 0) & (seconds * SECOND != micros)
        return pa.array(seconds, BIGINT, mask=times.is_null().to_numpy(zero_copy_only=False))

    return binder.made(BIGINT, tree, [value], run, needs_here=False, needs_arrays=True)
