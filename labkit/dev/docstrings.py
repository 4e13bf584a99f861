"""Sphinx extension: labkit's docstrings as reStructuredText, without the constructors that labkit alone calls."""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx

from labkit.reference.api import is_made_by_labkit
from labkit.reference.entry import outside_code

LISTS = ("Arguments:", "Keywords:")  # of arguments
TITLED = ("Faults:",)  # of other things


def as_rst(lines: list[str]) -> list[str]:
    """Return the lines of a docstring as reStructuredText."""
    found: list[str] = []
    in_list = in_code = is_titled = False
    for line in lines:
        indented = line.startswith("    ")
        if line in LISTS or line in TITLED:
            in_list = True
            found += [f"**{line}**", ""] if line in TITLED else []
            is_titled = line in TITLED
            continue
        if in_list and indented:
            found.append(_item(line) if is_titled else _argument(line))
            continue
        if indented and not in_code and not (found and found[-1].strip()):
            found += ["::", ""]
            in_code = True
        in_code = in_code and (indented or not line.strip())
        found.append(line if in_code else escaped(line))
    return found


def escaped(line: str) -> str:
    """Return a line of text in which nothing but backticks is markup."""
    line = outside_code(line, r"([*|\\])", r"\\\1")
    line = outside_code(line, r"(?<=\w)_(?!\w)", r"\\_")
    return re.sub(r"`([^`]*)`(?=(\w?))", lambda found: f"``{found[1]}``" + ("\\ " if found[2] else ""), line)


def _item(line: str) -> str:
    text = escaped(line.strip())
    return f"  {text}" if line.startswith(" " * 8) else f"* {text}"


def _argument(line: str) -> str:
    if match := re.fullmatch(r" {4}(\w+): (.*)", line):
        return f":param {match[1]}: {escaped(match[2])}"
    return f"    {escaped(line.strip())}"


def _docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = as_rst(lines)


def _signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str, str | None] | None:
    if what == "class" and is_made_by_labkit(obj):
        return "", None
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension to autodoc."""
    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("autodoc-process-signature", _signature)
    return {"parallel_read_safe": True, "version": "1"}
