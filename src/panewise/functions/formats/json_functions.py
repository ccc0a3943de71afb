"""get_json_object, json_array_length, json_object_keys."""

from __future__ import annotations

import re
from functools import lru_cache

import pyarrow as pa

from panewise.functions.binding.by_value import value_function
from panewise.functions.formats.json_reading import Json, JsonError, JsonObject, read, written
from panewise.functions.types import INT, STRING

_STEP = re.compile(r"\.([^.\[]+)|\['([^'?]+)'\]|\[(\d+)\]|\[(\*)\]")
RAW, QUOTED, FLAT = "raw", "quoted", "flat"
"""How a match is written: text as it is, as JSON, or as the elements of a list around it."""


@lru_cache(maxsize=256)
def _steps(path: str) -> tuple[str | int | None, ...] | None:
    """Names, places, and None for every place; None for a path that is none."""
    if not path.startswith("$"):
        return None
    steps: list[str | int | None] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        steps.append(int(found[3]) if found[3] else None if found[4] else found[1] or found[2])
        at = found.end()
    return tuple(steps)


@value_function("get_json_object", takes=[STRING, STRING], gives=STRING)
def get_json_object(text: str, path: str) -> str | None:
    """What a path leads to: text as it is, everything else as JSON; null if it leads nowhere."""
    steps = _steps(path)
    if steps is None:
        return None
    try:
        found = _matches(read(text), steps, RAW)
    except (JsonError, RecursionError, ValueError):
        return None
    return "".join(found) if found else None


def _matches(value: Json, steps: tuple[str | int | None, ...], style: str) -> list[str]:
    """What is written for a value; nothing where the path does not lead on."""
    if not steps:
        if isinstance(value, str) and style == RAW:
            return [value]
        if isinstance(value, list) and style == FLAT:
            return [one for inner in value for one in _matches(inner, (), FLAT)]
        return [written(value)]
    step, rest = steps[0], steps[1:]
    if isinstance(value, JsonObject) and isinstance(step, str):
        for key, inner in value.pairs:
            found = _matches(inner, rest, style) if key == step and inner is not None else []
            if found:
                return found
        return []
    if not isinstance(value, list) or isinstance(step, str):
        return []
    if isinstance(step, int):
        style = QUOTED if rest and rest[0] is None else style
        return _matches(value[step], rest, style) if step < len(value) else []
    return _everywhere(value, rest, style)


def _everywhere(values: list[Json], rest: tuple[str | int | None, ...], style: str) -> list[str]:
    """[*]: one match stands alone, several are a list; two stars in a row make one list of all."""
    if rest and rest[0] is None:
        found = [one for inner in values for one in _matches(inner, rest[1:], FLAT)]
        return [f"[{','.join(found)}]"]
    inside = FLAT if style == FLAT else QUOTED
    parts = [part for inner in values if (part := _matches(inner, rest, inside))]
    texts = [text for part in parts for text in part]
    if style == QUOTED:
        return [f"[{','.join(texts)}]"] if parts else []
    return [] if not parts else texts if len(parts) == 1 else [f"[{','.join(texts)}]"]


@value_function("json_array_length", takes=[STRING], gives=INT)
def json_array_length(text: str) -> int | None:
    """How many elements the outermost array has; null for anything else."""
    try:
        found = read(text)
    except (JsonError, RecursionError):
        return None
    return len(found) if isinstance(found, list) else None


@value_function("json_object_keys", takes=[STRING], gives=pa.list_(STRING))
def json_object_keys(text: str) -> list[str] | None:
    """The keys of the outermost object; null for anything else."""
    try:
        found = read(text)
    except (JsonError, RecursionError):
        return None
    return [key for key, _ in found.pairs] if isinstance(found, JsonObject) else None
