"""Representation of a request or an answer for faults, which read and change its headers and the text of its body.

A path selects a field of a JSON body or a form (`fields`). Besides, `@Name` is a header and `.` the text of the body;
in a request, `?name` is a parameter of the query, `?` the whole query, and `/` the path.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from multidict import CIMultiDict

from labkit.faults.fields import (
    MISSING,
    WHOLE,
    Change,
    Changes,
    changed_in_form,
    changed_in_json,
    path_of,
    values_at,
    values_in_form,
)
from labkit.settings.edits import as_text, parse_edit

HEADER, QUERY, PATH = "@", "?", "/"
FORM = "application/x-www-form-urlencoded"

_json = parse_edit("json")


def is_of_body(path: str) -> bool:
    """Return whether the field is part of the body, which then has to be read."""
    return path[:1] not in (HEADER, QUERY, PATH)


@dataclass
class FieldMessage:
    """Headers, body text, path and query of a message. text: None for a missing or unreadable body."""

    headers: CIMultiDict[str]
    text: str | None = None
    path: str = ""
    query: str = ""

    def copy(self) -> FieldMessage:
        """Return a copy with headers of its own."""
        return replace(self, headers=CIMultiDict(self.headers))

    def values(self, path: str) -> Iterator[object]:
        """Iterate over the values of a field."""
        if path.startswith(HEADER):
            yield from self.headers.getall(path[1:], ())
        elif path == QUERY:
            yield self.query
        elif path.startswith(QUERY):
            yield from values_in_form(self.query, (path[1:],))
        elif path == PATH:
            yield self.path
        elif self.text is not None:
            yield from self._in_body(self.text, path)

    def apply(self, changes: Changes) -> bool:
        """Change the message in place and return whether anything differs."""
        return sum(self._change(each) for each in changes) > 0  # applies all changes, unlike `any`

    def _in_body(self, text: str, path: str) -> Iterator[object]:
        if path == WHOLE:
            yield text
        elif self._is_form:
            yield from values_in_form(text, path_of(path))
        elif self._is_json and (data := _json(text)) is not text:
            yield from values_at(data, path_of(path))

    def _change(self, change: Change) -> bool:
        path = change.path
        if path.startswith(HEADER):
            return self._change_header(path[1:], change)
        if path == PATH:
            self.path, differs = _changed_text(self.path, change)
        elif path == QUERY:
            self.query, differs = _changed_text(self.query, change)
        elif path.startswith(QUERY):
            self.query, differs = changed_in_form(self.query, change._replace(path=path[1:]))
        elif self.text is None:
            return False
        elif path == WHOLE:
            self.text, differs = _changed_text(self.text, change)
        elif self._is_form:
            self.text, differs = changed_in_form(self.text, change)
        elif self._is_json:
            self.text, differs = changed_in_json(self.text, change)
        else:
            return False
        return differs

    def _change_header(self, name: str, change: Change) -> bool:
        before = self.headers.getall(name, [])
        if not before and not change.creates:
            return False
        made = [change.makes(each) for each in (before or (MISSING,))]
        after = [as_text(each) for each in made if each is not MISSING]
        self.headers.popall(name, None)
        for each in after:
            self.headers.add(name, each)
        return after != before

    @property
    def _is_form(self) -> bool:
        return self._type == FORM or (not self._type and not self._looks_like_json)

    @property
    def _is_json(self) -> bool:
        type = self._type
        return type == "application/json" or type.endswith("+json") or (not type and self._looks_like_json)

    @property
    def _type(self) -> str:
        return self.headers.get("Content-Type", "").partition(";")[0].strip().lower()

    @property
    def _looks_like_json(self) -> bool:
        return (self.text or "").lstrip()[:1] in ("{", "[")


def _changed_text(text: str, change: Change) -> tuple[str, bool]:
    made = change.makes(text)
    after = "" if made is MISSING else as_text(made)
    return after, after != text
