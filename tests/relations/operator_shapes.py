"""What an operator of a random plan is like: its conditions, its columns, its aggregates.

Every operator puts out the columns k (text) and v (number), so that any of them can stand over any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from hypothesis import strategies as st

from panewise.core.generators import Generator
from panewise.core.scalar import Scalar
from panewise.plan.nodes import (
    AntiJoin,
    BagDifference,
    Distinct,
    Explode,
    Filter,
    GroupAggregate,
    Join,
    NamedScalar,
    Node,
    Project,
    Qualify,
    SemiJoin,
    Union,
)
from relations.plans import columns
from relations.test_group_aggregates import call

UNARY = ("filter", "project", "distinct", "group", "groups")
BINARY = ("union", "join", "except", "exists", "not exists")


def conditions(*texts: str) -> st.SearchStrategy[Scalar]:
    return st.sampled_from(texts).map(Scalar.parse)


K, V = NamedScalar.column("k"), NamedScalar.column("v")
FILTERS = conditions("v <> 2", "v > 0", "k = 'a' OR v < 2", "v IS NULL OR k IS NOT NULL", "NOT (v = 1 AND k = 'b')")
ITEMS = st.sampled_from([
    (K, NamedScalar("v", Scalar.parse("v % 3"))),
    (K, NamedScalar("v", Scalar.parse("v + 1"))),
    (NamedScalar("k", Scalar.parse("CASE WHEN v > 1 THEN k ELSE 'b' END")), V),  # another value to go by
    (NamedScalar("k", Scalar.parse("coalesce(k, 'a')")), NamedScalar("v", Scalar.parse("2 * v - 1"))),
    (K, NamedScalar("v", Scalar.parse("CASE WHEN v <> 1 THEN v END"))),  # some values are lost
])
FEW = Scalar.parse("v = 1")
COLLECTIONS = conditions("array(v, v + 1)", "array(v)", "CASE WHEN v <> 1 THEN array(v, 2, v) END")
NUMBERS = count(1)
"""Every generator of a plan has a number of its own, as those of a query text do."""
PAIRS = conditions("`l.k` = `r.k`", "`l.v` = `r.v`", "`l.k` = `r.k` AND `l.v` <> `r.v`",
                   "`l.k` = `r.k` AND (`l.v` > 1 OR `r.v` < 2)", "`l.k` = `r.k` OR `l.v` = `r.v`", "`l.v` < `r.v`",
                   "`l.k` = `r.k` AND `l.v` + 1 = `r.v`", "`l.v` <= `r.v` AND `l.k` <> `r.k`")
PAIRED = st.sampled_from(["`r.v`", "`l.v`", "`l.v` + `r.v`"]).map(
    lambda text: (NamedScalar("k", Scalar.column("l.k")), NamedScalar("v", Scalar.parse(text))))
MATCHES = conditions("k = `r.k`", "v = `r.v`", "k = `r.k` AND v >= `r.v`", "v < `r.v`", "k = `r.k` OR v = `r.v`",
                     "k = `r.k` AND (v > 1 OR `r.v` > 1)")
EXCEPTIONS = conditions("k = `r.k` AND v = `r.v`", "k = `r.k` AND v < `r.v`", "v = `r.v`", "k = `r.k`", "v > `r.v`",
                        "k = `r.k` AND v = `r.v` OR v + 1 = `r.v`")
VALUES = st.sampled_from([call("v", "sum", "v"), call("v", "count"), call("v", "max", "v")])

SUBTRACTED = (call("n", "count"), call("total", "sum", "v"), call("known", "count", "v"), call("mean", "avg", "v"))
MERGED = (call("low", "min", "v"), call("top", "max", "v"), call("spread", "stddev_pop", "v"),
          call("part", "sum", "v / 4.0"))
COLLECTED = (call("kinds", "count", "v", distinct=True), call("mid", "median", "v"), call("often", "mode", "v"))
BY_AGE = (call("oldest", "first", "v"), call("newest", "last", "v"))
"""Aggregates by what they keep: a state rows are subtracted from, blocks, all rows; and those that ask for ages."""
MAIN = {"sum": call("v", "sum", "v"), "count": call("v", "count"), "max": call("v", "max", "v")}
LARGE = conditions("n > 1", "top >= 1 OR n = 1", "kinds > 0 AND n < 4")


@st.composite
def several(draw: st.DrawFn, below: Node, *, ordered: bool, shown: bool) -> Node:
    """Aggregates of several classes over one grouping, or over all rows; some have conditions on their results.

    With ``shown`` all of them are columns of the result, else the values of some are added.
    """
    own = draw(st.sampled_from(sorted(MAIN)))
    other = [draw(st.sampled_from(some)) for some in (SUBTRACTED, MERGED, COLLECTED)]
    if ordered:
        other += draw(st.lists(st.sampled_from(BY_AGE), max_size=1))
    needed = [call("n", "count"), call("top", "max", "v"), call("kinds", "count", "v", distinct=True)]
    calls = {each.name: each for each in (MAIN[own], *other, *needed)}
    keys, named = draw(st.sampled_from([((K,), ()), ((K,), ()), ((V,), (call("k", "max", "k"),)),
                                        ((), (call("k", "min", "k"),))]))
    if V in keys:
        del calls["v"]
    made: Node = GroupAggregate(below, keys, (*named, *calls.values()))
    if draw(st.booleans()):
        made = Filter(made, draw(LARGE))
    rest = [name for name in made.columns if name not in {"k", "v"}]
    if shown:
        return columns(made, "k", "v", *rest)
    value = draw(st.sampled_from(["v", "top", "v + n", "kinds", "coalesce(top, v)"]))
    return Project(made, (K, NamedScalar("v", Scalar.parse(value))))


def _exploded(below: Node, collection: Scalar, *, outer: bool, shown: bool) -> Node:
    """Elements in the place of values; some are added to their places."""
    names = ("place", "element") if shown else ("element",)
    made = Explode(below, Generator.POSEXPLODE if shown else Generator.EXPLODE, collection, names, outer, next(NUMBERS))
    return Project(made, (K, NamedScalar("v", Scalar.parse("element + place" if shown else "element"))))


@st.composite
def unary(draw: st.DrawFn, kind: str, below: Node, *, ordered: bool = False, shown: bool = False) -> Node:
    """An operator over one relation."""
    match kind:
        case "filter":
            return Filter(below, draw(FILTERS))
        case "project":
            return Project(below, draw(ITEMS))
        case "distinct":
            return Distinct(below, draw(st.sampled_from(["keep", "recent"])))
        case "explode":
            return _exploded(below, draw(COLLECTIONS), outer=draw(st.booleans()), shown=draw(st.booleans()))
        case "groups":
            return draw(several(below, ordered=ordered, shown=shown))
        case _ if draw(st.booleans()):
            return GroupAggregate(below, (K,), (draw(VALUES),))
    return columns(GroupAggregate(below, (V,), (call("k", "max", "k"),)), "k", "v")


@st.composite
def binary(draw: st.DrawFn, kind: str, one: Node, other: Node, more: Sequence[Node] = ()) -> Node:
    """An operator over two relations, a union also over more."""
    match kind:
        case "union":
            return Union((one, other, *more))
        case "join":
            pairs = Join(Qualify(one, "l"), Qualify(other, "r"), draw(PAIRS))
            return Project(pairs, draw(PAIRED))
        case "except":
            return BagDifference(one, draw(st.sampled_from([other, Filter(other, FEW)])))  # something is left
        case "exists":
            return SemiJoin(one, Qualify(other, "r"), draw(MATCHES))
    return AntiJoin(one, Qualify(other, "r"), draw(EXCEPTIONS))
