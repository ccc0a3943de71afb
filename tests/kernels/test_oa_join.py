"""OA-Join against the predicate: any order, cuts, promises, kinds; what it keeps, forgets, saves and takes back."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.joining import (
    Arriving,
    by_definition,
    promise,
    random_pairing,
    random_streams,
    run,
    spec_of,
    stored,
    table_of,
)
from panewise.core.errors import CheckpointError, PlanError, SchemaError
from panewise.core.join_kinds import LEFT, RIGHT, JoinKind
from panewise.core.scalar import Scalar
from panewise.kernels.joins import oa_join
from panewise.kernels.joins.oa_join import OAJoin
from panewise.kernels.joins.pairing import Band, Buckets, slot_bits
from panewise.kernels.joins.sides import JoinSide, JoinSpec
from panewise.progress.punctuation import END, Punctuation

randoms = st.randoms(use_true_random=False)
BIG = 2**62


@settings(max_examples=100, deadline=None)
@given(randoms, st.sampled_from(JoinKind), st.booleans(), st.booleans(), st.booleans())
def test_every_kind_gives_the_pairs_of_its_predicate_and_lets_go_of_everything(
        random: Random, kind: JoinKind, keyed: bool, residual: bool, eager: bool) -> None:
    spec = spec_of(random_pairing(random), keyed=keyed, residual=residual, kind=kind)
    arriving = random_streams(random, grouped=keyed)
    with pytest.MonkeyPatch.context() as patch:
        if not eager:  # look for rows to let go only when rows have paid for it; forget keys at once
            patch.setattr(oa_join, "SCAN_CREDIT", 0)
            patch.setattr(oa_join, "KEYS_KEPT", 0)
        join = OAJoin(spec)
        assert sorted(run(join, arriving), key=repr) == sorted(by_definition(spec, arriving).elements(), key=repr)
    assert stored(join) == 0


@settings(max_examples=40, deadline=None)
@given(randoms, st.sampled_from(JoinKind))
def test_saved_and_restored_anywhere_it_goes_on_as_if_nothing_had_happened(random: Random, kind: JoinKind) -> None:
    spec = spec_of(random_pairing(random), residual=random.random() < 0.3, kind=kind)
    arriving = random_streams(random)

    class Interrupted:
        def __init__(self) -> None:
            self.join = OAJoin(spec)

        def process(self, *rows: Any) -> pa.Table:
            if random.random() < 0.3:  # rows that are taken back leave no trace
                self.join.mark()
                self.join.process(*rows)
                self.join.rollback()
            if random.random() < 0.3:
                saved, self.join = self.join.save(), OAJoin(spec)
                self.join.load(*saved)
            return self.join.process(*rows)

        def advance(self, *promised: Any) -> Any:
            return self.join.advance(*promised)

    assert sorted(run(Interrupted(), arriving), key=repr) == sorted(by_definition(spec, arriving).elements(), key=repr)


def test_results_of_a_batch_come_by_row_and_partners_in_the_order_they_came() -> None:
    join = OAJoin(spec_of(Band(-100, 100)))
    rows = [(t, "a", i) for i, t in enumerate((50, 3, 99, 40, 41, 7, 0, 64))]
    for row in rows:
        join.process(RIGHT, *table_of(RIGHT, [row]))
    found = join.process(LEFT, *table_of(LEFT, [(10, "a", 100), (20, "a", 200)])).to_pylist()
    assert [(row["l.v"], row["r.v"]) for row in found] == [
        (v, i) for v, t in ((100, 10), (200, 20)) for i, (time, _, _) in enumerate(rows) if abs(time - t) <= 100]


def test_ends_of_the_band_count_as_the_query_says() -> None:
    def partners(bounds: str) -> list[int]:
        join = OAJoin(spec_of(Band.of_ranges(3, 2, bounds)))
        join.process(RIGHT, *table_of(RIGHT, [(t, "a", 0) for t in range(20)]))
        return join.process(LEFT, *table_of(LEFT, [(10, "a", 0)])).column("r.ts").to_pylist()

    assert partners("both") == [8, 9, 10, 11, 12, 13]
    assert partners("left") == [8, 9, 10, 11, 12]
    assert partners("right") == [9, 10, 11, 12, 13]
    assert partners("strict") == [9, 10, 11, 12]


def test_a_band_may_lie_wholly_on_one_side_and_may_be_empty() -> None:
    later = OAJoin(spec_of(Band(5, 7)))
    later.process(LEFT, *table_of(LEFT, [(0, "a", 0)]))
    rows = [(t, "a", 0) for t in range(-9, 10)]
    assert later.process(RIGHT, *table_of(RIGHT, rows)).column("r.ts").to_pylist() == [5, 6, 7]
    nothing = OAJoin(spec_of(Band.of_ranges(0, 0, "strict")))
    nothing.process(LEFT, *table_of(LEFT, [(0, "a", 0)]))
    assert nothing.process(RIGHT, *table_of(RIGHT, [(0, "a", 0)])).num_rows == 0


def test_times_and_bands_far_from_zero_do_not_wrap_round() -> None:
    join = OAJoin(spec_of(Band(-BIG, BIG)))
    join.process(LEFT, *table_of(LEFT, [(BIG - 1, "a", 0), (1 - BIG, "a", 1)]))
    assert join.process(RIGHT, *table_of(RIGHT, [(BIG - 1, "a", 0)])).column("l.v").to_pylist() == [0]
    assert join.advance(RIGHT, promise(RIGHT, BIG - 1))[1] == []
    assert slot_bits(Band(-BIG, BIG)) == 62
    with pytest.raises(PlanError, match="shorter RANGE"):
        Band(0, BIG + 1)


def test_rows_whose_partners_have_all_come_are_joined_and_not_kept() -> None:
    join = OAJoin(spec_of(Band.of_ranges(2, 2)))
    join.process(RIGHT, *table_of(RIGHT, [(5, "a", 0)]))
    join.advance(RIGHT, promise(RIGHT, 20))
    assert join.process(LEFT, *table_of(LEFT, [(6, "a", 0), (17, "a", 0), (18, "a", 0)])).num_rows == 1
    assert join.stores[LEFT].times.tolist() == [18]


def test_a_promise_about_one_key_lets_go_of_its_rows_and_of_no_others() -> None:
    join = OAJoin(spec_of(Band.of_ranges(2, 2)))
    join.process(LEFT, *table_of(LEFT, [(1, "a", 0), (1, "b", 0), (9, "a", 0)]))
    _, news = join.advance(RIGHT, promise(RIGHT, 8, "a"))
    assert news == []  # the left may still send rows of a
    keys = join.keys.column(0, join.stores[LEFT].keys, pa.string()).to_pylist()
    assert [*zip(keys, join.stores[LEFT].times.tolist(), strict=True)] == [("b", 1), ("a", 9)]
    _, news = join.advance(LEFT, promise(LEFT, 7, "a"))
    assert [str(p) for p in news] == ["(l.k = a, l.ts < 6)", "(r.k = a, r.ts < 5)"]
    _, news = join.advance(LEFT, promise(LEFT, None, "a"))
    assert [str(p) for p in news] == ["(r.k = a, r.ts < 8)"]


def test_a_promise_about_other_columns_says_nothing_of_partners() -> None:
    join = OAJoin(spec_of(Band.of_ranges(2, 2)))
    join.process(LEFT, *table_of(LEFT, [(1, "a", 0)]))
    join.advance(LEFT, promise(LEFT, 50))
    assert join.advance(RIGHT, Punctuation.below("r.ts", 50, **{"r.v": 3}))[1] == []
    assert stored(join) == 1
    assert join.process(RIGHT, *table_of(RIGHT, [(2, "a", 3)])).num_rows == 1


def test_the_state_stays_as_small_as_the_band_however_many_rows_and_promises_come() -> None:
    join = OAJoin(spec_of(Band.of_ranges(10, 10)))
    largest = 0
    for start in range(0, 100_000, 500):
        for side in (LEFT, RIGHT):
            join.process(side, *table_of(side, [(t, str(t), 0) for t in range(start, start + 500)]))
            join.advance(side, promise(side, start + 500))
            largest = max(largest, stored(join))
    assert join.alive(LEFT) == join.alive(RIGHT) == 10
    assert largest <= 2_100
    assert join.keys.count <= 4_200  # keys that no row has are forgotten
    assert join.size < 400_000


def test_promises_without_rows_let_go_of_a_silent_side() -> None:
    join = OAJoin(spec_of(Band.of_ranges(5, 5)))
    join.process(LEFT, *table_of(LEFT, [(t, "a", 0) for t in range(20_000)]))
    for bound in range(0, 40_000, 1_000):
        join.advance(RIGHT, promise(RIGHT, bound))
    assert stored(join) < 20_000
    for bound in range(40_000, 60_000, 1_000):
        join.advance(RIGHT, promise(RIGHT, bound))
    assert stored(join) == 0


def test_when_one_side_has_ended_the_other_side_keeps_nothing_new() -> None:
    join = OAJoin(spec_of(Buckets(10)))
    join.process(LEFT, *table_of(LEFT, [(3, "a", 0)]))
    join.advance(LEFT, END)
    assert join.process(RIGHT, *table_of(RIGHT, [(4, "a", 0), (14, "a", 0)])).num_rows == 1
    assert join.stores[RIGHT].rows == 0
    assert join.advance(RIGHT, promise(RIGHT, 9))[1] == [Punctuation.below("l.ts", 0), Punctuation.below("r.ts", 9)]
    assert join.advance(RIGHT, END)[1] == [END]


# -- keys of all types ---------------------------------------------------------------------------------------------

DAY = date(2026, 1, 1)
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEYS: list[tuple[pa.DataType, pa.DataType, list[Any], list[Any]]] = [
    (pa.int32(), pa.int64(), [1, 2, None, -5], [2, 1, None, -5]),
    (pa.string(), pa.large_string(), ["x", "", None, "äö"], ["", "äö", None, "y"]),
    (pa.dictionary(pa.int32(), pa.string()), pa.string(), ["x", "y", None, "x"], ["x", "x", None, "z"]),
    (pa.float32(), pa.float64(), [0.0, float("nan"), None, 1.5], [-0.0, float("nan"), None, 1.5]),
    (pa.bool_(), pa.bool_(), [True, False, None, True], [False, False, None, True]),
    (pa.date32(), pa.date32(), [DAY, None, DAY, date(1900, 2, 3)], [DAY, None, date(1900, 2, 3), DAY]),
    (pa.timestamp("us", tz="UTC"), pa.timestamp("us", tz="UTC"), [NOW, None, NOW, NOW], [NOW, NOW, None, NOW]),
    (pa.decimal128(10, 2), pa.decimal128(10, 2), [Decimal("1.50"), None, Decimal("2.00"), Decimal("1.50")],
     [Decimal("2.00"), Decimal("1.50"), None, Decimal("9.99")]),
    (pa.uint64(), pa.uint64(), [2**64 - 1, 0, None, 7], [7, 2**64 - 1, None, 7]),
    (pa.binary(), pa.binary(), [b"\0", b"", None, b"x"], [b"", b"\0", None, b"y"]),
]


@pytest.mark.parametrize(("left", "right", "ours", "theirs"), KEYS, ids=[f"{k[0]} = {k[1]}" for k in KEYS])
def test_keys_of_every_type_are_equal_where_their_values_are(left: pa.DataType, right: pa.DataType, ours: list[Any],
                                                             theirs: list[Any]) -> None:
    schemas = pa.schema({"l.ts": pa.int64(), "l.k": left}), pa.schema({"r.ts": pa.int64(), "r.k": right})
    keyed = JoinSpec(JoinSide(schemas[0], "l.ts", ("l.k",)), JoinSide(schemas[1], "r.ts", ("r.k",)), Band(-9, 9))
    tested = JoinSpec(JoinSide(schemas[0], "l.ts"), JoinSide(schemas[1], "r.ts"), Band(-9, 9),
                      Scalar.parse("`l.k` = `r.k`"))
    times = np.arange(4)
    tables = [pa.table([times, pa.array(values, schema.field(1).type)], schema=schema)
              for values, schema in zip((ours, theirs), schemas, strict=True)]
    for first, second in ((LEFT, RIGHT), (RIGHT, LEFT)):
        answers = []
        for spec in (keyed, tested):
            join = OAJoin(spec)
            join.process(first, tables[first], times)
            rows = join.process(second, tables[second], times).to_pylist()
            answers.append(sorted(str(row) for row in rows))
        assert answers[0] == answers[1]
        assert len(answers[0]) > 1


def test_several_key_columns_are_one_key() -> None:
    schema = {s: pa.schema({f"{s}.ts": pa.int64(), f"{s}.a": pa.int64(), f"{s}.b": pa.string(), f"{s}.n": pa.int8()})
              for s in "lr"}
    spec = JoinSpec(JoinSide(schema["l"], "l.ts", ("l.a", "l.b")), JoinSide(schema["r"], "r.ts", ("r.a", "r.b")),
                    Band(0, 0))
    random = Random(3)
    rows = [[(0, random.randint(0, 9), random.choice("xyz"), i % 100) for i in range(400)] for _ in "lr"]
    join = OAJoin(spec)
    for side, name in ((LEFT, "l"), (RIGHT, "r")):
        columns = [pa.array(c, f.type) for c, f in zip(zip(*rows[side], strict=True), schema[name], strict=True)]
        found = join.process(side, pa.table(columns, schema=schema[name]), np.zeros(400, np.int64))
    expected = sorted(one + other for one in rows[LEFT] for other in rows[RIGHT] if one[1:3] == other[1:3])
    assert sorted(tuple(row.values()) for row in found.to_pylist()) == expected
    assert join.keys.count == 3
    assert join.keys.words == 1  # nine and three values are six bits


# -- columns -------------------------------------------------------------------------------------------------------


def test_columns_of_all_kinds_come_back_as_they_were_stored() -> None:
    values = {
        "n": pa.array([1, None, 3, 4], pa.int16()), "f": pa.array([0.5, None, -0.0, 2.0], pa.float32()),
        "t": pa.array(["x", None, "", "yy"]), "b": pa.array([True, None, False, True]),
        "d": pa.array([DAY, None, DAY, DAY], pa.date32()), "at": pa.array([NOW, None, NOW, NOW]),
        "list": pa.array([[1], None, [], [2, 3]]), "m": pa.array([Decimal("1.5"), None, Decimal(0), Decimal(2)]),
        "whole": pa.array([1, 2, 3, 4], pa.uint32()),
    }
    left = pa.schema([("l.ts", pa.int64()), *((f"l.{n}", v.type) for n, v in values.items())])
    right = pa.schema({"r.ts": pa.int64()})
    join = OAJoin(JoinSpec(JoinSide(left, "l.ts"), JoinSide(right, "r.ts"), Band(0, 0)))
    expected = []
    for start in range(0, 40, 4):  # many small batches
        times = np.arange(start, start + 4)
        table = pa.table([pa.array(times), *values.values()], schema=left)
        expected += table.to_pylist()
        join.process(LEFT, table, times)
    join.advance(RIGHT, Punctuation.below("r.ts", 8))
    saved, join = join.save(), OAJoin(join.spec)
    join.load(*saved)
    order = np.random.default_rng(1).permutation(np.arange(8, 40))
    found = join.process(RIGHT, pa.table({"r.ts": order}), order).drop_columns(["r.ts"])
    assert found.schema == left
    assert [str(row) for row in found.to_pylist()] == [str(expected[i]) for i in order]


def test_only_columns_that_something_reads_are_kept() -> None:
    schema = pa.schema({"l.ts": pa.timestamp("us", tz="UTC"), "l.k": pa.string(), "l.v": pa.int64(), "l.w": pa.int64()})
    right = JoinSide(pa.schema({"r.ts": pa.int64(), "r.k": pa.string()}), "r.ts", ("r.k",), ())
    spec = JoinSpec(JoinSide(schema, "l.ts", ("l.k",), ("l.ts", "l.k")), right, Band(0, 0), Scalar.parse("`l.w` > 0"))
    assert spec.stored(LEFT).names == ["l.w"]  # time and key come back from the index
    assert spec.stored(RIGHT).names == []
    assert spec.output_schema.names == ["l.ts", "l.k"]


# -- what is refused -----------------------------------------------------------------------------------------------


def test_what_cannot_be_joined_is_refused_by_name() -> None:
    left = pa.schema({"l.ts": pa.int64(), "l.k": pa.int64()})
    right = pa.schema({"r.ts": pa.int64(), "r.k": pa.string()})
    with pytest.raises(SchemaError, match="cannot be a join key"):
        JoinSpec(JoinSide(left, "l.ts", ("l.k",)), JoinSide(right, "r.ts", ("r.k",)), Band(0, 0))
    with pytest.raises(PlanError, match="every key column needs its partner"):
        JoinSpec(JoinSide(left, "l.ts", ("l.k",)), JoinSide(right, "r.ts"), Band(0, 0))
    with pytest.raises(PlanError, match="give each side an alias"):
        JoinSpec(JoinSide(left, "l.ts"), JoinSide(left, "l.ts"), Band(0, 0))
    with pytest.raises(SchemaError, match=r"'l\.x'"):
        JoinSide(left, "l.x")
    with pytest.raises(PlanError, match="positive RANGE"):
        Buckets(0)
    with pytest.raises(PlanError, match="both, left, right, strict"):
        Band.of_ranges(1, 1, "open")
    with pytest.raises(SchemaError, match="true or false"):
        JoinSpec(JoinSide(left, "l.ts"), JoinSide(right, "r.ts"), Band(0, 0), Scalar.parse("`l.k` + 1"))


def test_a_state_of_another_join_or_a_damaged_one_is_refused() -> None:
    join = OAJoin(spec_of(Band(0, 3)))
    join.process(LEFT, *table_of(LEFT, [(1, "a", 0)]))
    saved = join.save()
    with pytest.raises(CheckpointError, match="another query"):
        OAJoin(spec_of(Band(0, 4))).load(*saved)
    with pytest.raises(CheckpointError, match="another query"):
        OAJoin(spec_of(Band(0, 3), kind=JoinKind.LEFT)).load(*saved)
    header, tables = saved
    at = tables["left"].schema.get_field_index("key0")
    field = tables["left"].schema.field(at)
    damaged = tables["left"].set_column(at, field, pa.nulls(tables["left"].num_rows, field.type))
    with pytest.raises(CheckpointError, match="a stored row has no key"):
        OAJoin(spec_of(Band(0, 3))).load(header, {**tables, "left": damaged})


def test_counters_tell_rows_that_can_still_match_from_rows_that_are_only_held() -> None:
    join = OAJoin(spec_of(Band(0, 3)))
    join.process(LEFT, *table_of(LEFT, [(t, "a", 0) for t in range(100)]))
    join.advance(RIGHT, promise(RIGHT, 9))  # six rows have no future: too few to copy the others
    counters = join.counters()
    assert (counters["left_rows"], counters["left"], counters["buffered"], counters["keys"]) == (100, 94, 100, 1)


def test_the_example_of_a_single_row_item_is_a_batch_like_any_other() -> None:
    spec = spec_of(Band(-1, 1))
    arriving = [Arriving(side, ((t, "a", 0),)) for t in range(5) for side in (LEFT, RIGHT)]
    assert len(run(OAJoin(spec), arriving)) == sum(by_definition(spec, arriving).values()) == 13


@pytest.mark.parametrize("kind", [JoinKind.LEFT, JoinKind.FULL, JoinKind.ANTI, JoinKind.SEMI])
def test_a_partner_that_is_taken_back_was_never_there(kind: JoinKind) -> None:
    join = OAJoin(spec_of(Band.of_ranges(3, 3), kind=kind))
    join.process(LEFT, *table_of(LEFT, [(5, "a", 0)]))
    join.mark()
    join.process(RIGHT, *table_of(RIGHT, [(5, "a", 0)]))
    join.rollback()
    alone, _ = join.advance(RIGHT, END)
    assert alone.num_rows == (0 if kind is JoinKind.SEMI else 1)
    other = OAJoin(spec_of(Band.of_ranges(3, 3), kind=kind))
    other.process(LEFT, *table_of(LEFT, [(5, "a", 0)]))
    other.mark()
    other.process(RIGHT, *table_of(RIGHT, [(5, "a", 0)]))
    other.rollback()
    found = other.process(RIGHT, *table_of(RIGHT, [(5, "a", 0)]))
    assert found.num_rows == (0 if kind is JoinKind.ANTI else 1)


def test_what_was_promised_before_a_restart_is_not_promised_again() -> None:
    join = OAJoin(spec_of(Band.of_ranges(2, 2)))
    for side, key in ((LEFT, None), (RIGHT, None), (LEFT, "a"), (RIGHT, "a")):
        join.advance(side, promise(side, 20 if key is None else 40, key))
    again = OAJoin(spec_of(Band.of_ranges(2, 2)))
    again.load(*join.save())
    assert again.progress.news() == join.progress.news() == []
    for side in (LEFT, RIGHT):
        assert again.progress.sent[side].snapshot() == join.progress.sent[side].snapshot()
