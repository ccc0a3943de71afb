"""Which files a path means and how each is read, by suffix; a directory is its files in name order."""

from __future__ import annotations

from collections import Counter
from enum import Enum
from pathlib import Path

from panewise.core.errors import SourceError


class Format(Enum):
    """The file formats panewise reads and writes."""

    PARQUET = "Parquet"
    CSV = "CSV"
    NDJSON = "NDJSON"


SUFFIXES = {
    ".parquet": Format.PARQUET,
    ".csv": Format.CSV,
    ".ndjson": Format.NDJSON,
    ".jsonl": Format.NDJSON,
    ".json": Format.NDJSON,
}


def format_of(path: Path) -> Format:
    """The format a file's suffix names.

    >>> format_of(Path("bids.ndjson"))
    <Format.NDJSON: 'NDJSON'>
    """
    try:
        return SUFFIXES[path.suffix.lower()]
    except KeyError:
        known = ", ".join(SUFFIXES)
        raise SourceError(f"{path}: cannot tell the format from the suffix; use one of {known}") from None


def expand(path: Path) -> list[Path]:
    """The files behind a path in arrival order: the file itself, or a directory's files by name.

    Hidden files and those that start with ``_`` (markers of other tools) do not count.
    """
    if not path.exists():
        raise SourceError(f"{path}: no such file or directory")
    if path.is_file():
        format_of(path)
        return [path]
    files = sorted(f for f in path.iterdir() if f.is_file() and f.name[0] not in "._")
    if not files:
        raise SourceError(f"{path}: the directory has no files to read")
    formats = Counter(format_of(f) for f in files)
    if len(formats) > 1:
        found = ", ".join(f"{n} {f.value}" for f, n in formats.items())
        raise SourceError(f"{path}: one stream must be of one format, the directory has {found} files")
    return files
