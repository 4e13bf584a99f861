"""Pictures of labkit's architecture for the book, as SVG: its folders in layers, and the way of a device's write.

The layers are those that import-linter checks (pyproject.toml), the imports those of the code, and the way is the one
that tests trace and keep in tests/README.md. Colours are the book's own, so that they suit light and dark pages.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import labkit

PACKAGE = labkit.__name__
CHECKOUT = Path(labkit.__file__).parents[1]
PROJECT = CHECKOUT / "pyproject.toml"
CONTRIBUTING = CHECKOUT / "tests" / "README.md"
FOLDER = "explanation/architecture"  # of the generated files, in the book
CONTRACT = "layers"  # id of the contract with all folders

WIDTH = 360  # of a picture, in pixels: it fits a phone
STYLE = """<style>
.labkit-picture { display: block; width: 100%; max-width: 560px; height: auto; margin: 1rem auto; }
.labkit-picture text { fill: var(--color-foreground-primary, #111); font: 12px sans-serif; text-anchor: middle; }
.labkit-picture text.soft { fill: var(--color-foreground-muted, #666); font-size: 10px; }
.labkit-picture rect { fill: var(--color-background-primary, #fff); stroke: var(--color-foreground-border, #888); }
.labkit-picture rect.band { fill: var(--color-background-secondary, #f4f5f7); stroke: none; }
.labkit-picture path { fill: none; stroke: var(--color-foreground-muted, #666); stroke-width: 1.2; }
.labkit-picture path.dotted { stroke-dasharray: 2 3; }
.labkit-picture path.head { fill: var(--color-foreground-muted, #666); stroke: none; }
</style>"""


def generated() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each file that the page on architecture includes."""
    yield f"{FOLDER}/layers.svg", layers_picture(layers())
    yield f"{FOLDER}/folders.txt", folder_list(layers())
    yield f"{FOLDER}/write.svg", way_picture(CONTRIBUTING.read_text(encoding="utf-8"))


# --- what the pictures show ---------------------------------------------------------------------------------


def layers() -> list[list[str]]:
    """Return the folders and modules of labkit in their layers, the top one first, as import-linter reads them."""
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    [contract] = [each for each in contracts if each["id"] == CONTRACT]
    return [re.findall(r"\w+", row) for row in contract["layers"]]


def imports() -> Mapping[str, set[str]]:
    """Return the folders and modules of labkit that each of them imports, by name."""
    from grimp import build_graph

    graph = build_graph(PACKAGE)
    children = sorted(graph.find_children(PACKAGE))
    for each in children:
        graph.squash_module(each)
    return {
        name.removeprefix(f"{PACKAGE}."): {
            other.removeprefix(f"{PACKAGE}.")
            for other in graph.find_modules_directly_imported_by(name)
            if other in children and other != name
        }
        for name in children
    }


def about(name: str) -> str:
    """Return the first sentence of the docstring of a folder or module of labkit."""
    spec = find_spec(f"{PACKAGE}.{name}")
    assert spec is not None
    assert spec.origin is not None
    doc = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    return " ".join(doc.split("\n\n")[0].split())


def folder_list(rows: Sequence[Sequence[str]]) -> str:
    """Return Markdown with a line for each folder: what it has, and what it imports. rows: the layers."""
    found = imports()
    order = [name for row in rows for name in row]
    lines = []
    for name in order:
        used = ", ".join(f"`{each}`" for each in order if each in found[name])
        lines.append(f"`{name}`\n: {about(name)}\n\n  Imports {used or 'no other'}.\n")
    return "\n".join(lines)


# --- pictures -----------------------------------------------------------------------------------------------


def layers_picture(rows: Sequence[Sequence[str]]) -> str:
    """Return a picture of the layers as SVG: an arrow leads from each to those that it may import."""
    left, gap, height = 26, 8, 24
    parts: list[str] = []
    y = 18
    for row in rows:
        lines = _lines(row, WIDTH - left - 2 * gap)
        band = len(lines) * (height + 6) + 6
        parts.append(f'<rect class="band" x="{left}" y="{y}" width="{WIDTH - left}" height="{band}" rx="6"/>')
        for number, line in enumerate(lines):
            x = left + gap
            for name in line:
                parts.append(_box(x, y + 6 + number * (height + 6), _width(name), height, name))
                x += _width(name) + gap
        y += band + 6
    arrow = [_path(f"M 12 18 V {y - 14}"), _head(12, y - 8)]
    label = f'<text class="soft" x="{WIDTH // 2}" y="11">may import what is in the layers below</text>'
    return _svg("Layers of labkit", y, [label, *arrow, *parts])


class _Step(NamedTuple):
    """A function on the way of a write."""

    name: str
    file: str


def way_picture(page: str) -> str:
    """Return the way of a write as SVG. page: Markdown with it as the only flow chart of Mermaid."""
    chart = page.partition("```mermaid\n")[2].partition("```")[0]
    steps = {key: _Step(*text.split("<br>")) for key, text in re.findall(r'^ *(\w+)\["(.*)"\]$', chart, re.M)}
    arrows = re.findall(r"^ *(\w+) (-->|-\.->) (\w+)$", chart, re.MULTILINE)
    top = {key: 8 + 52 * number for number, key in enumerate(steps)}
    middle, height, right = WIDTH // 2, 34, 300
    parts = []
    for key, step in steps.items():
        parts.append(_box(middle - 130, top[key], 260, height, step.name, step.file))
    following = set(pairwise(steps))
    for source, kind, target in arrows:
        style = "dotted" if kind != "-->" else ""
        begin, end = top[source] + height, top[target]
        if (source, target) in following:
            parts += [_path(f"M {middle} {begin} V {end - 6}", style), _head(middle, end)]
        else:  # past the steps between, at the right
            edge = middle + 130
            line = f"M {edge} {begin - 17} H {right + 24} V {end + 17} H {edge + 6}"
            parts += [_path(line, style), _head(edge, end + 17, towards="left")]
    return _svg("The way of a device's write", 8 + 52 * len(steps), parts)


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    head = (
        f'<svg class="labkit-picture" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([STYLE, head, *parts, "</svg>"]) + "\n"


def _width(name: str) -> int:
    return 8 * len(name) + 16


def _lines(names: Sequence[str], room: int) -> list[list[str]]:
    """Return names in as many lines as they need."""
    lines: list[list[str]] = [[]]
    for name in names:
        if lines[-1] and sum(_width(each) + 8 for each in (*lines[-1], name)) - 8 > room:
            lines.append([])
        lines[-1].append(name)
    return lines


def _box(x: int, y: int, width: int, height: int, text: str, below: str = "") -> str:
    middle = x + width // 2
    lines = [f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>']
    lines.append(f'<text x="{middle}" y="{y + (14 if below else height // 2 + 4)}">{escape(text)}</text>')
    if below:
        lines.append(f'<text class="soft" x="{middle}" y="{y + 27}">{escape(below)}</text>')
    return "".join(lines)


def _path(line: str, style: str = "") -> str:
    return f'<path class="{style}" d="{line}"/>' if style else f'<path d="{line}"/>'


def _head(x: int, y: int, *, towards: str = "down") -> str:
    line = (
        f"M {x - 4} {y - 7} L {x + 4} {y - 7}"
        if towards == "down"
        else f"M {x + 7} {y - 4} L {x + 7} {y + 4}"
    )
    return f'<path class="head" d="{line} L {x} {y} Z"/>'
