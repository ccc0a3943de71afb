"""How many functions of panewise a bid enters on its way from a line of NDJSON to its result.

    .venv/bin/python bench/hops.py                                # of this checkout
    .venv/bin/python bench/hops.py --before ../panewise-before    # and of another
    .venv/bin/python bench/hops.py --walk                         # each of them, where it is entered first

Thirty bids through a sliding window in process, a second time, so that nothing is compiled or planned while it counts:
distinct functions, those of comprehensions left out, from the first line that is read to the last result.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType
from typing import Any

SOURCES = "/src/panewise/"
TEXT = "SELECT auction, count(*) [RANGE 60, SLIDE 20, WA ts] AS n FROM bids GROUP BY auction"


def entered(path: Path) -> list[tuple[int, str]]:
    """The functions in the order in which they are entered first, each with how deep it stands."""
    import panewise as pw

    found: dict[str, int] = {}

    def watch(frame: FrameType, event: str, _: Any) -> None:
        name = _name(frame)
        if event == "call" and name is not None and not name.endswith("comp>") and not name.endswith("<genexpr>"):
            found.setdefault(name, _depth(frame))

    run = pw.run(TEXT, bids=str(path), progress="ordered")
    threading.setprofile(watch)
    sys.setprofile(watch)
    rows = sum(1 for _ in run)
    sys.setprofile(None)
    threading.setprofile(None)  # type: ignore[arg-type]
    assert rows > 0
    return [(depth, name) for name, depth in found.items()]


def _name(frame: FrameType) -> str | None:
    code = frame.f_code
    _, inside, file = code.co_filename.partition(SOURCES)
    return f"{file} {code.co_qualname}" if inside else None


def _depth(frame: FrameType) -> int:
    above, depth = frame.f_back, 0
    while above is not None:
        depth += _name(above) is not None
        above = above.f_back
    return depth


def count_of(checkout: Path) -> int:
    """Of another checkout, in a process of its own."""
    asked = ["/usr/bin/env", f"PYTHONPATH={checkout / 'src'}", sys.executable, __file__]
    return int(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()[0])


def main() -> None:
    """As the options say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of another version")
    parser.add_argument("--walk", action="store_true", help="print each function")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bids.ndjson"
        path.write_text("".join(json.dumps({"auction": i % 3, "price": float(i), "ts": i * 10}) + "\n"
                                for i in range(30)))
        entered(path)
        found = entered(path)
    for depth, name in found if options.walk else ():
        print("  " * depth + name)
    print(f"{len(found)} functions")
    if options.before is not None:
        before = count_of(options.before.resolve())
        print(f"{before} functions in {options.before}: {len(found) / before:.2f} of it")


if __name__ == "__main__":
    main()
