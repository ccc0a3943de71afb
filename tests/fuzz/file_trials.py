"""Trials of malformed data files: each is read under every policy for bad rows, and all of its rows are accounted for.

A policy that stops refuses the file by name, or its answer is that of the other two; skipping and putting aside agree
with each other, count as many bad rows as are put aside, and every other row is in the result.
"""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count as numbers
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

import panewise as pw
from fuzz.storage_trials import TrialError, folder
from fuzz.text_trials import TooSlowError, alarm, origin
from panewise.core.errors import PanewiseError

QUERY = "SELECT count(*) AS n, count(v) AS known FROM s [RANGE 20, SLIDE 20, WA ts]"
FORMATS = (".ndjson", ".csv", ".parquet")
SECONDS = 30


def sound_rows(random: Random) -> list[dict[str, Any]]:
    """Rows that are as they should be."""
    return [
        {"k": random.choice(("a", "b", "é", "")), "ts": i, "v": random.randint(-9, 9), "f": i / 4}
        for i in range(random.choice((0, 1, 3, 30, 30, 200)))
    ]


def written(rows: list[dict[str, Any]], suffix: str) -> bytes:
    """The bytes of a sound file."""
    schema = pa.schema({"k": pa.string(), "ts": pa.int64(), "v": pa.int64(), "f": pa.float64()})
    table, out = pa.Table.from_pylist(rows, schema), io.BytesIO()
    if suffix == ".ndjson":
        out.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode())
    elif suffix == ".csv":
        pcsv.write_csv(table, out)
    else:
        pq.write_table(table, out, row_group_size=50)
    return out.getvalue()


# -- damages ----------------------------------------------------------------------------------------------------------

Damage = Callable[[bytes, Random], bytes]
LINES = (
    b"",
    b" ",
    b"{",
    b"}",
    b"null",
    b"[]",
    b"{}",
    b"1",
    b'"x"',
    b"\x00",
    b"\xff\xfe",
    b"{'k': 1}",
    b'{"ts": 1}{"ts": 2}',
    b'{"ts": "x"}',
    b'{"ts": 1.5}',
    b'{"ts": null}',
    b'{"ts": 99999999999999999999}',
    b'{"ts": 1, "v": "9"}',
    b'{"ts": 1e400}',
    b'{"ts": 3, "v": {"a": 1}}',
    b'{"ts": 3, "v": [1, 2]}',
    b'{"ts": 3, "new": 1}',
    b'{"ts": 1, "ts": 2}',
    b'{"ts": NaN}',
    b'[{"ts": 1}, {"ts": 2}]',
    b'{"punctuation": {"ts": 5}}',
    b'{"punctuation": 7}',
    b'{"punctuation": {"nope": 5}}',
    b'{"k": "\xed\xa0\x80", "ts": 1}',
    b'{"k": "\\ud800", "ts": 1}',
    b'{"k": "' + b"x" * 100_000 + b'", "ts": 1}',
    b"[" * 5_000,
    b'{"a":' * 3_000 + b"1" + b"}" * 3_000,
    b"a,b,c",
    b'"',
    b'a,"b',
    b"a,1,2,3,4,5",
    b",,,",
    b"x,x,x,x",
    b'k,"1",2,3',
    b"\xef\xbb\xbf",
    b"k\rts\rv",
    b"1\t2\t3\t4",
    b'{"ts": tru}',
    b'{"ts": 1,}',
    b"// comment",
    b"--",
)


def flip(data: bytes, random: Random) -> bytes:
    """A few bits."""
    changed = bytearray(data)
    for _ in range(random.randint(1, 4) if changed else 0):
        place = random.randrange(len(changed) * 8)
        changed[place // 8] ^= 1 << place % 8
    return bytes(changed)


def truncate(data: bytes, random: Random) -> bytes:
    """The end is missing."""
    return data[: random.randrange(len(data) + 1)]


def behead(data: bytes, random: Random) -> bytes:
    """The beginning is missing."""
    return data[random.randrange(len(data) + 1) :]


def splice(data: bytes, random: Random) -> bytes:
    """Strange bytes in between."""
    at = random.randrange(len(data) + 1)
    return (
        data[:at]
        + random.choice((random.randbytes(20), b"\x00", b"\xff", b"\xc3", b'"', b"{", b"\r", b"\n"))
        + data[at:]
    )


def bad_line(data: bytes, random: Random) -> bytes:
    """Lines that are none."""
    lines = data.split(b"\n")
    for _ in range(random.randint(1, 3)):
        lines.insert(random.randrange(len(lines) + 1), random.choice(LINES))
    return b"\n".join(lines)


def cut_line(data: bytes, random: Random) -> bytes:
    """A part of a line is missing."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    lines[at] = truncate(lines[at], random)
    return b"\n".join(lines)


def other_newlines(data: bytes, random: Random) -> bytes:
    """Lines that end otherwise, or not at all."""
    return data.replace(b"\n", random.choice((b"\r", b"\r\n", b" ", b"", b"\n\n", b"\x0b")))


def other_encoding(data: bytes, random: Random) -> bytes:
    """The same text, or none, in other bytes."""
    text = data.decode("utf-8", "replace")
    return random.choice(
        (
            text.encode("utf-16"),
            text.encode("latin-1", "replace"),
            b"\xef\xbb\xbf" + data,
            gzip.compress(data),
            data + b"\x00" * 50,
            b"",
            b"\n",
            data.replace(b'"', b"'"),
            data[::-1],
        )
    )


def other_values(data: bytes, random: Random) -> bytes:
    """Values of another type in some places."""
    for old in random.sample((b"1", b"2", b"a", b"0.", b"ts", b"v"), 2):
        data = data.replace(
            old,
            random.choice((b"null", b"x", b"1e5", b"", b'"', b"-", b"9" * 25, b"\xc3\xa9", b"[1]")),
            random.randint(1, 3),
        )
    return data


DAMAGES: tuple[Damage, ...] = (
    flip,
    truncate,
    behead,
    splice,
    bad_line,
    bad_line,
    bad_line,
    cut_line,
    other_newlines,
    other_encoding,
    other_values,
)


# -- trials -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """What a run under one policy came to."""

    refused: str = ""
    rows: int = 0
    known: int = 0
    bad: int = 0


def outcome(path: Path, policy: str) -> Outcome:
    """One run; only errors of ours are outcomes."""
    try:
        with alarm(SECONDS):
            results = pw.sql(QUERY, s=path, bad_rows=policy, time="ts")
            found = [row for row in results]  # noqa: C416 -- iterating is what users do
    except PanewiseError as error:
        if not str(error):
            raise TrialError("a refusal without a word") from error
        return Outcome(type(error).__name__)
    return Outcome(
        "", sum(row["n"] for row in found), sum(row["known"] for row in found), int(results.status.get("bad", 0))
    )


def check(path: Path, place: Path) -> Outcome:
    """Every policy, and whether they agree."""
    aside = place / "aside.ndjson"
    aside.unlink(missing_ok=True)
    stop, skip, put = (outcome(path, policy) for policy in ("stop", "skip", f"aside:{aside}"))
    if skip != put:
        raise TrialError(f"skipping gives {skip}, putting aside {put}")
    written_aside = len(aside.read_text(encoding="utf-8").splitlines()) if aside.exists() else 0
    if not put.refused and written_aside != put.bad:
        raise TrialError(f"{put.bad} bad rows, {written_aside} are put aside")
    if not stop.refused and stop != skip:
        raise TrialError(f"nothing was refused, with {stop}, and skipping gives {skip}")
    if stop.refused == "BadRowError" and not skip.refused and not skip.bad:
        raise TrialError("a bad row stops the run, and none is skipped")
    return skip if stop.refused else stop


def exact(random: Random, place: Path) -> None:
    """Lines of which it is known what they are: rows and bad rows are counted exactly."""
    lines: list[bytes] = []
    good = bad = 0
    for i in range(random.choice((1, 5, 50))):
        if random.random() < 0.3:
            lines.append(
                random.choice(
                    (
                        b'{"ts": 1, "v": "x"}',
                        b"{nonsense}",
                        b'{"ts": null, "v": 1}',
                        b"[1]",
                        b'{"ts": 1, "v": [1]}',
                        b'{"ts": 1, "v": 1',
                        b"\xff\xff",
                    )
                )
            )
            bad += 1
        else:
            lines.append(b'{"ts": %d, "v": %d}' % (i, i))
            good += 1
    lines = [b'{"ts": 0, "v": 0}', *lines]
    path = place / "exact.ndjson"
    path.write_bytes(b"\n".join(lines) + random.choice((b"", b"\n")))
    found = outcome(path, "skip")
    if found != Outcome("", good + 1, good + 1, bad):
        raise TrialError(f"{good + 1} rows and {bad} bad ones, but {found}: {lines!r}")


def trials(
    *, count: int = 0, seconds: float = 0, seed: int = 0, say: Callable[[str], object] = print
) -> dict[str, object]:
    """So many files, or for so long."""
    began, outcomes, finds = monotonic(), Counter[str](), Counter[str]()
    done = 0
    with folder() as place:
        for number in numbers():
            if (not seconds and done >= count) or (seconds and monotonic() - began > seconds and done >= count):
                break
            random = Random(seed * 1_000_003 + number)
            try:
                if number % 8 == 7:
                    exact(random, place)
                    outcomes["exactly counted"] += 1
                else:
                    suffix = FORMATS[number % 3] if number % 4 else ".ndjson"
                    data = written(sound_rows(random), suffix)
                    for _ in range(random.choice((1, 1, 2, 3))):
                        data = random.choice(DAMAGES)(data, random)
                    path = place / f"data{suffix}"
                    path.write_bytes(data)
                    found = check(path, place)
                    outcomes[f"{suffix}: {found.refused or ('bad rows' if found.bad else 'read')}"] += 1
            except (Exception, TooSlowError) as error:
                what = f"{type(error).__name__} {origin(error)}"
                finds[what] += 1
                if finds[what] == 1:
                    kept = Path(tempfile.mkdtemp(prefix=f"panewise-file-{seed}-{number}-"))
                    shutil.copytree(place, kept, dirs_exist_ok=True)
                    say(f"seed {seed}, file {number}, kept in {kept}: {what}\n  {str(error)[:600]}")
            done += 1
    return {"files": done, "policies": 3, "outcomes": dict(sorted(outcomes.items())), "finds": dict(finds)}
