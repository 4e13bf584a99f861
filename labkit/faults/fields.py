"""Removing, replacing, adding and editing fields of plain data, JSON text and forms.

A path selects a field: `users.email`. A path through a list selects each of its items, or one item by a number. `*` is
any name, `\\.` is a dot within a name, and `.` alone selects the whole value. Inputs are never modified: if the result
differs, it is a copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_plus

from labkit.settings.edits import parse_edit, sibling_name

DEEPEST = 40  # levels of nested data that are searched
MISSING = object()  # the value of a field that is removed or does not exist
WHOLE = "."

_DOT = re.compile(r"(?<!\\)\.")
Path = tuple[str, ...]


class Change(NamedTuple):
    """A change of one field.

    path: as written in the settings; makes: returns the new value for the old one; creates: whether a missing
    field is added (`makes` gets MISSING); sibling: name of the field beside it whose value is copied, if it
    exists.
    """

    path: str
    makes: Callable[[Any], Any]
    creates: bool = False
    sibling: str | None = None


class Changes:
    """Changes of fields, applied one after the other to a request, an answer, a call, a result or an event.

    drop: paths; replace, put: path → value; edit: path → edit (`settings.edits`).
    """

    def __init__(
        self,
        drop: Iterable[str] | None = None,
        replace: Mapping[str, Any] | None = None,
        put: Mapping[str, Any] | None = None,
        edit: Mapping[str, Any] | None = None,
    ) -> None:
        self._changes = [Change(path, _always(MISSING)) for path in drop or ()]
        self._changes += [Change(path, _always(value)) for path, value in (replace or {}).items()]
        self._changes += [Change(path, _always(value), creates=True) for path, value in (put or {}).items()]
        self._changes += [
            Change(path, parse_edit(each), sibling=sibling_name(each)) for path, each in (edit or {}).items()
        ]

    def __bool__(self) -> bool:
        return bool(self._changes)

    def __iter__(self) -> Iterator[Change]:
        return iter(self._changes)

    @property
    def paths(self) -> list[str]:
        """The paths of the changed fields."""
        return [each.path for each in self._changes]

    def apply(self, data: Any) -> tuple[Any, bool]:
        """Return the data with its fields changed, and whether any differs."""
        found = False
        for change in self._changes:
            data, there = changed_field(data, change)
            found = found or there
        return data, found


def changed_field(data: Any, change: Change) -> tuple[Any, bool]:
    """Return data with one field changed, and whether it differs."""
    path = path_of(change.path)
    if not path:
        made = change.makes(data)
        return (None if made is MISSING else made), _differs(data, made)
    return _changed(data, path, change, DEEPEST)


def changed_in_json(text: str, change: Change) -> tuple[str, bool]:
    """Return JSON text with one field changed, and whether it differs; text that is no JSON stays."""
    try:
        data, found = changed_field(json.loads(text), change)
    except (ValueError, RecursionError):
        return text, False
    return (json.dumps(data, ensure_ascii=False), True) if found else (text, False)


def changed_in_form(text: str, change: Change) -> tuple[str, bool]:
    """Return a form with one field changed, and whether it differs; the path is one name."""
    wanted = path_of(change.path)
    pairs: list[str] = []
    found = there = False
    for pair in text.split("&") if text else []:
        written, _, value = pair.partition("=")
        name = unquote_plus(written)
        if wanted not in ((name,), ("*",)):
            pairs.append(pair)
            continue
        there = True
        made = change.makes(unquote_plus(value))
        found = found or _differs(unquote_plus(value), made)
        if made is not MISSING:
            pairs.append(_pair(name, made))
    if change.creates and not there and len(wanted) == 1:
        pairs.append(_pair(wanted[0], change.makes(MISSING)))
        found = True
    return ("&".join(pairs), True) if found else (text, False)


def values_at(data: Any, path: Path, depth: int = DEEPEST) -> Iterator[Any]:
    """Iterate over the values at a path."""
    if not path:
        yield data
        return
    name, *rest = path
    if depth and isinstance(data, Mapping):
        for each in data:
            if name in ("*", str(each)):
                yield from values_at(data[each], tuple(rest), depth - 1)
    elif depth and isinstance(data, list | tuple):
        index = _index(name)
        if index is None:
            for each in data:
                yield from values_at(each, path, depth - 1)
        elif index < len(data):
            yield from values_at(data[index], tuple(rest), depth - 1)


def values_in_form(text: str, path: Path) -> Iterator[Any]:
    """Iterate over the values of a form's field."""
    for pair in text.split("&") if text else []:
        name, _, value = pair.partition("=")
        if path in ((unquote_plus(name),), ("*",)):
            yield unquote_plus(value)


def path_of(text: str) -> Path:
    """Split a path into names; the whole has none."""
    return () if text == WHOLE else tuple(part.replace("\\.", ".") for part in _DOT.split(text))


def _always(value: Any) -> Callable[[Any], Any]:
    return lambda before: value


def _differs(before: Any, made: Any) -> bool:
    """Return whether a change makes a difference; 1 differs from True and from 1.0."""
    return made is not before and (type(made) is not type(before) or bool(made != before))


def _pair(name: str, value: Any) -> str:
    return f"{quote(name, '')}={quote(value if isinstance(value, str) else json.dumps(value), '')}"


def _index(name: str) -> int | None:
    return int(name) if name.isascii() and name.isdigit() and len(name) < 10 else None


def _changed(data: Any, path: Path, change: Change, depth: int) -> tuple[Any, bool]:
    """Return `data` with the fields at `path` changed, and whether it differs."""
    if not depth:
        return data, False
    if isinstance(data, list | tuple):
        return _changed_items(data, path, change, depth)
    if not isinstance(data, Mapping):
        return data, False
    name, *rest = path
    names = [each for each in data if name in ("*", str(each))]
    copy = dict(data)
    if not names and not rest and change.creates:
        copy[name] = change.makes(MISSING)
        return copy, True
    found = False
    for each in names:
        if rest:
            copy[each], there = _changed(data[each], tuple(rest), change, depth - 1)
            found = found or there
            continue
        made = data.get(change.sibling, data[each]) if change.sibling else change.makes(data[each])
        found = found or _differs(data[each], made)
        if made is MISSING:
            del copy[each]
        else:
            copy[each] = made
    return (copy, True) if found else (data, False)


def _changed_items(data: Any, path: Path, change: Change, depth: int) -> tuple[Any, bool]:
    name, *rest = path
    index = _index(name)
    if index is None:  # each item
        results = [_changed(each, path, change, depth - 1) for each in data]
        return (
            (_like(data, [each for each, _ in results]), True)
            if any(there for _, there in results)
            else (data, False)
        )
    if index >= len(data):
        return data, False
    items = list(data)
    if rest:
        items[index], found = _changed(items[index], tuple(rest), change, depth - 1)
        return (_like(data, items), True) if found else (data, False)
    made = change.makes(items[index])
    if not _differs(items[index], made):
        return data, False
    items[index : index + 1] = [] if made is MISSING else [made]
    return _like(data, items), True


def _like(data: Any, items: list[Any]) -> Any:
    """Return a list of the same type: some list types remember that they are lists when they are empty."""
    return type(data)(items) if type(data) in (list, tuple) or isinstance(data, list) else items


def plain_copy(value: Any) -> Any:
    """Return a deep copy of tables and lists, so that one receiver's changes do not reach another."""
    if isinstance(value, dict):
        return {name: plain_copy(each) for name, each in value.items()}
    return [plain_copy(each) for each in value] if isinstance(value, list) else value
