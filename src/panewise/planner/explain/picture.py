"""A plan drawn as SVG: boxes for operators, arrows for edges, the label of an edge beside its arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from xml.sax.saxutils import escape

from panewise.plan import nodes as n
from panewise.planner.explain.describe import head
from panewise.planner.facts.labels import Labels, Path, UpdatePattern

LINE, CHARACTER, PADDING = 17, 7.4, 10  # a monospace character is 0.6 em wide; a little more is on the safe side
COLUMNS = 44  # characters after which a parameter is wrapped
SIDE_GAP, EDGE, MARGIN = 28, 54, 16
LABEL_HEIGHT = 18
COLOURS = {
    UpdatePattern.MON: "#2b7a4b", UpdatePattern.WKS: "#1f6fb2",
    UpdatePattern.WK: "#b36b00", UpdatePattern.STR: "#b3261e",
}

Details = Callable[[Path, n.Node], list[tuple[str, str]]]


@dataclass(frozen=True)
class Box:
    """One operator, placed; ``x`` and ``y`` are its upper left corner."""

    path: Path
    node: n.Node
    title: str
    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """The horizontal centre."""
        return self.x + self.width / 2


def layout(plan: n.Node, labels: Labels, details: Details) -> list[Box]:
    """Place every operator, the root on top and inputs side by side below their consumer.

    A sub-plan owns a strip as wide as its widest level needs, and every depth one band as high as its tallest box, so
    no two boxes can overlap.
    """
    sizes: dict[Path, tuple[str, tuple[str, ...], float, float]] = {}
    strips: dict[Path, float] = {}
    bands: dict[int, float] = {}

    def measure(node: n.Node, path: Path) -> float:
        title, parameters = head(node)
        lines = tuple(wrap(parameters, COLUMNS)) + tuple(
            line for key, value in details(path, node)
            for line in wrap(f"{key}: {value}", COLUMNS, subsequent_indent="  ")
        )
        longest = max(map(len, (title, *lines, str(labels[node]))))
        width, height = longest * CHARACTER + 2 * PADDING, (len(lines) + 1) * LINE + 2 * PADDING
        sizes[path] = (title, lines, width, height)
        bands[len(path)] = max(bands.get(len(path), 0), height)
        children = [measure(child, (*path, i)) for i, child in enumerate(node.inputs)]
        strips[path] = max(width, _strip(children))
        return strips[path]

    measure(plan, ())
    tops = {depth: MARGIN + EDGE + sum(bands[d] + EDGE for d in range(depth)) for depth in bands}

    def place(node: n.Node, path: Path, left: float) -> Iterator[Box]:
        title, lines, width, height = sizes[path]
        yield Box(path, node, title, lines, left + (strips[path] - width) / 2, tops[len(path)], width, height)
        below = _strip([strips[*path, i] for i in range(len(node.inputs))])
        left += (strips[path] - below) / 2
        for i, child in enumerate(node.inputs):
            yield from place(child, (*path, i), left)
            left += strips[*path, i] + SIDE_GAP

    return list(place(plan, (), MARGIN))


def _strip(widths: list[float]) -> float:
    return sum(widths) + SIDE_GAP * max(0, len(widths) - 1)


def draw(plan: n.Node, labels: Labels, details: Details) -> str:
    """The picture as a complete SVG document."""
    boxes = layout(plan, labels, details)
    by_path = {box.path: box for box in boxes}
    width = max(box.x + box.width for box in boxes) + MARGIN
    height = max(box.y + box.height for box in boxes) + MARGIN
    parts = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="ui-monospace, monospace" font-size="12" role="img">',
        f"<title>Query plan: {escape(plan.__class__.__name__)}</title>",
        "<defs>",
        *(_arrow_head(pattern) for pattern in UpdatePattern),
        "</defs>",
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
    ]
    for box in boxes:
        parent = by_path.get(box.path[:-1]) if box.path else None
        parts.append(_edge(box, parent, labels))
    parts += [_box(box) for box in boxes]
    return "\n".join([*parts, "</svg>", ""])


def _arrow_head(pattern: UpdatePattern) -> str:
    return (f'<marker id="to-{pattern.name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            f'orient="auto"><path d="M0 0L8 4L0 8z" fill="{COLOURS[pattern]}"/></marker>')


def _edge(box: Box, parent: Box | None, labels: Labels) -> str:
    """From the top of a box to its consumer; the root's edge leads to the user."""
    seen = labels[box.node]
    colour, text = COLOURS[seen.pattern], str(seen)
    top = MARGIN if parent is None else parent.y + parent.height
    end = box.middle if parent is None else min(max(box.middle, parent.x + 12), parent.x + parent.width - 12)
    bend = box.y - LABEL_HEIGHT - 8
    line = f"M{box.middle:.1f} {box.y:.1f}V{bend:.1f}L{end:.1f} {top:.1f}"
    label_width = len(text) * CHARACTER + 10
    return (
        f"<g><title>{escape(f'{text}: {labels.reason(box.node)}')}</title>"
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="2" marker-end="url(#to-{seen.pattern.name})"/>'
        f'<rect x="{box.middle - label_width / 2:.1f}" y="{bend:.1f}" width="{label_width:.1f}" '
        f'height="{LABEL_HEIGHT}" rx="4" fill="#ffffff" stroke="{colour}"/>'
        f'<text x="{box.middle:.1f}" y="{bend + 13:.1f}" text-anchor="middle" fill="{colour}" '
        f'font-weight="600">{escape(text)}</text></g>'
    )


def _box(box: Box) -> str:
    x, y = box.x + PADDING, box.y + PADDING + 12
    lines = "".join(
        f'<text x="{x:.1f}" y="{y + LINE * (i + 1):.1f}" fill="#3c4a59" xml:space="preserve">{escape(line)}</text>'
        for i, line in enumerate(box.lines)
    )
    return (
        f'<g><rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="6" '
        f'fill="#f5f7f9" stroke="#8796a5"/><text x="{x:.1f}" y="{y:.1f}" font-weight="700" '
        f'fill="#1d2733">{escape(box.title)}</text>{lines}</g>'
    )
