"""A report as a list of blocks, written as Markdown and as one HTML page that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STYLE = """body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .2rem .7rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }
th { border-bottom: 2px solid #999 } td.text, th.text { text-align: left; white-space: normal }
svg { max-width: 100%; height: auto }"""


@dataclass(frozen=True)
class Heading:
    """A title of some level."""

    text: str
    level: int = 2

    def markdown(self) -> str:
        return f"{'#' * self.level} {self.text}"

    def html(self) -> str:
        return f"<h{self.level}>{html.escape(self.text)}</h{self.level}>"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str

    def markdown(self) -> str:
        return self.text

    def html(self) -> str:
        return f"<p>{html.escape(self.text)}</p>"


@dataclass(frozen=True)
class Bullets:
    """Short statements below each other."""

    items: Sequence[str]

    def markdown(self) -> str:
        return "\n".join(f"- {item}" for item in self.items)

    def html(self) -> str:
        return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in self.items) + "</ul>"


@dataclass(frozen=True)
class Table:
    """Rows of cells; columns whose cells are all figures stand to the right."""

    head: Sequence[str]
    rows: Sequence[Sequence[object]]

    def _figures(self, column: int) -> bool:
        cells = [str(row[column]) for row in self.rows]
        return all(not cell or cell[0].isdigit() for cell in cells)

    def markdown(self) -> str:
        lines = [self.head, ["--:" if self._figures(i) else ":--" for i in range(len(self.head))], *self.rows]
        return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)

    def html(self) -> str:
        kinds = ["" if self._figures(i) else ' class="text"' for i in range(len(self.head))]
        lines = ["".join(f"<{tag}{kind}>{html.escape(str(one))}</{tag}>" for one, kind in zip(row, kinds, strict=True))
                 for tag, rows in (("th", [self.head]), ("td", self.rows)) for row in rows]
        return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


@dataclass(frozen=True)
class Picture:
    """A drawing in SVG, a file of its own beside the Markdown and a part of the page."""

    name: str
    alt: str
    svg: str

    def markdown(self) -> str:
        return f"![{self.alt}]({self.name}.svg)"

    def html(self) -> str:
        return f'<figure role="img" aria-label="{html.escape(self.alt)}">{self.svg[self.svg.index("<svg"):]}</figure>'


Block = Heading | Text | Bullets | Table | Picture


def write(folder: Path, name: str, title: str, blocks: Sequence[Block]) -> Path:
    """``name.md`` with its pictures and ``name.html``; the path of the first."""
    folder.mkdir(parents=True, exist_ok=True)
    for picture in (block for block in blocks if isinstance(block, Picture)):
        (folder / f"{picture.name}.svg").write_text(picture.svg)
    text = folder / f"{name}.md"
    text.write_text("\n\n".join([f"# {title}", *(block.markdown() for block in blocks)]) + "\n")
    body = "\n".join([f"<h1>{html.escape(title)}</h1>", *(block.html() for block in blocks)])
    (folder / f"{name}.html").write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>\n{body}\n</body></html>\n")
    return text
