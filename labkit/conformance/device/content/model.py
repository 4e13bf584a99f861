"""Reference model of content: the contents of a product, and the answers to list, info and download."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

RANGE = re.compile(r"bytes=([0-9]*)-([0-9]*)", re.ASCII)
MARKS = re.compile(r'[,"\r\n]')


@dataclass(frozen=True, slots=True)
class Item:
    """A content. updated: the second of its last change, None if unknown."""

    data: bytes
    type: str
    description: str
    updated: int | None

    def line(self, updated: str) -> str:
        """Return the info line without its line end."""
        return f"{self.type},{len(self.data)},{updated},{quoted(self.description)}"


@dataclass(frozen=True, slots=True)
class Answer:
    """The expected answer to a download. rule: the requirement that demands it; range: the value of Content-Range."""

    rule: str
    status: int
    data: bytes | None
    range: str | None


@dataclass(slots=True)
class ProductContents:
    """The contents of a product."""

    items: dict[str, Item] = field(default_factory=dict)

    def download(self, id: str, wanted: str | None) -> Answer:
        """Return the expected answer to a download. wanted: the value of Range."""
        item = self.items.get(id)
        if item is None:
            return Answer("DEV-CONT-20", 404, None, None)
        size = len(item.data)
        match = None if wanted is None else RANGE.fullmatch(wanted)
        whole = Answer("DEV-CONT-7" if wanted is None else "DEV-CONT-17", 200, item.data, None)
        if match is None:
            return whole
        start, stop = match.groups()
        if not start and not stop:
            return Answer("DEV-CONT-15", 400, None, None)
        if not start:
            first, last = max(0, size - int(stop)), size - 1
            rule = "DEV-CONT-12" if int(stop) <= size else "DEV-CONT-18"
        elif not stop:
            first, last, rule = int(start), size - 1, "DEV-CONT-13"
        elif int(start) > int(stop):
            return whole
        else:
            first, last = int(start), min(int(stop), size - 1)
            rule = "DEV-CONT-11" if int(stop) < size else "DEV-CONT-18"
        if first >= size:
            return Answer("DEV-CONT-19", 416, None, f"bytes */{size}")
        return Answer(rule, 200, item.data[first : last + 1], f"bytes {first}-{last}/{size}")


def quoted(text: str) -> str:
    """Return a field of a CSV line, quoted if necessary (RFC 4180)."""
    return '"' + text.replace('"', '""') + '"' if MARKS.search(text) else text
