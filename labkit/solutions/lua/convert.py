"""Conversion of values between Python and Lua.

Rules:

- None is nil; a whole number from Lua is an int, and exact up to 2**53. Larger ints from Python arrive as
  text, so that no digit is lost. Infinite numbers and NaN cross as they are.
- dict is a table with text keys; None as a value is a missing key. list and tuple are a table that is marked
  as a list: `__type` is "slice" in its metatable, None leaves a hole at its place. An empty table from Lua is
  a dict unless marked.
- str is UTF-8. Bytes of Lua that are not arrive as lone surrogates (PEP 383) and go back as the same bytes;
  so do `bytes`.

Lua writes JSON, which Python reads fast, and which Lua can write where the hook sees it. Python writes the
serialization format of LuaJIT's string buffers (LuaJIT documentation, "String Buffer Library"), which LuaJIT
reads fast. Two values that this format cannot express, or only at a cost, go as JSON: a list with None in it, which
would lose its length, and text that is not all UTF-8.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from struct import Struct
from typing import Any

from labkit.solutions.lua.errors import LuaError

DEPTH = 100  # of tables in tables; the buffer format allows no more

_EXACT = 2**53
_NIL, _FALSE, _TRUE, _EMPTY, _HASH, _ARRAY = b"\x00", b"\x01", b"\x02", b"\x08", b"\x09", b"\x0c"
_LIST = b"\x0e\x00"  # marked with the first metatable that both sides know
_INT, _NUMBER, _TEXT = 6, 7, 32
_JSON = b"\x1f"  # leads JSON: no value in the buffer format starts with it

_SHORT, _MOST_KEYS = 40, 1000  # cache of encoded keys: longest key in characters, number of keys

_int = Struct("<Bi").pack
_number = Struct("<Bd").pack
_count = Struct("<BI").pack


_LONGEST_NAME, _MOST_NAMES = 40, 100  # cache of names as text: longest name in bytes, number of names


class Names(dict[bytes, str]):
    """Texts of the names that Lua passes, cached since scripts use few services and operations."""

    def __missing__(self, name: bytes) -> str:
        text = to_text(name)
        if len(name) <= _LONGEST_NAME and len(self) < _MOST_NAMES:
            self[name] = text
        return text


class _HoleError(Exception):
    """A list contains None."""


class FixedTable(dict[str, Any]):
    """A table that is not changed any more, so that its form for Lua is made once."""

    __slots__ = ("_data",)

    def data(self, depth: int) -> bytes:
        """Return the table in the form that Lua reads. depth: of tables that it may contain."""
        try:
            return self._data
        except AttributeError:
            out: list[bytes] = []
            _put_object(out, self, depth)
            self._data: bytes = b"".join(out)
        return self._data


def to_bytes(text: str) -> bytes:
    """Return text as UTF-8; a lone surrogate becomes the byte that it represents, or a question mark if it has none."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(_character(character) for character in text)


def _character(character: str) -> bytes:
    try:
        return character.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"?"


def to_text(data: bytes) -> str:
    """Return the text of a Lua string; bytes that are not UTF-8 become lone surrogates (PEP 383)."""
    return data.decode("utf-8", "surrogateescape")


def to_lua(value: object, most_bytes: int) -> bytes:
    """Return a value in the form that Lua reads.

    Raises LuaError for objects that have no form in Lua, nesting deeper than DEPTH (cycles too), and more
    than most_bytes.
    """
    out: list[bytes] = []
    try:
        if type(value) is dict:  # as nearly always
            _put_object(out, value, DEPTH)
        else:
            _put(out, value, DEPTH)
        data = b"".join(out)
    except (_HoleError, UnicodeEncodeError):
        data = _JSON + _json(value)
    if len(data) > most_bytes:
        raise LuaError(f"cannot hand the value to a script: it takes more than {most_bytes} bytes")
    return data


def from_lua(data: bytes | None) -> Any:
    """Return the value that Lua wrote; None for no data."""
    return None if data is None else _read_json(data.decode("utf-8", "surrogateescape"), 0)[0]


def _put(out: list[bytes], value: object, depth: int) -> None:
    # Exact types first: a value has a dozen parts, and isinstance on an abstract type costs as much as
    # writing one.
    kind = type(value)
    if kind is str:
        _put_text(out, value)  # type: ignore[arg-type]
    elif kind is int:
        _put_int(out, value)  # type: ignore[arg-type]
    elif value is None or value is True or value is False:
        out.append(_NIL if value is None else _TRUE if value else _FALSE)
    elif kind is float:
        out.append(_number(_NUMBER, value))
    elif kind is FixedTable:
        out.append(value.data(depth))  # type: ignore[attr-defined]
    elif kind is list or kind is tuple:
        _put_list(out, value, depth)  # type: ignore[arg-type]
    elif kind is dict or isinstance(value, Mapping):
        _put_object(out, value, depth)  # type: ignore[arg-type]
    elif isinstance(value, list | tuple):
        _put_list(out, value, depth)
    else:
        _put_other(out, value)


def _put_other(out: list[bytes], value: object) -> None:
    """Write a value of a type derived from a plain one, or bytes."""
    if isinstance(value, str):
        _put_text(out, value)
    elif isinstance(value, int):
        _put_int(out, int(value))
    elif isinstance(value, float):
        out.append(_number(_NUMBER, value))
    else:
        data = _bytes(value)
        out += (_size(_TEXT + len(data)), data)


def _put_int(out: list[bytes], value: int) -> None:
    if -(2**31) <= value < 2**31:
        out.append(_int(_INT, value))
    elif -_EXACT <= value <= _EXACT:
        out.append(_number(_NUMBER, value))
    else:
        _put_text(out, _digits(value))


def _put_text(out: list[bytes], value: str) -> None:
    data = value.encode()
    out += (_size(_TEXT + len(data)), data)


def _size(size: int) -> bytes:
    """Return a size in one, two or five bytes (format: U)."""
    if size < 0xE0:
        return bytes((size,))
    if size < 0xE0 + 0x1F00:
        size -= 0xE0
        return bytes((0xE0 | size >> 8, size & 0xFF))
    return _count(0xFF, size)


class _Keys(dict[object, bytes]):
    """Keys of objects as Lua reads them, cached since all events and responses have the same few."""

    def __missing__(self, key: object) -> bytes:
        text = key if isinstance(key, str) else _name(key)
        out: list[bytes] = []
        _put_text(out, text)
        data = b"".join(out)
        if type(key) is str and len(key) <= _SHORT:
            if len(self) >= _MOST_KEYS:
                self.clear()
            self[key] = data
        return data


_keys = _Keys()
TOO_DEEP = "cannot hand the value to a script: it is nested too deeply, or holds itself"
_SMALL = 0xE0 - _TEXT  # sizes that take one byte
_TEXT_SIZES = tuple(_size(_TEXT + size) for size in range(_SMALL))
_HASH_SIZES = tuple(_HASH + _size(size) for size in range(_SMALL))


def _put_object(out: list[bytes], value: Mapping[Any, object], depth: int) -> None:
    if depth <= 0:
        raise LuaError(TOO_DEEP)
    keys, count = _keys, 0
    parts: list[bytes] = []
    for key, item in value.items():
        kind = type(item)
        if kind is str:  # as most are, so without a call
            data = item.encode()  # type: ignore[attr-defined]
            size = len(data)
            parts += (keys[key], _TEXT_SIZES[size] if size < _SMALL else _size(_TEXT + size), data)
        elif kind is int and -(2**31) <= item < 2**31:  # type: ignore[operator]
            parts += (keys[key], _int(_INT, item))
        elif item is None:  # a missing key
            continue
        else:
            parts += (keys[key],)
            _put(parts, item, depth - 1)
        count += 1
    # Lua reads the number of keys first. It is known after the loop, which skips keys without a value: to count them
    # before would read the object twice, and to begin anew would convert nested objects once more at each level.
    begin = _HASH_SIZES[count] if count < _SMALL else _HASH + _size(count)
    out += (begin, *parts) if count else (_EMPTY,)


def _put_list(out: list[bytes], value: list[object] | tuple[object, ...], depth: int) -> None:
    if depth <= 0:
        raise LuaError(TOO_DEEP)
    out.append(_LIST)
    if not value:
        out.append(_EMPTY)
        return
    out += (_ARRAY, _size(len(value) + 1))
    for item in value:
        if item is None:
            raise _HoleError
        if type(item) is str:
            _put_text(out, item)
        else:
            _put(out, item, depth - 1)


def _name(key: object) -> str:
    """Return a key that is no text, as JSON would write it."""
    if isinstance(key, bool) or key is None:
        return json.dumps(key)
    if isinstance(key, int | float):
        return repr(key)
    raise LuaError(f"cannot hand the value to a script: a key is a {type(key).__name__}")


def _digits(value: int) -> str:
    try:
        return str(value)
    except ValueError as error:  # the interpreter's own limit of digits
        raise LuaError(f"cannot hand the value to a script: {error}") from error


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    raise LuaError(f"cannot hand the value to a script: {type(value).__name__} has no form in Lua")


def _json(value: object) -> bytes:
    try:
        return to_bytes(_write_json(value))
    except RecursionError:
        raise LuaError(TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise LuaError(f"cannot hand the value to a script: {error}") from error


def _other(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else to_text(_bytes(value))


_write_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_other).encode
_read_json = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # Lua writes nothing around a value
