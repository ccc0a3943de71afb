"""Labels of whole plans: the propagation rules, and each erratum shown against what experiments observe."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from panewise.core.ordinals import OrdinalKind
from panewise.core.scalar import Scalar
from panewise.core.schema import SourceKind, SourceSchema
from panewise.kernels.relations.stores.queues import Calendar, Fifo
from panewise.plan import nodes as n
from panewise.plan.nodes import RelationToStreamKind as Kind
from panewise.planner.facts.labels import Label, UpdatePattern, label
from panewise.windows.calendar import CalendarWindow
from panewise.windows.count import CountWindow, PartitionedCountWindow
from panewise.windows.landmark import BandWindow, LandmarkWindow
from panewise.windows.rows import RowWindow
from panewise.windows.session import SessionWindow
from panewise.windows.sliding import SlidingWindow
from panewise.windows.tumbling import Disclosure, NowWindow, TumblingWindow
from planner import brute
from planner.monotonicity import Event, is_monotonic, lives, observe
from planner.plans import clause, counted, filtered, in_order, in_time, over_windows, projected, source, table, window

MON, WKS, WK, STR = UpdatePattern
MINUTE = SlidingWindow.scoped(60)


def text(plan: n.Node) -> str:
    return str(label(plan).output)


# -- leaves ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("spec", "expected"), [
    (SlidingWindow.scoped(60), "WKS(c=60)"),
    (SlidingWindow.scoped(60, 20), "WKS(c=60)"),
    (SlidingWindow.scoped(60, 7), "WKS"),
    (SlidingWindow(3, 10), "WKS(c=10)"),
    (SlidingWindow.scoped(60, lag=5), "WKS(c=60)"),
    (NowWindow(), "WKS(c=1)"),
    (TumblingWindow(10), "WKS(c=10)"),
    (TumblingWindow(10, disclosure=Disclosure.GROWING), "WKS"),
    (CalendarWindow("month"), "WKS"),
    (BandWindow.since(7), "MON"),
    (BandWindow.until(7), "MON"),
    (LandmarkWindow(10), "MON"),
    (CountWindow(5), "WKS(c=5 rows)@order"),
    (CountWindow(10, 4), "WKS@order"),
    (RowWindow(4, 2), "WKS(c=4 rows)@order"),
    (PartitionedCountWindow(5), "WK@order"),
    (SessionWindow(5), "STR"),
])
def test_a_window_has_the_label_of_its_shape(spec: object, expected: str) -> None:
    assert text(window(spec)) == expected  # type: ignore[arg-type]


def test_a_stream_is_monotonic_and_neutral_operators_change_nothing() -> None:
    assert text(filtered(source())) == "MON"
    assert text(projected(filtered(n.Qualify(window(MINUTE), "S"), "`S.a` > 3"), "S.a")) == "WKS(c=60)"


def test_a_filter_breaks_replacement_unless_it_reads_only_the_key() -> None:
    totals = counted(window(MINUTE), "k")
    assert text(totals) == "STR(replace)"
    assert text(filtered(totals, "n > 3")) == "STR"
    assert text(filtered(totals, "k > 'b'")) == "STR(replace)"


def test_a_projection_breaks_replacement_when_it_drops_the_key() -> None:
    totals = counted(window(MINUTE), "k")
    assert text(projected(totals, "n")) == "STR"
    assert text(projected(totals, "n", "k")) == "STR(replace)"
    assert text(projected(counted(window(MINUTE)), "n")) == "STR(replace)"


# -- rule U2-U5, propositions 6-9 -----------------------------------------------------------------------------------


def test_rule_u3_first_in_first_out_does_not_need_equal_lives() -> None:
    uneven = SlidingWindow.scoped(7, 3)
    seen = observe(brute.scoped(uneven), in_time())
    assert (seen.pattern, seen.label.lifetime) == (WKS, None)
    assert seen.agrees_with(label(window(uneven)).output)


def test_rule_u4_erratum_p10_an_aggregate_over_a_landmark_is_not_monotonic() -> None:
    landmark = BandWindow.since(1)
    counts = brute.aggregate(brute.scoped(landmark))
    seen = observe(counts, in_time())
    assert seen.pattern is STR  # printed: MON in the table and proposition 7, WK in the text
    past = in_time()[0]
    assert not is_monotonic(counts, past.past + past.futures[0], 1, past.until)
    assert label(counted(window(landmark), "a")).output == Label.replaced()


def test_rule_u5_a_tumbling_window_is_simpler_than_the_printed_wk() -> None:
    for disclosure, lifetime in ((Disclosure.GROWING, None), (Disclosure.DISCLOSED, 5)):
        spec = TumblingWindow(5, disclosure=disclosure)
        seen = observe(brute.scoped(spec), in_time())
        assert seen.label == label(window(spec)).output == Label.wks(lifetime)


def test_erratum_p9_only_groups_that_have_rows_are_results() -> None:
    inside, domain = brute.scoped(SlidingWindow.scoped(3)), range(100)

    def printed(arrived: object, tau: int) -> list[tuple[int, int]]:
        values = [r.value for r in inside(arrived, tau)]  # type: ignore[arg-type]
        return [(g, values.count(g)) for g in domain]

    run = in_time()[0]
    assert len(printed(run.past, 10)) == len(domain)  # as many rows as the domain has values, whatever arrived
    assert {g for g, _ in brute.aggregate(inside)(run.past, 10)} == {r.value for r in inside(run.past, 10)}
    assert list(brute.aggregate(inside)(run.past, 100)) == []  # vanishes by the clock alone


DIVERSE = {
    "unequal range": (SlidingWindow.scoped(4), SlidingWindow.scoped(9)),
    "unequal slide": (SlidingWindow.scoped(8, 2), SlidingWindow.scoped(8, 3)),
    "landmark with sliding": (BandWindow.since(1), SlidingWindow.scoped(5)),
}


@pytest.mark.parametrize("case", DIVERSE)
def test_erratum_p11_a_union_of_different_windows_is_not_first_in_first_out(case: str) -> None:
    specs = DIVERSE[case]
    parts = [window(spec, stream) for spec, stream in zip(specs, "SR", strict=True)]
    printed = max(label(part).output.pattern for part in parts)
    contents = [brute.scoped(spec, stream) for spec, stream in zip(specs, "SR", strict=True)]
    seen = observe(brute.union(*contents), in_time("S", "R"))
    assert printed is WKS
    assert seen.pattern is WK, seen.evidence
    assert label(n.Union(tuple(parts))).output == Label.wk()


def test_erratum_p11_two_count_windows_have_two_orders() -> None:
    seen = observe(brute.union(brute.newest(3, "S"), brute.newest(3, "R")), in_order("S", "R"))
    assert seen.pattern is WK
    assert text(n.Union((window(CountWindow(3)), window(CountWindow(3), "R")))) == "WK@order"
    assert text(n.Union((filtered(window(CountWindow(3))), window(CountWindow(3))))) == "WKS(c=3 rows)@order"


def test_proposition_6_holds_for_one_signature() -> None:
    spec, shifted = SlidingWindow.scoped(6, 3), SlidingWindow.scoped(6, 3, registered_at=30)
    assert text(n.Union((window(spec), window(shifted, "R")))) == "WKS(c=6)"
    assert text(n.Union((window(spec), window(SlidingWindow.scoped(6, 3, registered_at=1), "R")))) == "WK"
    seen = observe(brute.union(brute.scoped(spec, "S"), brute.scoped(spec, "R")), in_time("S", "R"))
    assert seen.label == Label.wks(6)


def test_proposition_9_a_join_of_landmark_and_sliding_is_weak_and_its_aggregate_replaces() -> None:
    """Query Q3 of Patroumpas and Sellis; the paper has WK for the aggregate."""
    sides = BandWindow.since(1), SlidingWindow.scoped(5)
    pairs = n.Join(window(sides[0]), window(sides[1], "R"))
    seen = observe(brute.join(brute.scoped(sides[0]), brute.scoped(sides[1], "R")), in_time("S", "R"))
    assert seen.label == label(pairs).output == Label.wk()
    assert text(counted(pairs, "a")) == "STR(replace)"


def test_proposition_8_difference_of_disclosed_tumbling_windows_is_the_exception() -> None:
    tumbling = TumblingWindow(5)
    assert text(n.BagDifference(window(tumbling), window(tumbling, "R"))) == "WKS(c=5)"
    assert text(n.AntiJoin(window(tumbling), window(tumbling, "R"))) == "WKS(c=5)"
    assert text(n.BagDifference(window(tumbling), window(TumblingWindow(10), "R"))) == "STR"
    seen = observe(brute.anti_join(brute.scoped(tumbling), brute.scoped(tumbling, "R")), in_time("S", "R"))
    assert seen.label == Label.wks(5)


def test_proposition_8_a_right_side_frozen_before_the_left_begins_takes_nothing_back() -> None:
    late, frozen = BandWindow.since(12), BandWindow(3, 11)
    for operator, node in ((brute.difference, n.BagDifference), (brute.anti_join, n.AntiJoin)):
        query = operator(brute.scoped(late), brute.scoped(frozen, "R"))
        assert observe(query, in_time("S", "R")).pattern is MON
        assert text(node(window(late), window(frozen, "R"))) == "MON"
        assert text(node(window(BandWindow.since(11)), window(frozen, "R"))) == "STR"


def test_erratum_p17_distinct_by_the_newest_row_is_strict_not_weak() -> None:
    spec = SlidingWindow.scoped(6)
    assert observe(brute.distinct_recent(brute.scoped(spec)), in_time()).pattern is STR
    assert text(n.Distinct(window(spec), "recent")) == "STR"
    assert text(n.Distinct(window(spec), "keep")) == "WK"
    # weak, as printed: when a row comes it is known when it goes; the row at 1 goes at 7, unless another comes
    one, two = [Event(1, "x")], [Event(1, "x"), Event(3, "x")]
    ends = {policy: [lives(of(brute.scoped(spec)), events, 0, 20)[0].gone for events in (one, two)]
            for policy, of in (("recent", brute.distinct_recent), ("keep", brute.distinct_keep))}
    assert ends == {"recent": [7, 3], "keep": [7, 7]}


# -- Golab ----------------------------------------------------------------------------------------------------------


def test_erratum_e2_a_union_of_unequal_lifetimes_is_weak() -> None:
    plan = n.Union((window(SlidingWindow.scoped(4)), window(SlidingWindow.scoped(9), "R")))
    assert label(plan).at((0,)) == Label.wks(4)
    assert label(plan).at((1,)) == Label.wks(9)
    assert label(plan).output == Label.wk()


def test_erratum_e3_f19_one_external_window_gives_three_lifetimes() -> None:
    external = SlidingWindow.scoped(10)
    pairs = brute.join(brute.scoped(external, "S1"), brute.unbounded("S2"))  # internal: its rows end no result
    events = [Event(1, "x", "S1"), Event(2, "x", "S1"), Event(5, "x", "S2")]
    first = {(life.born, life.gone) for life in lives(pairs, events, 0, 20)}
    assert first == {(5, 11), (5, 12)}
    later = [Event(1, "x", "S1"), Event(2, "y", "S1"), Event(5, "y", "S2"), Event(6, "x", "S2")]
    assert [(life.born, life.gone) for life in lives(pairs, later, 0, 20)] == [(5, 12), (6, 11)]
    plan = n.Join(window(external, "S1"), window(external, "S2", internal=True))
    assert label(plan).output == Label.wk()
    # weakest, as printed: a list in the order of birth would do; its first row would hold back the second
    slots, ends = np.arange(2), np.array([12, 11])
    assert ends[0] > ends[1]
    for queue in (Fifo(), Calendar()):  # the queue puts what leaves sooner in its place, at the cost of a sort
        queue.insert(slots, ends, 6)
        assert queue.due(12).tolist() == [1]


def test_f16_where_the_negation_stands_decides_how_much_is_strict() -> None:
    s1, s2, s3 = filtered(window(MINUTE, "S1")), filtered(window(MINUTE, "S2")), window(MINUTE, "S3")
    up = label(n.AntiJoin(n.Join(s1, s2), s3))
    below, sides = ((0, 0), (0, 1), (1,)), ["WKS(c=60)"] * 3
    assert [str(up.at(p)) for p in below] == sides
    assert (str(up.at((0,))), str(up.output)) == ("WK", "STR")
    down = label(n.Join(n.AntiJoin(s1, s3), s2))
    assert [str(down.at(p)) for p in ((0, 0), (0,), (1,), ())] == ["WKS(c=60)", "STR", "WKS(c=60)", "STR"]


def test_joins_with_tables() -> None:
    assert text(n.TableJoin(window(MINUTE), table())) == "WKS(c=60)"
    assert text(n.TableJoin(source(), table())) == "MON"
    assert text(n.TableJoin(window(MINUTE), table(kind=SourceKind.RELATION))) == "STR"
    assert text(n.TableJoin(source(), table(kind=SourceKind.RELATION))) == "STR"


def test_internal_windows_append() -> None:
    internal = window(MINUTE, internal=True)
    assert text(internal) == "MON"
    assert text(n.Join(internal, window(MINUTE, "R", internal=True))) == "MON"
    assert text(n.Join(internal, source("R"))) == "MON"
    assert text(n.Join(internal, window(MINUTE, "R"))) == "WK"


def test_the_four_aggregate_semantics() -> None:
    assert text(counted(window(MINUTE), "a")) == "STR(replace)"
    assert text(counted(source(), "a")) == "STR(replace)"
    assert text(counted(window(MINUTE, internal=True), "a")) == "MON"
    assert text(counted(source(), "a", internal=True)) == "MON"


def test_completion_for_inputs_that_never_leave() -> None:
    assert text(n.Union((source(), source("R")))) == "MON"
    assert text(n.Union((source(), window(MINUTE, "R")))) == "WK"
    assert text(n.Join(source(), window(MINUTE, "R"))) == "WK"
    assert text(n.Join(source(), source("R"))) == "MON"
    assert text(n.Distinct(source())) == "MON"
    assert text(n.BagDifference(source(), source("R"))) == "STR"


def test_strict_inputs_stay_strict() -> None:
    strict = n.BagDifference(window(MINUTE), window(MINUTE, "R"))
    for plan in (n.Distinct(strict), n.Union((strict, window(MINUTE))), n.Join(strict, window(MINUTE)),
                 n.SemiJoin(strict, source("R")), filtered(strict), n.Lifetime(strict, 50)):
        assert text(plan) == "STR"


def test_streams_out_of_windows_are_monotonic() -> None:
    assert text(over_windows(source(), SlidingWindow(60, 20), "k")) == "MON"
    assert text(n.BandJoin(source(), source("R"), "ts", "ts", 3, 2)) == "MON"
    assert text(n.TumblingJoin(source(), source("R"), "ts", "ts", 10)) == "MON"
    for kind in (Kind.ISTREAM, Kind.DSTREAM, Kind.RSTREAM):
        assert text(n.RelationToStream(counted(window(MINUTE)), kind)) == "MON"


def test_an_output_window_has_the_label_of_a_window_over_results() -> None:
    pairs = n.Join(window(MINUTE, internal=True), window(MINUTE, "R", internal=True))
    rows = n.RelationToStream(pairs, Kind.WSTREAM, output_window=clause(CountWindow(10)))
    assert text(rows) == "WKS(c=10 rows)@order"
    assert text(n.RelationToStream(pairs, Kind.WSTREAM, output_window=clause(MINUTE))) == "WKS(c=60)"


SEMI_JOINS = {
    "sliding, sliding": (SlidingWindow.scoped(6), SlidingWindow.scoped(6), STR),
    "sliding, landmark": (SlidingWindow.scoped(6), BandWindow.since(1), WK),
    "landmark, landmark": (BandWindow.since(1), BandWindow.since(2), MON),
    "landmark, sliding": (BandWindow.since(1), SlidingWindow.scoped(6), STR),
    "growing": (*[TumblingWindow(5, disclosure=Disclosure.GROWING)] * 2, WKS),
    "disclosed": (*[TumblingWindow(5)] * 2, WKS),
}


@pytest.mark.parametrize("case", SEMI_JOINS)
def test_a_semi_join_is_as_strict_as_its_matches_are_fleeting(case: str) -> None:
    left, right, expected = SEMI_JOINS[case]
    seen = observe(brute.semi_join(brute.scoped(left), brute.scoped(right, "R")), in_time("S", "R"))
    found = label(n.SemiJoin(window(left), window(right, "R"))).output
    assert (seen.pattern, found.pattern) == (expected, expected), seen.evidence


def test_mixed_domains_need_an_expiry_vector() -> None:
    mixed = n.Join(window(MINUTE), window(CountWindow(5), "R"))
    assert text(mixed) == "WK@order"
    assert text(n.Union((window(MINUTE), window(CountWindow(5), "R")))) == "WK@order"


def test_equal_sub_plans_have_equal_labels_and_reasons_are_given() -> None:
    plan = n.Join(window(MINUTE), window(MINUTE))
    labels = label(plan)
    assert len(labels) == 3
    assert labels[window(MINUTE)] == Label.wks(60)
    assert "first half" in labels.reason(plan)


def test_a_window_on_another_column_than_the_time_of_its_stream_is_weak() -> None:
    columns = {"ts": pa.int64(), "v": pa.int64()}
    stream = n.Source("a", SourceSchema(columns, time="ts"))
    on_time, on_value = (n.WindowClause(SlidingWindow(5, 1), column, OrdinalKind.INTEGER) for column in ("ts", "v"))
    assert text(n.Window(stream, on_time)) == "WKS(c=5)"
    assert text(n.Window(stream, on_value)) == "WK"  # rows come by their time and leave by their value
    assert text(n.Window(n.Filter(stream, Scalar.parse("v > 1")), on_time)) == "WKS(c=5)"
