"""Bytes with a seal: what they are, the version of their format, and a checksum over all of it.

Every file and every saved state begins with it. The layout up to the checksum never changes, so any version can tell a
damaged file from one that another version has written.

    8 bytes   PANEWISE
    4 bytes   version of the format
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

from panewise.core.errors import CheckpointError

MAGIC = b"PANEWISE"
FORMAT = 2
"""Version 1 was that of panewise 0.1, which had no seals."""
DIGEST = hashlib.sha256().digest_size
PREFIX = len(MAGIC) + 4 + DIGEST


def seal(header: Mapping[str, Any], contents: bytes, *, version: int = FORMAT) -> tuple[bytes, bytes]:
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
    version = int.from_bytes(front, "big")
    if version != FORMAT:
        raise CheckpointError(f"{where} has format version {version}, this version of panewise reads format version "
                              f"{FORMAT}: go on with the version of panewise that wrote it, or {remedy}")
    end = 4 + int.from_bytes(rest[:4], "big")
    return json.loads(bytes(rest[4:end])), bytes(rest[end:])


def is_sealed(data: bytes) -> bool:
    """Whether bytes begin as sealed ones do."""
    return data.startswith(MAGIC) and len(data) >= PREFIX + 4
