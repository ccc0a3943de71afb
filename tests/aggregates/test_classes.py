"""Which functions are distributive, algebraic, holistic; invertible; duplicate-insensitive (Li 6.2.2, Golab 2.2.1)."""

from __future__ import annotations

import pyarrow as pa
import pytest

from panewise.aggregates import AggClass, resolve

D, A, H = AggClass.DISTRIBUTIVE, AggClass.ALGEBRAIC, AggClass.HOLISTIC
TABLE = {
    # function: class, invertible for integers, for floats, duplicate-insensitive
    "count": (D, True, True, False),
    "sum": (D, True, False, False),
    "min": (D, False, False, True),
    "max": (D, False, False, True),
    "avg": (A, True, False, False),
    "variance": (A, True, False, False),  # exact sums of values and squares
    "stddev": (A, True, False, False),
    "first": (D, False, False, True),
    "last": (D, False, False, True),
    "count_distinct": (H, True, True, True),
    "median": (H, True, True, False),
    "percentile": (H, True, True, False),
    "mode": (H, True, True, False),
    "top_k": (H, True, True, False),
    "heavy_hitters": (H, True, True, False),
    "approx_count_distinct": (A, False, False, True),
    "approx_percentile": (A, False, False, False),
    "approx_heavy_hitters": (A, False, False, False),
}
CONSTANTS = {"percentile": (0.5,), "top_k": (3,), "heavy_hitters": (0.1,), "approx_percentile": (0.5,),
             "approx_heavy_hitters": (0.1,)}


@pytest.mark.parametrize("name", TABLE)
def test_every_function_declares_its_class(name: str) -> None:
    agg_class, for_integers, for_floats, insensitive = TABLE[name]
    aggregate = resolve(name, CONSTANTS.get(name, ()))
    assert aggregate.agg_class is agg_class
    assert aggregate.is_invertible([pa.int64()]) is for_integers
    assert aggregate.is_invertible([pa.float64()]) is for_floats
    assert aggregate.invertible is (for_integers and for_floats)
    assert aggregate.duplicate_insensitive is insensitive


def test_centre_of_mass_is_algebraic() -> None:
    assert resolve("centre_of_mass").agg_class is A
    assert resolve("centre_of_mass").arity == 2


def test_a_value_by_another_is_distributive() -> None:
    assert resolve("max_by").agg_class is resolve("min_by").agg_class is D
    assert resolve("max_by").duplicate_insensitive
    assert resolve("max_by").variadic


def test_frequent_items_counts_panes_and_gets_smaller_when_they_are_complete() -> None:
    found = resolve("frequent_items", (3,))
    assert found.agg_class is H
    assert found.arity == 2
    assert found.of_panes
    assert found.settles


def test_only_first_and_last_need_the_arrival_position() -> None:
    assert [n for n in TABLE if resolve(n, CONSTANTS.get(n, ())).needs_order] == ["first", "last"]


def test_bounded_states_have_a_constant_number_of_numbers() -> None:
    for name, (agg_class, *_) in TABLE.items():
        fields = resolve(name, CONSTANTS.get(name, ())).state_fields([pa.int64()])
        assert any(pa.types.is_list(f.type) for f in fields) == (agg_class is H), name


def test_states_that_merge_column_by_column_say_how() -> None:
    assert resolve("count").elementwise([]) == ["sum"]
    assert resolve("sum").elementwise([pa.int64()]) == ["sum"] * 3
    assert resolve("sum").elementwise([pa.decimal128(30, 2)]) == ["sum"] * 5
    assert resolve("avg").elementwise([pa.float64()]) == ["sum", *["exact"] * 3]
    for data_type in (pa.int32(), pa.float64(), pa.date32(), pa.timestamp("us"), pa.bool_(), pa.decimal128(18, 2)):
        assert resolve("max").elementwise([data_type]) == ["max", "max"]
        assert resolve("min").elementwise([data_type]) == ["max", "min"]
    for data_type in (pa.string(), pa.binary(), pa.decimal128(19, 2)):
        assert resolve("max").elementwise([data_type]) is None
    assert resolve("variance").elementwise([pa.int64()]) == ["sum"] * 7
    assert resolve("variance").elementwise([pa.float64()]) == ["sum", *["exact"] * 6]
    for name in ("mode", "first", "approx_count_distinct"):
        assert resolve(name).elementwise([pa.int64()]) is None
