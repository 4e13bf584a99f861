"""Fields of data that are taken out or replaced: in plain data, in JSON text and in forms.

A field is named by a path: `users.email`, in which a list stands for each of its items unless a number picks one,
`*` for every name, and `\\.` for a dot within a name. What is given is never changed: there is a copy where it differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote

DEEPEST = 40  # levels of data that are looked into
MISSING = object()  # is put in the place of a field that goes

_DOT = re.compile(r"(?<!\\)\.")
Path = tuple[str, ...]


class Changes:
    """What happens to the fields of an answer, a result or an event. drop: paths; replace: path → value."""

    def __init__(self, drop: Iterable[str] | None, replace: Mapping[str, Any] | None) -> None:
        self._changes: list[tuple[Path, Any]] = [(path_of(each), MISSING) for each in drop or ()]
        self._changes += [(path_of(path), value) for path, value in (replace or {}).items()]

    def __bool__(self) -> bool:
        return bool(self._changes)

    def apply(self, data: Any) -> tuple[Any, bool]:
        """The data with its fields changed, and whether any of them was there."""
        found = False
        for path, value in self._changes:
            data, there = _changed(data, path, value, DEEPEST)
            found = found or there
        return data, found

    def apply_to_json(self, text: str) -> tuple[str, bool]:
        """The same for JSON text; what is none stays."""
        try:
            data, found = self.apply(json.loads(text))
        except (ValueError, RecursionError):
            return text, False
        return (json.dumps(data, ensure_ascii=False), True) if found else (text, False)

    def apply_to_form(self, text: str) -> tuple[str, bool]:
        """The same for a form, in which a path is one name."""
        pairs = parse_qsl(text, keep_blank_values=True)
        kept: list[tuple[str, str]] = []
        found = False
        for name, value in pairs:
            change = next((each for path, each in self._changes if path in ((name,), ("*",))), None)
            if change is None and not any(path in ((name,), ("*",)) for path, _ in self._changes):
                kept.append((name, value))
                continue
            found = True
            if change is not MISSING:
                kept.append((name, change if isinstance(change, str) else json.dumps(change)))
        return (
            ("&".join(f"{quote(name, '')}={quote(value, '')}" for name, value in kept), True)
            if found
            else (text, False)
        )


def applied_to(content_type: str) -> Callable[[Changes, str], tuple[str, bool]] | None:
    """How changes are applied to a body of this type; None where its fields cannot be told apart."""
    type = content_type.partition(";")[0].strip().lower()
    if type == "application/json" or type.endswith("+json"):
        return Changes.apply_to_json
    if type == "application/x-www-form-urlencoded":
        return Changes.apply_to_form
    return None


def path_of(text: str) -> Path:
    """The names of a path."""
    return tuple(part.replace("\\.", ".") for part in _DOT.split(text))


def _changed(data: Any, path: Path, value: Any, depth: int) -> tuple[Any, bool]:
    """`data` with what `path` names replaced by `value` (taken out, where it is MISSING); was it there?"""
    if not depth:
        return data, False
    if isinstance(data, list | tuple):
        return _changed_items(data, path, value, depth)
    if not isinstance(data, Mapping):
        return data, False
    name, *rest = path
    names = [each for each in data if name in ("*", str(each))]
    copy = dict(data)
    found = False
    for each in names:
        if not rest:
            found = True
            if value is MISSING:
                del copy[each]
            else:
                copy[each] = value
        else:
            copy[each], there = _changed(data[each], tuple(rest), value, depth - 1)
            found = found or there
    return (copy, True) if found else (data, False)


def _changed_items(data: Any, path: Path, value: Any, depth: int) -> tuple[Any, bool]:
    name, *rest = path
    index = int(name) if name.isascii() and name.isdigit() and len(name) < 10 else None
    if index is None:  # each item
        results = [_changed(each, path, value, depth - 1) for each in data]
        return (
            (_like(data, [each for each, _ in results]), True)
            if any(there for _, there in results)
            else (data, False)
        )
    if index >= len(data):
        return data, False
    items = list(data)
    if rest:
        items[index], found = _changed(items[index], tuple(rest), value, depth - 1)
        return (_like(data, items), True) if found else (data, False)
    items[index : index + 1] = [] if value is MISSING else [value]
    return _like(data, items), True


def _like(data: Any, items: list[Any]) -> Any:
    """A list of the same kind: some lists know that they are one when they are empty."""
    return type(data)(items) if type(data) in (list, tuple) or isinstance(data, list) else items


def plain_copy(value: Any) -> Any:
    """The same tables and lists once more: what one who gets them does to them is not for another."""
    if isinstance(value, dict):
        return {name: plain_copy(each) for name, each in value.items()}
    return [plain_copy(each) for each in value] if isinstance(value, list) else value
