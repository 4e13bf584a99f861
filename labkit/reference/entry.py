"""Pages and entries of the reference, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class ReferenceEntry:
    """An entry of the reference: an operation, an event, a setting, and so on.

    kind: what it is, in lower case; name: name under which `labkit docs` finds it; body: its text as Markdown; aliases:
    further names; label: makes the anchor, where kind and name are those of another entry but for letter case.
    """

    kind: str
    name: str
    body: str
    aliases: tuple[str, ...] = ()
    label: str = ""

    @property
    def anchor(self) -> str:
        """Label of the entry in the book."""
        return re.sub(r"[^a-z0-9]+", "-", (self.label or f"{self.kind} {self.name}").lower()).strip("-")

    def text(self) -> str:
        """Return the entry as a page for the terminal."""
        title = f"{self.name} ({self.kind})"
        return f"{title}\n{'=' * len(title)}\n\n{self.body.strip()}\n"


@dataclass(frozen=True)
class ReferencePage:
    """A page of the reference. path: in the book, without suffix; intro: Markdown between its title and its entries."""

    path: str
    title: str
    intro: str
    entries: tuple[ReferenceEntry, ...]

    def markdown(self) -> str:
        """Return the page as Markdown for the book."""
        return "\n\n".join([f"# {self.title}", self.intro, *self._sections()]) + "\n"

    def _sections(self) -> Iterator[str]:
        for each in self.entries:
            yield f"({each.anchor})=\n## {each.name}\n\n{each.body.strip()}"


def bullets(lines: Iterable[tuple[str, str, str]]) -> str:
    """Return a list with a line for each (name, type or other facts, description)."""
    return "\n".join(f"- `{name}` ({facts})" + (f": {text}" if text else "") for name, facts, text in lines)


def code(language: str, text: str) -> str:
    """Return a fenced block of code."""
    return f"```{language}\n{dedent(text).strip()}\n```"


def prose(doc: str) -> str:
    """Return a docstring as Markdown, with its lines joined to paragraphs and its indented lines as code."""
    return "\n\n".join(_paragraph(each) for each in re.split(r"\n\s*\n", doc.strip()))


def _paragraph(text: str) -> str:
    if text.startswith("    "):
        return code("text", text)
    return outside_code(" ".join(line.strip() for line in text.splitlines()), r"([*<|])", r"\\\1")


def outside_code(text: str, pattern: str, replacement: str) -> str:
    """Return a text in which a pattern is replaced, except between backticks."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(pattern, replacement, part) for part in parts)


def explained(doc: str, names: Iterable[str]) -> Mapping[str, str]:
    """Return the descriptions of arguments or fields that a docstring has in the form `name: text.`"""
    known = "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    if not known:
        return {}
    head = rf"(?:(?<=^)|(?<=[.;] ))`?((?:{known})(?:`?(?:, | and )`?(?:{known}))*)`?: "
    found: dict[str, str] = {}
    for paragraph in re.split(r"\n\s*\n", doc):
        text = " ".join(paragraph.split())
        heads = list(re.finditer(head, text))
        for each, end in zip(heads, [*(match.start() for match in heads[1:]), len(text)], strict=False):
            meaning = re.split(r"\.\s(?=[A-Z`\d]|\w+: )", text[each.end() : end])[0].strip(" ;.")
            found.update((name, meaning) for name in re.findall(known, each[1]))
    return found
