"""Catalogues of order components find exactly what hangs on rows that are gone, also after forgetting and saving."""

from __future__ import annotations

import numpy as np
import pytest

from panewise.kernels.relations.edges.delta import Ends
from panewise.kernels.relations.stores.catalogues import ExpiryCatalogues


def hanging(rows: list[list[int]], gone: list[int]) -> list[tuple[int, int]]:
    """Slots by component, one after the other, with the instant of the row that ends each."""
    return sorted((slot, 1000 + row) for component in rows for slot, row in enumerate(component) if row in gone)


@pytest.mark.parametrize("seed", range(20))
def test_what_hangs_on_rows_that_are_gone_is_found_once(seed: int) -> None:
    rng = np.random.default_rng(seed)
    depth = int(rng.integers(1, 4))
    catalogues, rows, newest, over = ExpiryCatalogues(), [[] for _ in range(depth)], 1, set[int]()
    for _ in range(30):
        count = int(rng.integers(0, 40))
        newest += int(rng.integers(1, 30))
        there = np.array(sorted(set(range(1, newest)) - over))
        order = rng.choice(np.r_[0, there], (depth, count))  # 0: this row has no such component
        catalogues.add(order if count else None, count)
        rows = [[*part, *new] for part, new in zip(rows, order.tolist(), strict=True)]
        leaving = rng.permutation(there)[: int(rng.integers(0, len(there) + 1)) // 2]
        slots, at = catalogues.reached(Ends(leaving, 1000 + leaving))
        assert sorted(zip(slots.tolist(), at.tolist(), strict=True)) == hanging(rows, leaving.tolist())
        over |= set(leaving.tolist())
        rows = [[0 if row in over else row for row in part] for part in rows]  # reached once
        if rng.random() < 0.3:
            kept = np.flatnonzero(rng.random(len(rows[0])) < 0.6)
            tables = catalogues.saved(kept)
            if rng.random() < 0.5:
                catalogues.keep(kept)
            else:
                catalogues = ExpiryCatalogues()
                catalogues.load(tables.get("order"), len(kept))
            rows = [[part[slot] for slot in kept] for part in rows]


def test_a_slot_of_which_two_components_are_reached_comes_twice() -> None:
    catalogues = ExpiryCatalogues()
    catalogues.add(np.array([[1, 1], [2, 3]]), 2)
    slots, at = catalogues.reached(Ends(np.array([3, 1]), np.array([8, 9])))
    assert sorted(zip(slots.tolist(), at.tolist(), strict=True)) == [(0, 9), (1, 8), (1, 9)]
    assert len(catalogues.reached(Ends(np.array([1]), np.array([9])))[0]) == 0


def test_rows_that_came_before_the_first_vector_have_no_components() -> None:
    catalogues = ExpiryCatalogues()
    catalogues.add(None, 3)
    catalogues.add(np.array([[5]]), 1)
    assert catalogues.of(np.arange(4)).tolist() == [[0, 0, 0, 5]]
    with pytest.raises(AssertionError, match="without a vector"):
        catalogues.add(None, 1)
