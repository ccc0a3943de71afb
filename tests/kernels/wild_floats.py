"""Floats of every size in one column, and their sums by rational arithmetic alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random

LARGEST = math.nextafter(math.inf, 0.0)
EDGES = [0.0, -0.0, 5e-324, -5e-324, 2.0**-1022, LARGEST, -LARGEST, 1e16, -1e16, 1.0, 0.1]


def wild(random: Random) -> float:
    """Prices, numbers of any magnitude and of any bits, and what lies at the edges; now and then an infinity or NaN."""
    kind = random.random()
    if kind < 0.4:
        return round(random.uniform(-1e4, 1e4), 2)
    if kind < 0.6:
        return random.choice([-1, 1]) * 10.0 ** random.uniform(-308, 308)
    if kind < 0.75:
        return math.ldexp(random.getrandbits(53) * random.choice([-1, 1]), random.randrange(-1074, 971))
    if kind < 0.99:
        return random.choice(EDGES)
    return random.choice([math.inf, -math.inf, math.nan])


def wild_rows(random: Random, count: int) -> list[float | None]:
    """Many, of which half come back with the other sign, so that what is large goes away."""
    values: list[float | None] = []
    while len(values) < count:
        value = wild(random)
        values += [value, -value] if random.random() < 0.3 else [value]
        if random.random() < 0.03:
            values.append(None)
    values = values[:count]
    return values


def exact_sum(values: Sequence[float | None]) -> float | None:
    """The sum as it is defined."""
    known = [v for v in values if v is not None]
    if not known:
        return None
    if any(map(math.isnan, known)) or {math.inf, -math.inf} <= set(known):
        return math.nan
    infinite = [v for v in known if math.isinf(v)]
    return infinite[0] if infinite else nearest(sum(map(Fraction, known)))


def exact_average(values: Sequence[float | None]) -> float | None:
    """The sum by the count."""
    total = exact_sum(values)
    return None if total is None else total / sum(v is not None for v in values)


def exact_variance(values: Sequence[float | None]) -> float | None:
    """Of a sample."""
    known = [v for v in values if v is not None]
    if len(known) < 2:
        return None
    if not all(map(math.isfinite, known)):
        return math.nan
    exact = list(map(Fraction, known))
    mean = sum(exact) / len(exact)
    return nearest(sum((x - mean) ** 2 for x in exact) / (len(exact) - 1))


def nearest(value: Fraction | int) -> float:
    """To the nearest float; zero is +0.0."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
