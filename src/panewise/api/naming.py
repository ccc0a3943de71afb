"""Inputs by name: keywords and ``streams={...}`` together, options that were misspelt, a time column per stream."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from panewise.api.tables import TableInput
from panewise.core.errors import PlanError
from panewise.core.names import did_you_mean, unknown_name
from panewise.plan.nodes import Named, Node
from panewise.planner.options import OPTIONS

TimeColumns: TypeAlias = str | Mapping[str, str | None] | None
"""The column that orders a stream: one name for all streams, or one by stream."""
SPARK_SCHEMES = ("rate", "auction", "kafka", "tcp")
"""How the texts of streams begin that Spark reads and that are no files."""
BEHIND_INPUTS = frozenset({"WHERE", "GROUP", "ON", "UNION", "EXCEPT", "LIFETIME", "LATERAL"})
"""Words that follow the name of a stream: one that stands in its place is none."""


def named_inputs(text: str, streams: Mapping[str, Any] | None, keywords: Mapping[str, Any],
                 options: Iterable[str]) -> dict[str, Any]:
    """All inputs of a call by name; a keyword that the query does not mention is an option that was misspelt.

    >>> named_inputs("SELECT * FROM s", None, {"progres": "ordered"}, ["progress", "late"])
    Traceback (most recent call last):
    panewise.core.errors.PlanError: no option 'progres' and no stream of that name in the query; did you mean ...?
    """
    if not isinstance(streams, Mapping | None):
        raise PlanError(f"streams= is a {type(streams).__name__}: give a mapping from names to streams, as in "
                        "streams={'s': rows}")
    found = dict(streams or {})
    for name, value in keywords.items():
        if name in found:
            raise PlanError(f"the stream {name!r} is given twice: as a keyword and in streams={{...}}")
        found[name] = value
    read = [name for name in dict.fromkeys(re.findall(r"(?:\bfrom|\bjoin)\s+(\w+)", text, re.IGNORECASE))
            if name.upper() not in BEHIND_INPUTS]  # where there is none the parser says so, at its place
    for name in found:
        if not isinstance(name, str):
            raise PlanError(f"streams={{...}} has the name {name!r}: a stream is named by text")
        if read and not _mentions(text, name):
            known = [*options, *(word for word in re.findall(r"\w+", text) if _follows_from(text, word))]
            what = "option {0!r} and no stream of that name in the query" if name in keywords else \
                "stream {0!r} in the query"
            elsewhere = sorted(OPTIONS[name].entries) if name in OPTIONS else []
            hint = f"; it is an option of {', '.join(elsewhere)}" if elsewhere else \
                did_you_mean(name, known) or f"; it reads {', '.join(read)}"
            raise PlanError(f"no {what.format(name)}{hint}")
    return found


def refuse_unknown(given: Iterable[str], options: Iterable[str]) -> None:
    """Arguments that are no options, where nothing but options can be meant."""
    for name in given:
        raise PlanError(unknown_name("option", name, options))


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None


def _follows_from(text: str, word: str) -> bool:
    return re.search(rf"(?:\bfrom|\bjoin|,)\s+{re.escape(word)}\b", text, re.IGNORECASE) is not None


def check_read(plan: Node, given: Iterable[str]) -> None:
    """Every input that is given is read by the query."""
    read = sorted({node.name for node in plan.walk() if isinstance(node, Named)})
    for name in given:
        if name not in read:
            raise PlanError(f"the query does not read a stream {name!r}; it reads {', '.join(read) or 'none'}"
                            f"{did_you_mean(name, read)}")


def time_of(time: TimeColumns, name: str, streams: Mapping[str, Any]) -> str | None:
    """The time column that was declared for an input; one that is said of all streams is not said of tables."""
    if time is None or isinstance(time, str):
        return None if isinstance(streams.get(name), TableInput) else time
    known = list(streams)
    for given in time:
        if given not in known:
            raise PlanError(f"time= names {given!r}, which is no stream of the query; there are {', '.join(known)}"
                            f"{did_you_mean(given, known)}")
    return time.get(name)


def is_spark_stream(text: str) -> bool:
    """Whether a text names a stream that only Spark reads.

    >>> [is_spark_stream(t) for t in ("rate:100", "kafka://host:9092/bids", "data/bids.ndjson", "rate.csv")]
    [True, True, False, False]
    """
    scheme, sign, _ = text.partition(":")
    return bool(sign) and scheme in SPARK_SCHEMES
