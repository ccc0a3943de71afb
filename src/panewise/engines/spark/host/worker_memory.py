"""What a worker still has of a shard from the last micro-batch, so that it need not be read from the state store again.

Each thing kept has a token of its own, which is saved with the state it belongs to. A micro-batch that reads the token
from the store may go on with the thing. One that failed and is done again reads the token of the micro-batch before,
under which nothing is kept any more, and restores from the store. So what is kept is never anything but what is saved.
"""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import Any

MOST = 64
"""How many things a worker keeps; the oldest go first."""

_kept: OrderedDict[str, Any] = OrderedDict()


def keep(thing: Any) -> str:
    """Keep something until the next micro-batch; its token."""
    token = uuid.uuid4().hex
    _kept[token] = thing
    while len(_kept) > MOST:
        _kept.popitem(last=False)
    return token


def take(token: str) -> Any:
    """What was kept under a token, once; None when it is not here."""
    return _kept.pop(token, None)


def forget() -> None:
    """Keep nothing, as a new worker."""
    _kept.clear()
