"""Trials of state on disk: every durable call fails or is the last, processes are killed anywhere, files are damaged.

Each function returns what it has counted and raises ``TrialError`` with the seed or the call that shows a mistake.
"""

from __future__ import annotations

import json
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from time import monotonic

from fuzz.forks import DONE, REFUSED, in_child, killed_in_child
from fuzz.injector import FAULTS, Injector, failing, told
from fuzz.jobs import defined, refused_or_right, run_job, wrong
from panewise.storage import disk

WORDS = 260
"""About as many as a whole run says."""


class TrialError(AssertionError):
    """Something was lost, doubled, wrong, or refused where it must not be."""


@contextmanager
def folder() -> Iterator[Path]:
    """A place for one trial."""
    home = Path(tempfile.mkdtemp(prefix="panewise-fuzz-"))
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def must(home: Path, work: Callable[[], object], what: str) -> None:
    """Run something in a child that must not fail."""
    status = in_child(work)
    if status != DONE:
        raise TrialError(f"{what}: ended with {status}; its files are in {home}")


def expected_rows() -> Counter[str]:
    """The rows of the definition, worked out in a child.

    The job runs once here, too: its compiled loops are then loaded in all children. It starts no thread.
    """
    with folder() as home:
        run_job(home)
    with folder() as home:
        must(home, lambda: (home / "rows").write_text(json.dumps(defined())), "the definition")
        return Counter(json.loads((home / "rows").read_text()))


def check(home: Path, expected: Counter[str], what: str) -> None:
    """The job, started once more, ends with exactly the rows of the definition."""
    def finish() -> None:
        problem = wrong(home, expected)
        if problem:
            raise TrialError(problem)

    must(home, finish, what)


def durable_calls() -> list[tuple[str, str]]:
    """The calls of an undisturbed run."""
    with folder() as home:
        def noted() -> None:
            injector = Injector()
            with disk.injected(injector):
                run_job(home)
            (home / "calls").write_text(json.dumps(injector.calls))

        must(home, noted, "an undisturbed run")
        return [tuple(call) for call in json.loads((home / "calls").read_text())]


def faults(*, every: int = 1, seed: int = 0) -> dict[str, object]:
    """Each durable call (or each so many of them, from a seed on) with each fault; then the job is finished."""
    expected, calls = expected_rows(), durable_calls()
    counted: Counter[str] = Counter()
    for number in range(seed % every, len(calls), every):
        for fault in FAULTS:
            what = f"{fault} at durable call {number}, {' '.join(calls[number])}"
            with folder() as home:
                def struck(home: Path = home, number: int = number, fault: str = fault) -> None:
                    with failing(number, fault):
                        run_job(home)

                status = in_child(struck)
                if status != (-signal.SIGKILL if fault == "kill" else REFUSED):
                    raise TrialError(f"{what}: the run ended with {status}")
                check(home, expected, f"after {what}")
            counted[fault] += 1
    return {"durable calls": len(calls), "kinds": dict(Counter(call for call, _ in calls)), "faults": dict(counted)}


def kills(wanted: int, *, seed: int = 0) -> dict[str, object]:
    """Jobs that are killed at random moments, started again, and killed again; each must end with its rows."""
    expected, random = expected_rows(), Random(seed)
    done = jobs = starts = 0
    while done < wanted:
        jobs += 1
        with folder() as home:
            while True:
                starts += 1
                batch = random.choice([3, 7, 8, 20, 21])

                def spoken(say: Callable[[], object], batch: int = batch, home: Path = home) -> None:
                    with disk.injected(told(say)):
                        run_job(home, batch=batch, say=say)

                status = killed_in_child(spoken, random, WORDS)
                if status == DONE:
                    break
                if status != -signal.SIGKILL:
                    raise TrialError(f"seed {seed}, job {jobs}: a run that was not killed ended with {status}")
                done += 1
            check(home, expected, f"seed {seed}, job {jobs}")
    return {"kills": done, "jobs": jobs, "starts": starts}


Damage = Callable[[Path, Path, Random], str]


def flip_bit(file: Path, other: Path, random: Random) -> str:
    """One bit."""
    data = bytearray(file.read_bytes())
    if not data:
        return "nothing"
    place = random.randrange(len(data) * 8)
    data[place // 8] ^= 1 << place % 8
    file.write_bytes(data)
    return f"bit {place} of {file.name}"


def cut_short(file: Path, other: Path, random: Random) -> str:
    """The end of a file is lost."""
    data = file.read_bytes()
    file.write_bytes(data[: random.randrange(len(data))] if data else b"")
    return f"{file.name} cut short"


def delete(file: Path, other: Path, random: Random) -> str:
    """A file is lost."""
    file.unlink()
    return f"{file.name} deleted"


def overwrite(file: Path, other: Path, random: Random) -> str:
    """Bytes in the middle come from elsewhere."""
    data, strange = bytearray(file.read_bytes()), random.randbytes(random.randint(1, 512))
    at = random.randrange(len(data) + 1)
    data[at: at + len(strange)] = strange
    file.write_bytes(data)
    return f"{len(strange)} bytes of {file.name}"


def swap_inside(file: Path, other: Path, random: Random) -> str:
    """Two files of one checkpoint change places."""
    second = random.choice([p for p in sorted(file.parent.iterdir()) if p.is_file()])
    data = file.read_bytes()
    file.write_bytes(second.read_bytes())
    second.write_bytes(data)
    return f"{file.name} and {second.name} swapped"


def swap_between(file: Path, other: Path, random: Random) -> str:
    """A file of another checkpoint, of the same query, in place of one of this."""
    files = [p for p in sorted(other.rglob("*")) if p.is_file()]
    alike = [p for p in files if p.name[:17] == file.name[:17]]  # without the mark of its owner
    file.write_bytes(random.choice(alike or files).read_bytes())
    return f"{file.name} of another checkpoint"


DAMAGES: tuple[Damage, ...] = (flip_bit, flip_bit, flip_bit, cut_short, delete, overwrite, swap_inside, swap_between)


def checkpoints(*, seconds: float = 0, trials: int = 0, seed: int = 0) -> dict[str, object]:
    """Checkpoints and result parts of runs, damaged at random: refused by name, or read as they were written."""
    expected, random = expected_rows(), Random(seed)
    began, counted, done = monotonic(), Counter[str](), 0
    with folder() as place:
        for name, at in (("mine", 150), ("other", 150), ("ended", -1)):
            home = place / name
            home.mkdir()

            def begun(home: Path = home, at: int = at) -> None:
                with failing(at, "EIO"):
                    run_job(home)

            in_child(begun)
        while done < trials or monotonic() - began < seconds:
            done += 1
            home = place / "trial"
            shutil.copytree(place / random.choice(["mine", "ended"]), home)
            files = [p for p in sorted((home / "state").rglob("*")) + sorted((home / "out").iterdir()) if p.is_file()]
            damage = random.choice(DAMAGES)
            did = damage(random.choice(files), place / "other" / "state", random)

            def tried(home: Path = home) -> None:
                (home / "outcome").write_text(refused_or_right(home, expected))

            must(home, tried, f"seed {seed}, trial {done}: {did}")
            counted[f"{damage.__name__}: {(home / 'outcome').read_text().split(':')[0]}"] += 1
            shutil.rmtree(home)
    return {"trials": done, "outcomes": dict(sorted(counted.items()))}
