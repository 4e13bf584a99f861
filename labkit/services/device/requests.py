"""Parsing of a request of remote procedure calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labkit.services.arguments import is_unicode
from labkit.services.bounds import shown_name
from labkit.services.device.errors import MALFORMED, RpcError
from labkit.services.redaction import lengths

MOST_CALLS = 1000  # in a request
LONGEST_ID = 40  # characters
LONGEST_PROCEDURE = 64


class RpcCall(NamedTuple):
    """A call of a request. id: None for a call whose result is not returned."""

    id: str | int | float | None
    procedure: str
    arguments: Sequence[object]


def client_id(auth: object) -> str | None:
    """Return the client that a request acts as, None for the product itself. Raises RpcError."""
    if auth is None or auth in ({}, []):  # an empty table of a script may look like a list
        return None
    if not isinstance(auth, Mapping):
        raise RpcError(MALFORMED, "expected a table", "auth")
    unknown = [str(name) for name in auth if name != "client_id"]
    if unknown:
        raise RpcError(MALFORMED, f"expected client_id, not {shown_name(unknown[0])}", "auth")
    found = auth["client_id"]
    if not isinstance(found, str):
        raise RpcError(MALFORMED, "expected a rid as client_id", "auth")
    return found


def calls_of(given: object) -> list[RpcCall]:
    """Return the calls of a request. Raises RpcError for the first malformed one."""
    if given == {}:
        return []
    if not isinstance(given, list | tuple):
        raise RpcError(MALFORMED, "expected a list of calls", "calls")
    if len(given) > MOST_CALLS:
        raise RpcError(MALFORMED, f"expected at most {MOST_CALLS} calls, not {len(given)}", "calls")
    return [_call(number, each) for number, each in enumerate(given, 1)]


def _call(number: int, given: object) -> RpcCall:
    if not isinstance(given, Mapping):
        raise RpcError(MALFORMED, f"call {number}: expected a table", "calls")
    id, procedure, arguments = given.get("id"), given.get("procedure"), given.get("arguments", ())
    if not _is_id(id):
        raise RpcError(
            MALFORMED,
            f"call {number}: expected a number or a text of at most {LONGEST_ID} characters as id",
            "calls",
        )
    if not isinstance(procedure, str) or not is_unicode(procedure) or len(procedure) > LONGEST_PROCEDURE:
        raise RpcError(MALFORMED, f"call {number}: expected the name of a procedure", "calls")
    if arguments == {}:
        arguments = ()
    if not isinstance(arguments, list | tuple):
        raise RpcError(MALFORMED, f"call {number}: expected a list of arguments", "calls")
    return RpcCall(id, procedure, arguments)


def _is_id(value: object) -> bool:
    if isinstance(value, str):
        return len(value) <= LONGEST_ID and is_unicode(value)
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def shown_calls(value: object) -> object:
    """Return the calls of a request for the journal: procedures, and lengths instead of arguments."""
    if not isinstance(value, list | tuple):
        return lengths(value)
    return [
        {
            "procedure": lengths(each.get("procedure")) if not _is_short(each) else each["procedure"],
            "arguments": lengths(each.get("arguments")),
        }
        if isinstance(each, Mapping)
        else lengths(each)
        for each in value[:MOST_CALLS]
    ]


def _is_short(call: Mapping[str, object]) -> bool:
    procedure = call.get("procedure")
    return isinstance(procedure, str) and len(procedure) <= LONGEST_PROCEDURE and is_unicode(procedure)
