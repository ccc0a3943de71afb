"""Texts by number: whatever their length, number and place in an Arrow array, each has one code and comes back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from panewise.kernels.groups.key_table import KeyTable
from panewise.kernels.groups.text_codes import ROOM, TextCodes

TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary()]
texts = st.one_of(st.text(max_size=40), st.sampled_from(["", "a", "1234567", "12345678", "x" * 16, "ä" * 9]))


@settings(max_examples=30, deadline=None)
@given(parts=st.lists(st.lists(texts, max_size=30), max_size=5), skip=st.integers(0, 3),
       data_type=st.sampled_from(TYPES))
@example(parts=[["", "", "a"]], skip=1, data_type=pa.string())
def test_equal_texts_have_one_code_and_codes_lead_back(parts: list[list[str]], skip: int,
                                                       data_type: pa.DataType) -> None:
    codes, expected = TextCodes(data_type), dict[bytes, int]()
    for part in parts:
        array = pa.array([text.encode() for text in part], pa.binary()).cast(data_type).slice(skip)
        wanted = [expected.setdefault(text.encode(), len(expected)) for text in part[skip:]]
        assert codes.codes(array).tolist() == wanted
        known = codes.known_codes(array)
        assert known is not None
        assert known.tolist() == wanted
        assert codes.values(np.array(wanted, np.int64)).equals(array)


def test_a_new_text_is_not_learnt_by_asking_for_known_ones() -> None:
    codes = TextCodes(pa.string())
    codes.codes(pa.array(["a", "b"]))
    assert codes.known_codes(pa.array(["a", "c"])) is None
    assert codes.count == 2


@pytest.mark.parametrize("length", [1, 100])
def test_the_table_grows_with_texts_and_with_their_bytes(length: int) -> None:
    codes, many = TextCodes(pa.string()), [f"{i}" + "é" * length for i in range(3 * ROOM)]
    assert codes.codes(pa.array(many)).tolist() == list(range(len(many)))
    assert codes.codes(pa.array(many[::-1])).tolist() == list(range(len(many)))[::-1]
    assert codes.values(np.arange(len(many))).to_pylist() == many
    assert codes.codes(pa.array(["y" * 10**6])).tolist() == [len(many)]


def test_a_null_keeps_its_code_while_texts_are_added() -> None:
    keys = KeyTable(pa.schema([("k", pa.string())]))
    seen = []
    for part in (["a", None], ["b", None, "a"], ["c", "b"]):
        table = pa.table({"k": pa.array(part, pa.string())})
        codes = keys.codes(table, len(part))
        seen += list(zip(part, codes.tolist(), strict=True))
        assert keys.columns(codes)[0].to_pylist() == part
    assert len(set(seen)) == 4 == len(keys)
