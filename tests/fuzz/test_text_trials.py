"""A short version of ``make fuzz texts``, and every text that once broke something."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.text_trials import SEEDS, trials, verdict
from fuzz.texts import Text, text_of

KEPT = sorted((SEEDS / "sql").glob("*.sql"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [1, 2])
def test_texts_are_refused_with_a_place_or_run(seed: int) -> None:
    found = trials(count=700, seed=seed, say=lambda text: None)
    assert found["finds"] == {}
    outcomes = found["outcomes"]
    assert isinstance(outcomes, dict)
    assert {"refused", "planned", "explained", "ran"} <= set(outcomes), "texts must come to every stage"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_texts_that_once_broke_something_do_not(path: Path) -> None:
    text = path.read_bytes().decode("utf-8", "surrogatepass")
    for typed in (False, True):
        for number in (0, 1, 4, 5):  # without columns; run; explained; planned
            assert verdict(Text(text, typed=typed), number)[1] is None


def test_a_text_depends_on_its_seed_and_number_alone() -> None:
    assert [text_of(3, number).sql for number in range(50)] == [text_of(3, number).sql for number in range(50)]
    assert len({text_of(3, number).sql for number in range(50)}) > 45
