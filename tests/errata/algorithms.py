"""The published algorithms in executable form, with the printed slip and the correction side by side.

Each function takes ``printed``: True runs what the publication prints, False what it must mean. They are small models
for checking claims against brute force, not the kernels of the product.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from dataclasses import dataclass, field

NEVER = -(10**9)

Row = tuple[int, str]  # (timestamp, join value)
Event = tuple[str, int] | tuple[str, int, str]


# -- slide-by-tuple bins (Li, figure 6-7; errata E5, E6, E7, S2) -------------------------------------------------------


def count_bins(events: list[Event], reach: int, *, end_bins_are_results: bool = False, strictly_below: bool = False,
               forget_base: bool = False) -> dict[int, int]:
    """COUNT over slide-by-tuple windows: events are ``("row", ra)`` and ``("below", bound)``; the answer by window."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {NEVER: 0}
    answers: dict[int, int] = {}

    def value_at(at: int) -> int:
        ids = sorted({*starts, *ends})
        i = (bisect_left if strictly_below else bisect_right)(ids, at) - 1
        return starts.get(ids[i], ends.get(ids[i], 0))

    for event in events:
        if event[0] == "row":
            first, last = event[1], event[1] + reach
            at_first, at_last = value_at(first), value_at(last)
            if first not in starts or strictly_below:
                starts[first] = at_first
            if last not in starts and last not in ends:
                (starts if end_bins_are_results else ends)[last] = at_last
            for bins in (starts, ends):
                for at in bins:
                    if first <= at < last:
                        bins[at] += 1
        else:
            bound = event[1]
            answers.update({at: value for at, value in starts.items() if at < bound})
            base = value_at(bound - 1)
            starts = {at: v for at, v in starts.items() if at >= bound}
            ends = {at: v for at, v in ends.items() if at >= bound}
            ends[NEVER] = 0 if forget_base else base
    return answers


# -- order-agnostic joins (Li, figures 7-1 and 7-2; errata E8, E9, E10, E15) -------------------------------------------


@dataclass
class JoinRun:
    """What a join did: its result pairs, how much it stored, and the punctuation it put out on each side."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    stored: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    promises: list[tuple[int, int, int]] = field(default_factory=list)  # (position in pairs, side, bound)


def band_join(events: list[tuple[int, str, int]], ranges: tuple[int, int], *, printed: bool) -> JoinRun:
    """OA-Join on a band; events are ``(side, "row" | "below", ts)``. Figure 7-1 keeps a row for its own range.

    The printed predicate swaps the two ranges with respect to those state rules.
    """
    run, bounds = JoinRun(), [NEVER, NEVER]
    for side, what, ts in events:
        other = 1 - side
        if what == "row":
            for partner in run.stored[other]:
                left, right = (ts, partner) if side == 0 else (partner, ts)
                back, ahead = (ranges[0], ranges[1]) if printed else (ranges[1], ranges[0])
                if left - back <= right <= left + ahead:
                    run.pairs.append((left, right))
            if ts >= bounds[other] - ranges[side]:
                run.stored[side].append(ts)
        else:
            bounds[side] = ts
            run.stored[other][:] = [k for k in run.stored[other] if k >= ts - ranges[other]]
    return run


def band_by_definition(events: list[tuple[int, str, int]], ranges: tuple[int, int], *,
                       printed: bool) -> Counter[tuple[int, int]]:
    """All pairs in the band, whatever the order."""
    lefts = [ts for side, what, ts in events if what == "row" and side == 0]
    rights = [ts for side, what, ts in events if what == "row" and side == 1]
    back, ahead = (ranges[0], ranges[1]) if printed else (ranges[1], ranges[0])
    return Counter((x, y) for x in lefts for y in rights if x - back <= y <= x + ahead)


def tumbling_join(events: list[tuple[int, str, int]], size: int, *, printed_state: bool = False,
                  printed_promise: bool = False) -> JoinRun:
    """OA-Join on tumbling buckets, with the printed comparison of times and buckets, or the printed ceiling."""
    run, bounds = JoinRun(), [NEVER * size, NEVER * size]
    for side, what, ts in events:
        other = 1 - side
        if what == "row":
            for partner in run.stored[other]:
                if partner // size == ts // size:
                    run.pairs.append((ts, partner) if side == 0 else (partner, ts))
            kept = ts >= bounds[other] / size if printed_state else ts // size >= bounds[other] // size
            if kept:
                run.stored[side].append(ts)
        else:
            bounds[side] = ts
            run.stored[other][:] = [
                k for k in run.stored[other] if (k >= ts / size if printed_state else k // size >= ts // size)
            ]
            rounded = -(-bounds[side] // size) * size if printed_promise else bounds[side] // size * size
            run.promises.append((len(run.pairs), other, min(rounded, bounds[other])))
    return run


# -- low-level aggregation (Gigascope slow flush; Li, figure 8-6; erratum E12) -----------------------------------------


def slow_flush(rows: list[tuple[int, str]], slots: int, *, printed: bool) -> tuple[list[tuple[int, str, int]], int]:
    """COUNT per (window, group) in a fixed table, one old slot put out per row; rows are ``(window, group)``, ordered.

    Gives the partial results put out and how many partials never left the table.
    """
    table: list[tuple[int, str, int, str] | None] = [None] * slots  # window, group, count, status
    out: list[tuple[int, str, int]] = []
    cursor, finished, current = 0, True, None

    def flush(i: int) -> None:
        entry = table[i]
        if entry is not None:
            out.append(entry[:3])
            table[i] = None

    def flush_old() -> None:
        for i in range(slots):
            if table[i] is not None and table[i][3] == "old":  # type: ignore[index]
                flush(i)

    for window, group in rows:
        if current is not None and window != current:
            if not finished:
                flush_old()
            if not printed:  # the printed scheme never turns new entries old
                table = [e if e is None else (*e[:3], "old") for e in table]
            cursor, finished = 0, False
        current = window
        if not finished:
            if table[cursor] is not None and table[cursor][3] == "old":  # type: ignore[index]
                flush(cursor)
            cursor += 1
            finished = cursor >= slots
        i = sum(map(ord, group)) % slots
        entry = table[i]
        if entry is not None and entry[0] == window and entry[1] == group:
            table[i] = (window, group, entry[2] + 1, entry[3])
            continue
        if entry is not None:
            if entry[3] == "new":
                flush_old()
            flush(i)
        table[i] = (window, group, 1, "new")
    flush_old()
    if not printed:  # the end of the stream is one more window change
        table = [e if e is None else (*e[:3], "old") for e in table]
        flush_old()
    return out, sum(e is not None for e in table)


# -- AdaptWID, eager side (Li 6.3.4.2; erratum E14) --------------------------------------------------------------------


def eager_sums(rows: list[tuple[int, int]], reach: int, slide: int, *, printed: bool) -> dict[int, int]:
    """SUM per window; rows are ``(ts, value)``, no window has closed. Printed: new partials only for later windows."""
    partials: dict[int, int] = {}
    for ts, value in rows:
        newest = max(partials, default=-1)
        for wid in range(ts // slide, (ts + reach) // slide):
            if wid not in partials:
                if printed and wid <= newest:
                    continue
                partials[wid] = 0
            partials[wid] += value
    return partials


# -- Patroumpas and Sellis: aggregation over expiring rows, joins over count windows -----------------------------------


def aggregate_count_window(values: list[int], size: int, function: str, *, printed: bool) -> list[float]:
    """Algorithm 1 over a count window: the answer after each arrival (erratum P16)."""
    window: list[int] = []
    ordered: list[int] = []
    answer, answers = 0.0, []
    for value in values:
        if len(window) == size:
            gone = window.pop(0)
            if function == "max":
                if printed:  # scans while the leaving row is still there
                    answer = ordered[-1]
                ordered.remove(gone)
                if not printed and gone == answer:
                    answer = ordered[-1] if ordered else float("-inf")
            elif printed:  # keeps the average where the sum must stand
                answer -= gone
            else:
                answer -= gone
        window.append(value)
        insort(ordered, value)
        if function == "max":
            answer = max(answer, value) if len(window) > 1 else value
            answers.append(float(answer))
        elif printed:
            answer = (answer * (len(window) - 1) + value) / len(window)
            answers.append(answer)
        else:
            answer += value
            answers.append(answer / len(window))
    return answers


def ord_join(arrivals: list[tuple[int, str, str]], sizes: tuple[int, int], *, lazily: bool = False,
             inclusive: bool = False, one_catalogue: bool = False,
             partitioned: bool = False) -> list[set[tuple[int, int]]]:
    """Join over count windows by expiration order (ORD); the live results after each arrival.

    Arrivals are ``(side, join value, partition)``. ``inclusive`` is the printed garbage bound (P14), ``one_catalogue``
    the printed single catalogue per side for partitioned windows (P15).
    """
    seen: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    members: tuple[list[int], list[int]] = ([], [])  # positions of the rows in each window
    results: dict[tuple[int, int], tuple[tuple[str, int], tuple[str, int]]] = {}
    history = []
    for side, value, part in arrivals:
        group = part if partitioned else ""
        number = len(seen[side])
        seen[side].append((value, group))
        same = [m for m in members[side] if seen[side][m][1] == group]
        if len(same) == sizes[side]:
            members[side].remove(same[0])
        members[side].append(number)
        for partner in members[1 - side]:
            if seen[1 - side][partner][0] == value:
                pair = (number, partner) if side == 0 else (partner, number)
                results[pair] = tuple(_expiry(seen[s], pair[s], sizes[s], one_catalogue) for s in (0, 1))  # type: ignore[assignment]
        for s in (0, 1):
            for pair in list(results):
                key, expiry = results[pair][s]
                live = [_expiry(seen[s], m, sizes[s], one_catalogue)[1] for m in members[s]
                        if one_catalogue or seen[s][m][1] == key]
                smallest = min(live, default=10**9)
                if expiry < smallest or (lazily and inclusive and expiry == smallest):
                    del results[pair]
        history.append(set(results))
    return history


def _expiry(seen: list[tuple[str, str]], number: int, size: int, one_catalogue: bool) -> tuple[str, int]:
    """The order position at which a row leaves its partition's window."""
    group = seen[number][1]
    rank = sum(1 for v in seen[: number + 1] if v[1] == group)
    return ("" if one_catalogue else group), rank + size


def live_pairs(arrivals: list[tuple[int, str, str]], sizes: tuple[int, int], *,
               partitioned: bool = False) -> list[set[tuple[int, int]]]:
    """The same by definition: pairs of equal value among the newest rows of each window."""
    seen: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    history = []
    for side, value, part in arrivals:
        seen[side].append((value, part if partitioned else ""))
        newest: list[list[int]] = []
        for s in (0, 1):
            per_group: dict[str, list[int]] = {}
            for i, (_, group) in enumerate(seen[s]):
                per_group.setdefault(group, []).append(i)
            newest.append([i for group in per_group.values() for i in group[-sizes[s]:]])
        history.append({(x, y) for x in newest[0] for y in newest[1] if seen[0][x][0] == seen[1][y][0]})
    return history
