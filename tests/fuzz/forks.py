"""Functions in processes of their own, quickly: the parent imports everything once and then only forks.

The parent must not have started a thread: threads do not survive a fork.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from random import Random

from panewise.core.errors import PanewiseError

DONE, REFUSED, BROKEN = 0, 3, 4


def in_child(work: Callable[[], object]) -> int:
    """How a process ended that did this: a status above, or the negative number of a signal."""
    return _ended(_fork(work))


def killed_in_child(work: Callable[[Callable[[], object]], object], random: Random, most: int) -> int:
    """The same, killed from outside after it has said a random number of words; it may end before."""
    reading, writing = os.pipe()
    child = _fork(lambda: work(lambda: os.write(writing, b".")))
    os.close(writing)
    left = random.randint(0, most)
    while left > 0:
        heard = os.read(reading, left)
        if not heard:
            break
        left -= len(heard)
    else:
        os.kill(child, signal.SIGKILL)
    status = _ended(child)
    os.close(reading)
    return status


def _fork(work: Callable[[], object]) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child:
        return child
    status = BROKEN
    try:
        work()
        status = DONE
    except PanewiseError as error:
        status = REFUSED
        print(f"  refused: {error}") if os.environ.get("PANEWISE_FUZZ_VERBOSE") else None
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _ended(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
