"""The hash table of keys: keys of any kind spread over its slots, so that looking one up does not walk past others."""

from __future__ import annotations

import numpy as np
import pytest

from panewise.kernels.panes.cells_numba import find_codes

KEYS = 1 << 15
SLOTS = 4 * KEYS


def longest_run(taken: np.ndarray) -> int:
    """The most slots in a row that are taken: a key at the beginning of such a run may have to walk to its end."""
    free = np.flatnonzero(np.concatenate([[True], ~taken, [True]]))
    return int(np.diff(free).max()) - 1


@pytest.mark.parametrize("keys", [
    np.arange(KEYS), np.arange(KEYS) << 32, np.arange(KEYS) * 86_400_000_000,
    np.arange(KEYS, dtype=np.float64).view(np.int64), (np.arange(KEYS) / 8).view(np.int64),
    (np.arange(KEYS) * 1e9).view(np.int64),
    np.random.default_rng(3).integers(-(2**63), 2**63 - 1, KEYS)],
    ids=["numbers", "high bits", "days", "floats", "eighths", "large floats", "any"])
def test_keys_spread_over_the_slots(keys: np.ndarray) -> None:
    slot_keys, slot_codes = np.zeros(SLOTS, np.int64), np.full(SLOTS, -1, np.int64)
    known, codes = np.zeros(KEYS, np.int64), np.empty(KEYS, np.int64)
    nothing_near = np.empty(0, np.int64)
    assert find_codes(keys, nothing_near, 0, slot_keys, slot_codes, known, 0, codes) == KEYS
    assert (known[codes] == keys).all()
    assert longest_run(slot_codes >= 0) < 200
