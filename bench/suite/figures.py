"""From lines of the results file to figures: medians, spreads, and ratios formed within rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from common import median, spread

from suite.results import CHECK

OURS = ("panewise", "panewise_spark", "embedded", "spark-batch", "spark-streaming")
"""Of the peers, and the engines of ``bench/nexmark``."""


@dataclass(frozen=True)
class Outcome:
    """What became of one contender at one point: its measured rounds, or why there are none."""

    contender: str
    lines: Sequence[dict[str, Any]]

    @property
    def first(self) -> dict[str, Any]:
        return self.lines[0]

    @property
    def title(self) -> str:
        return f"{self.first['title']} {self.first.get('version', '')}".strip()

    @property
    def rounds(self) -> dict[int, dict[str, Any]]:
        """The measured ones, by number."""
        return {line["round"]: line for line in self.lines if line["round"] != CHECK and "failure" not in line}

    @property
    def failure(self) -> str:
        return next((line["failure"] for line in self.lines if "failure" in line), "")

    @property
    def ours(self) -> bool:
        return self.contender.split("/")[0] in OURS

    def values(self, figure: str) -> list[float]:
        """A figure in every round that has it."""
        return list(self.figures(figure).values())

    def figures(self, name: str) -> dict[int, float]:
        """A figure by round, where a round has it."""
        return {number: line[name] for number, line in self.rounds.items() if line.get(name) is not None}

    def middle(self, figure: str) -> float | None:
        """The median of the rounds."""
        values = self.values(figure)
        return median(values) if values else None

    def rates(self) -> dict[int, float]:
        """Rows per second by round."""
        return {number: line["rows"] / line["seconds"] for number, line in self.rounds.items()}

    @property
    def rate(self) -> float | None:
        return median(list(self.rates().values())) if self.rounds else None

    @property
    def spread(self) -> float | None:
        """Largest minus smallest throughput as a share of the median; none for a single round."""
        return spread(list(self.rates().values())) if len(self.rounds) > 1 else None

    @property
    def cpu_per_row(self) -> float | None:
        """Microseconds of processor time for a row."""
        values = [line["cpu_seconds"] / line["rows"] * 1e6 for line in self.rounds.values()]
        return median(values) if values else None


def outcomes(lines: Sequence[dict[str, Any]], job: str, point: object) -> list[Outcome]:
    """The contenders at a point, in the order in which they were checked; ours once for each number of rows."""
    here = [line for line in lines if line["job"] == job and line["point"] == point]
    found = list(dict.fromkeys((line["contender"], line["rows"]) for line in here))
    return [Outcome(name, [line for line in here if (line["contender"], line["rows"]) == (name, rows)])
            for name, rows in found]


def counterpart(other: Outcome, present: Sequence[Outcome]) -> Outcome | None:
    """The one of ours that a contender is compared with: with as many rows, on Spark in the same mode."""
    if other.ours:
        return None
    mine = [one for one in present if one.contender in ours_beside(other.contender) and one.rounds]
    return min(mine, key=lambda one: one.first["rows"] != other.first["rows"], default=None)


def ours_beside(contender: str) -> tuple[str, ...]:
    """The names of ours that a contender can be compared with."""
    folder, _, mode = contender.partition("/")
    return (f"panewise_spark/{mode}",) if folder == "spark" else ("panewise", "embedded")


def times_as_fast(ours: Outcome | None, other: Outcome, measure: str = "rate") -> float | None:
    """How many times our throughput is another's: the median of the ratios of rounds that both have.

    With a figure that is better the smaller it is, as a latency, how many times ours another's is.
    """
    if ours is None:
        return None
    mine, theirs = (ours.rates(), other.rates()) if measure == "rate" else (other.figures(measure),
                                                                            ours.figures(measure))
    ratios = [mine[number] / theirs[number] for number in mine.keys() & theirs.keys() if theirs[number]]
    return median(ratios) if ratios else None
