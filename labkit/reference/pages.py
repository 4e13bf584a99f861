"""All pages of the reference, for the book."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.reference import api


def generated() -> Iterator[tuple[str, str]]:
    """Yield the path in the book and the text of each page that is made from the code."""
    yield from api.pages()
