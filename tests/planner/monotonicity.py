"""Observe an update pattern instead of deriving it: run a query over streams with one past and different futures.

The query is any function from what has arrived and an instant to a bag of results, so the same test judges the oracle,
an engine, or a three-line brute force. The definitions are Golab's (3.2.1); a result's life is found by watching it
come and go. A bag compares results by value: give results an identity (the timestamp or position of their rows) where
two equal values are two results.

An observation is one-sided: it can prove that a pattern is *at least* so hard, never that it is not harder.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

from panewise.planner.facts.patterns import Label, UpdatePattern

Result = Hashable


@dataclass(frozen=True)
class Event:
    """One row of one stream at one instant.

    In the time domain an instant is a tick and several rows may share it. In the order domain the clock is the arrival
    position, one row an instant.
    """

    at: int
    row: Any
    stream: str = "S"


Evaluate = Callable[[Sequence[Event], int], Iterable[Result]]
"""The query: everything that arrived up to and including the instant, and the instant, to the results then."""


@dataclass(frozen=True)
class Life:
    """One result from the instant it showed to the instant it was gone; None if it was still there at the end."""

    result: Result
    copy: int
    """Numbers the lives of equal results."""
    born: int
    gone: int | None


@dataclass(frozen=True)
class Experiment:
    """One past and several futures; every future begins after ``now`` and is watched until ``until`` (inclusive)."""

    past: tuple[Event, ...]
    futures: tuple[tuple[Event, ...], ...]
    now: int
    until: int


@dataclass(frozen=True)
class Observation:
    """The simplest pattern that explains every life that was seen, with the pair that ruled out a simpler one."""

    label: Label
    lives: int
    """How many results were seen."""
    evidence: str
    longest: int = 0
    """The greatest age any result reached."""

    @property
    def pattern(self) -> UpdatePattern:
        """The observed pattern."""
        return self.label.pattern

    def agrees_with(self, label: Label) -> bool:
        """Whether a derived label is sound: nothing seen is harder than it promises (Golab, property 3)."""
        if label.lifetime is not None and self.longest > label.lifetime:
            return False
        return label.covers(self.label)


def lives(evaluate: Evaluate, events: Sequence[Event], start: int, until: int) -> list[Life]:
    """The life of every result between two instants (inclusive).

    Of equal results the oldest is taken to leave first.

    >>> window = lambda arrived, tau: [e.row for e in arrived if tau - 3 < e.at]
    >>> lives(window, [Event(1, "a"), Event(2, "b")], 0, 4)
    [Life(result='a', copy=0, born=1, gone=4), Life(result='b', copy=0, born=2, gone=None)]
    """
    return _lives(_answers(evaluate, events, start, until), start)


def _answers(evaluate: Evaluate, events: Sequence[Event], start: int, until: int) -> list[Counter[Result]]:
    return [Counter(evaluate([e for e in events if e.at <= tau], tau)) for tau in range(start, until + 1)]


def _lives(answers: list[Counter[Result]], start: int) -> list[Life]:
    alive: defaultdict[Result, deque[tuple[int, int]]] = defaultdict(deque)
    copies: Counter[Result] = Counter()
    found: list[Life] = []
    before: Counter[Result] = Counter()
    for tau, after in enumerate(answers, start):
        for result, count in (before - after).items():
            found += [Life(result, *alive[result].popleft(), tau) for _ in range(count)]
        for result, count in (after - before).items():
            for _ in range(count):
                alive[result].append((copies[result], tau))
                copies[result] += 1
        before = after
    found += [Life(result, copy, born, None) for result, queue in alive.items() for copy, born in queue]
    return sorted(found, key=lambda life: (life.born, life.copy))


def observe(evaluate: Evaluate, experiments: Iterable[Experiment]) -> Observation:
    """Classify a query by experiments.

    >>> window = lambda arrived, tau: [(e.row, e.at) for e in arrived if tau - 3 < e.at]
    >>> print(observe(window, random_experiments(lambda random, at: [random.choice("ab")], runs=5)).label)
    WKS(c=3us)
    """
    seen: list[tuple[list[Life], int]] = []
    conflict = ""
    for experiment in experiments:
        past, now, until = experiment.past, experiment.now, experiment.until
        start = min((e.at for e in past), default=now)
        shared = _answers(evaluate, past, start, now)
        runs = [_lives(shared + _answers(evaluate, past + future, now + 1, until), start)
                for future in experiment.futures]
        seen += [(run, until) for run in runs]
        conflict = conflict or _conflict(runs, now)
    total = sum(len(run) for run, _ in seen)
    longest = max((_age(life, until) for run, until in seen for life in run), default=0)
    label, evidence = (Label.strict(), conflict) if conflict else _known_expiry(seen)
    return Observation(label, total, evidence, longest)


def _age(life: Life, until: int) -> int:
    return (until if life.gone is None else life.gone) - life.born


def _conflict(runs: list[list[Life]], now: int) -> str:
    """A result produced by ``now`` whose end differs between futures."""
    ends: dict[tuple[Result, int, int], int | None] = {}
    for run in runs:
        for life in run:
            if life.born > now or (life.gone is not None and life.gone <= now):
                continue
            key = (life.result, life.copy, life.born)
            if ends.setdefault(key, life.gone) != life.gone:
                return f"{life.result!r} of {life.born} leaves at {ends[key]} in one future, at {life.gone} in another"
    return ""


def _known_expiry(seen: list[tuple[list[Life], int]]) -> tuple[Label, str]:
    gone = [life for run, _ in seen for life in run if life.gone is not None]
    if not gone:
        return Label.mon(), "nothing ever left"
    for run, _ in seen:
        violation = _overtaking(run)
        if violation:
            return Label.wk(), violation
    ages = {life.gone - life.born for life in gone if life.gone is not None}
    if len(ages) > 1:
        return Label.wks(), f"first in, first out, with lives of {sorted(ages)}"
    (age,) = ages
    if any(until - life.born >= age for run, until in seen for life in run if life.gone is None):
        return Label.wks(), f"first in, first out; some live longer than {age}"
    return Label.wks(age), f"every result lives {age}"


def _overtaking(run: list[Life]) -> str:
    """A later-born result that leaves before an earlier-born one (equal instants are no violation)."""
    latest: Life | None = None
    for _, group in _by_birth(run):
        for life in group:
            if latest is not None and _end(life) < _end(latest):
                return (f"{life.result!r} of {life.born} leaves at {life.gone}, "
                        f"{latest.result!r} of {latest.born} only at {latest.gone or 'a later time'}")
        last = max(group, key=_end)
        latest = last if latest is None or _end(last) > _end(latest) else latest
    return ""


def _by_birth(run: list[Life]) -> Iterable[tuple[int, list[Life]]]:
    groups: dict[int, list[Life]] = {}
    for life in run:
        groups.setdefault(life.born, []).append(life)
    return sorted(groups.items())


def _end(life: Life) -> float:
    return float("inf") if life.gone is None else life.gone


def is_monotonic(evaluate: Evaluate, events: Sequence[Event], start: int, until: int) -> bool:
    """Definition 8 of Patroumpas and Sellis on one stream: answers over a longer past contain those over a shorter.

    >>> maximum = lambda arrived, tau: [max((e.row for e in arrived), default=None)]
    >>> is_monotonic(maximum, [Event(1, 5), Event(2, 7)], 1, 2), is_monotonic(maximum, [Event(1, 7), Event(2, 5)], 1, 2)
    (False, True)
    """
    return all(earlier <= later for earlier, later in pairwise(_answers(evaluate, events, start, until)))


def random_experiments(arrive: Callable[[Random, int], Iterable[Any]], *, runs: int = 20, now: int = 12,
                       until: int = 40, futures: int = 3, seed: int = 0, stream: str = "S") -> list[Experiment]:
    """Experiments over rows drawn by ``arrive(random, instant)``; rows that are `Event` keep their own stream.

    For the order domain give one row an instant and let every future draw the same partitions: the clock of an order
    window is the sequence of admissions, which futures then have in common.
    """
    random = Random(seed)

    def draw(first: int, last: int) -> tuple[Event, ...]:
        drawn = ((at, row) for at in range(first, last + 1) for row in arrive(random, at))
        return tuple(row if isinstance(row, Event) else Event(at, row, stream) for at, row in drawn)

    return [
        Experiment(draw(1, now), tuple(draw(now + 1, until) for _ in range(futures)), now, until) for _ in range(runs)
    ]
