"""Patterns, punctuation, how it is written, and how it travels between schemas."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.core.errors import ProgressError
from panewise.core.ordinals import OrdinalKind
from panewise.progress.patterns import WILDCARD, Below, Between, Constant, OneOf, Pattern
from panewise.progress.punctuation import END, Punctuation

VALUES = st.none() | st.integers(-4, 4)
PATTERNS: st.SearchStrategy[Pattern] = st.one_of(
    st.just(WILDCARD),
    st.builds(Constant, VALUES),
    st.builds(Below, st.integers(-4, 5)),
    st.builds(Between, st.integers(-4, 4), st.integers(-4, 5)),
    st.builds(lambda values: OneOf(frozenset(values)), st.lists(VALUES, max_size=3)),
)
PUNCTUATIONS = st.dictionaries(st.sampled_from("abc"), PATTERNS, max_size=3).map(Punctuation.of)
DOMAIN: list[Any] = [None, *range(-5, 6)]


def read(text: str, **options: Any) -> Punctuation:
    return Punctuation.from_json(json.loads(text), "ts", OrdinalKind.TIMESTAMP, **options)


class TestPatterns:
    @given(PATTERNS)
    def test_a_mask_says_of_a_column_what_matches_says_of_each_value(self, pattern: Pattern) -> None:
        assert pattern.mask(pa.array(DOMAIN)).tolist() == [pattern.matches(v) for v in DOMAIN]
        chunked = pa.chunked_array([pa.array(DOMAIN[:3], pa.int64()), pa.array(DOMAIN[3:], pa.int64())])
        assert pattern.mask(chunked).tolist() == [pattern.matches(v) for v in DOMAIN]

    @given(PATTERNS, PATTERNS)
    def test_a_pattern_that_subsumes_another_covers_all_its_values(self, wide: Pattern, narrow: Pattern) -> None:
        if wide.subsumes(narrow):
            assert all(wide.matches(v) for v in DOMAIN if narrow.matches(v))

    @pytest.mark.parametrize(("wide", "narrow", "answer"), [
        (Below(5), Below(5), True), (Below(5), Below(6), False), (Below(5), Between(1, 5), True),
        (Below(5), Constant(4), True), (Below(5), Constant(5), False), (Below(5), OneOf(frozenset({1, 4})), True),
        (Below(5), OneOf(frozenset({1, None})), False), (Between(0, 9), Between(2, 9), True),
        (Between(0, 9), Below(3), False), (OneOf(frozenset({1, 2})), Constant(2), True),
        (OneOf(frozenset({1, 2})), Between(1, 2), False), (Constant(1), OneOf(frozenset({1})), True),
        (Constant(1), WILDCARD, False), (Constant(1), Between(4, 4), True), (WILDCARD, Constant(None), True),
    ])
    def test_subsumption_by_case(self, wide: Pattern, narrow: Pattern, answer: bool) -> None:
        assert wide.subsumes(narrow) is answer

    def test_dictionary_columns_compare_by_value(self) -> None:
        column = pa.array(["a", "b", None, "a"]).dictionary_encode()
        assert Constant("a").mask(column).tolist() == [True, False, False, True]
        assert OneOf(frozenset({"b", None})).mask(column).tolist() == [False, True, True, False]

    def test_a_pattern_of_another_type_is_named(self) -> None:
        with pytest.raises(ProgressError, match=r"= s1 does not fit a column of type int64"):
            Constant("s1").mask(pa.array([1, 2]))
        with pytest.raises(ProgressError, match=r"'< 5' cannot be compared with the value 'x' \(str\)"):
            Below(5).matches("x")


class TestPunctuation:
    @given(PUNCTUATIONS, PUNCTUATIONS, st.fixed_dictionaries(dict.fromkeys("abc", VALUES)))
    def test_one_that_subsumes_another_covers_all_its_rows(
            self, wide: Punctuation, narrow: Punctuation, row: dict[str, Any]) -> None:
        if wide.subsumes(narrow) and narrow.matches(row):
            assert wide.matches(row)

    @given(PUNCTUATIONS)
    def test_the_end_subsumes_everything_and_all_subsume_themselves(self, p: Punctuation) -> None:
        assert END.subsumes(p)
        assert p.subsumes(p)

    def test_the_three_examples_of_the_thesis(self) -> None:
        """p1 closes an address for ever, p2 up to midnight, p3 is the low-watermark (Li 2.1)."""
        p1 = Punctuation.of({"src_ip": Constant("202.3.12.4")})
        p2 = Punctuation.below("ts", 24, src_ip="202.3.12.4")
        p3 = Punctuation.below("ts", 24)
        late, other = {"src_ip": "202.3.12.4", "ts": 30}, {"src_ip": "1.1.1.1", "ts": 3}
        assert [p.matches(late) for p in (p1, p2, p3)] == [True, False, False]
        assert [p.matches(other) for p in (p1, p2, p3)] == [False, False, True]
        assert (p3.linear_bound("ts"), p2.linear_bound("ts")) == (24, None)
        assert p1.subsumes(p2)
        assert p3.subsumes(p2)
        assert not p2.subsumes(p3)

    def test_e2_inclusive_and_exclusive_differ_by_exactly_one_value(self) -> None:
        exclusive, inclusive = Punctuation.below("ts", 60), Punctuation.up_to("ts", 60)
        assert [exclusive.matches({"ts": v}) for v in (59, 60, 61)] == [True, False, False]
        assert [inclusive.matches({"ts": v}) for v in (59, 60, 61)] == [True, True, False]
        assert inclusive == Punctuation.below("ts", 61)


class TestSchemas:
    def test_renaming_keeps_the_promise_and_refuses_two_columns_of_one_name(self) -> None:
        assert Punctuation.below("ts", 60, seg="s1").rename({"ts": "t"}) == Punctuation.below("t", 60, seg="s1")
        with pytest.raises(ProgressError, match="two columns get one name"):
            Punctuation.below("ts", 60, seg="s1").rename({"ts": "seg"})

    def test_a_column_under_two_names_is_promised_under_each_and_a_lost_one_under_none(self) -> None:
        p = Punctuation.below("ts", 60, seg="s1")
        assert p.translate({"a": "ts", "b": "ts", "s": "seg"}) == [
            Punctuation.below("a", 60, s="s1"), Punctuation.below("b", 60, s="s1")]
        assert p.translate({"a": "ts"}) == []
        assert END.translate({"a": "ts"}) == [END]

    @given(PUNCTUATIONS, st.dictionaries(st.sampled_from("xyz"), st.sampled_from("abc")),
           st.fixed_dictionaries(dict.fromkeys("abc", VALUES)))
    def test_translated_promises_cover_only_rows_that_were_covered(
            self, p: Punctuation, columns: dict[str, str], row: dict[str, Any]) -> None:
        made = {new: row[old] for new, old in columns.items()}
        for translated in p.translate(columns):
            assert translated.matches(made) == p.matches(row)


class TestJson:
    def test_the_line_of_the_manual(self) -> None:
        p = read('{"ts": "2026-01-01T00:01:00Z", "seg_id": "s1"}')
        assert p == Punctuation.below("ts", 1767225660000000, seg_id="s1")
        assert p.to_json("ts", OrdinalKind.TIMESTAMP) == {"ts": "2026-01-01T00:01:00Z", "seg_id": "s1"}

    @pytest.mark.parametrize(("text", "expected"), [
        ('{"ts": {"below": 60}}', Punctuation.below("ts", 60)),
        ('{"ts": {"up_to": 60}}', Punctuation.below("ts", 61)),
        ('{"ts": {"from": 10, "to": 20}}', Punctuation.of({"ts": Between(10, 20)})),
        ('{"ts": {"is": 10}}', Punctuation.of({"ts": Constant(10)})),
        ('{"ts": {"in": [10, "1970-01-01T00:00:01Z"]}}', Punctuation.of({"ts": OneOf(frozenset({10, 1_000_000}))})),
        ('{"ts": 60, "k": {"in": ["a", null]}}',
         Punctuation.of({"ts": Below(60), "k": OneOf(frozenset({"a", None}))})),
        ('{"k": null}', Punctuation.of({"k": Constant(None)})),
        ('{"k": {"from": "a", "to": "c"}}', Punctuation.of({"k": Between("a", "c")})),
        ("{}", END),
    ])
    def test_pattern_forms(self, text: str, expected: Punctuation) -> None:
        assert read(text) == expected

    @given(st.dictionaries(st.sampled_from(["ts", "k"]), PATTERNS, max_size=2).map(Punctuation.of),
           st.sampled_from(list(OrdinalKind)))
    def test_what_was_written_is_read_back(self, p: Punctuation, kind: OrdinalKind) -> None:
        if p.empty:
            return  # says nothing; the reader refuses it
        ordering = p.pattern("ts")
        if ordering.matches(None) and ordering != WILDCARD:
            return  # the ordering attribute is never null
        text = json.dumps(p.to_json("ts", kind))
        assert Punctuation.from_json(json.loads(text), "ts", kind) == p

    def test_constants_take_the_type_of_their_column(self) -> None:
        types = {"ts": pa.int64(), "day": pa.date32(), "at": pa.timestamp("us", tz="UTC"), "n": pa.int32(),
                 "price": pa.decimal128(9, 2), "name": pa.dictionary(pa.int32(), pa.string())}
        line = {"day": "2026-01-01", "at": "2026-01-01T00:00:00Z", "n": {"in": [1, 2]}, "price": "1.50", "name": "x"}
        p = Punctuation.from_json(line, "ts", OrdinalKind.INTEGER, types=types)
        assert p == Punctuation.of({
            "day": Constant(date(2026, 1, 1)), "at": Constant(datetime(2026, 1, 1, tzinfo=UTC)),
            "n": OneOf(frozenset({1, 2})), "price": Constant(Decimal("1.50")), "name": Constant("x"),
        })
        text = json.dumps(p.to_json("ts", OrdinalKind.INTEGER))
        assert Punctuation.from_json(json.loads(text), "ts", OrdinalKind.INTEGER, types=types) == p

    @pytest.mark.parametrize(("text", "problem"), [
        ("5", "a punctuation is an object of patterns by column, not 5"),
        ('{"ts": "noon"}', "punctuation on 'ts': 'noon' is not a time"),
        ('{"ts": null}', "punctuation on 'ts': None is not a timestamp value"),
        ('{"ts": true}', "punctuation on 'ts': True is not a timestamp value"),
        ('{"ts": 1.5}', r"punctuation on 'ts': 1\.5 is not a timestamp value"),
        ('{"ts": 99999999999999999999}', "does not fit 64 bits"),
        ('{"ts": {"below": null}}', "None is not a timestamp value"),
        ('{"k": {"below": null}}', "null is no end of a range"),
        ('{"ts": {"from": 5}}', "no pattern is written"),
        ('{"ts": {"from": 5, "to": 5}}', "the range from 5 to 5 is empty"),
        ('{"ts": {"in": []}}', "'in' needs a list of values"),
        ('{"k": {"in": "abc"}}', "'in' needs a list of values, not 'abc'"),
        ('{"k": {"under": 3}}', "no pattern is written {'under': 3}; write"),
        ('{"k": [1, 2]}', "is not a single value"),
        ('{"k": {"up_to": "a"}}', "'up_to' needs a discrete value, not 'a'"),
        ('{"ts": {"up_to": 9223372036854775807}}', "leave the attribute out"),
    ])
    def test_what_is_wrong_is_named(self, text: str, problem: str) -> None:
        with pytest.raises(ProgressError, match=problem.replace("{'", r"\{'").replace("3}", r"3\}")):
            read(text)

    def test_unknown_columns_and_wrong_types_are_named_when_the_columns_are_known(self) -> None:
        types = {"ts": pa.timestamp("us"), "seg": pa.int64(), "name": pa.string()}
        with pytest.raises(ProgressError, match="names 'sge', which is no column of the stream; there are ts, seg"):
            read('{"ts": 5, "sge": 1}', types=types)
        with pytest.raises(ProgressError, match="on 'seg': 's1' is not a value of its type int64"):
            read('{"ts": 5, "seg": "s1"}', types=types)
        with pytest.raises(ProgressError, match="on 'name': 7 is not a value of its type string"):
            read('{"ts": 5, "name": 7}', types=types)
