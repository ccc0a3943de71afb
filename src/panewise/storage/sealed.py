"""Bytes with a seal: what they are, the version of panewise's state, and a checksum over all of it.

Every file and every saved state begins with it. The layout up to the checksum never changes, so any version can tell a
damaged file from one that another version has written.

    8 bytes   PANEWISE
    4 bytes   version of the state
    32 bytes  SHA-256 of the four bytes before and of everything behind
    4 bytes   length of the header
              the header: JSON, with ``kind`` and what else its kind says
              the contents
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from panewise.core.errors import CheckpointError, OtherVersionError

MAGIC = b"PANEWISE"
STATE_VERSION = 6
"""Of everything that is saved, the only such number: raise it when any of it changes its form.

Below it are the numbers that files, kernels and shards had of their own before there was one for all.
"""
DIGEST = hashlib.sha256().digest_size
PREFIX = len(MAGIC) + 4 + DIGEST


def seal(header: Mapping[str, Any], contents: bytes, *, version: int = STATE_VERSION) -> tuple[bytes, bytes]:
    """The seal to put in front of the contents, and the contents.

    >>> found = unseal(b"".join(seal({"kind": "example"}, b"abc")), "example.file")
    >>> found
    ({'kind': 'example'}, b'abc')
    """
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    front, length = version.to_bytes(4, "big"), len(text).to_bytes(4, "big")
    digest = hashlib.sha256(front + length + text)
    digest.update(contents)
    return MAGIC + front + digest.digest() + length + text, contents


def checksum(data: bytes) -> str:
    """What a seal says the checksum of its bytes is."""
    return data[len(MAGIC) + 4: PREFIX].hex()


def unseal(data: bytes, where: object, *, remedy: str = "start again without it") -> tuple[dict[str, Any], bytes]:
    """Header and contents; ``where`` names them in errors, ``remedy`` says what to do about them."""
    if not is_sealed(data):
        raise CheckpointError(f"{where} is damaged, or nothing that this version of panewise has written: "
                              f"it has no seal; {remedy}")
    front = data[len(MAGIC): len(MAGIC) + 4]
    rest = memoryview(data)[PREFIX:]
    digest = hashlib.sha256(front)
    digest.update(rest)
    if digest.digest() != data[len(MAGIC) + 4: PREFIX]:
        raise CheckpointError(f"{where} is damaged: its checksum does not fit; {remedy}")
    refuse_other_version(int.from_bytes(front, "big"), where)
    end = 4 + int.from_bytes(rest[:4], "big")
    return json.loads(bytes(rest[4:end])), bytes(rest[end:])


def refuse_other_version(found: object, where: object) -> None:
    """State of any other version is refused, by its number."""
    if found != STATE_VERSION:
        raise other_version(found, where)


def other_version(found: object, where: object) -> OtherVersionError:
    """What to say of state that another version has made, one of those without a number for all if it has none."""
    named = "an earlier version" if found is None else f"version {found}"
    return OtherVersionError(f"{where} was made by {named} of panewise's state, this is version {STATE_VERSION}: start "
                             "again with an empty directory, or go on with the version of panewise that made it")


def is_sealed(data: bytes) -> bool:
    """Whether bytes begin as sealed ones do."""
    return data.startswith(MAGIC) and len(data) >= PREFIX + 4
