"""Where a fault hits, as text: `POST /onep:v1/stack/alias`, `User.listUsers`, `device datapoint`, `GET https://…`.

A `*` stands for any characters, none too, in each name. The text alone tells which of the five kinds it is:

    request    <method> <path>             a request to a site of the lab; with `?` in the path its query counts too
    outgoing   [<method>] <http or https URL>   a request of the platform itself; a host alone means all its paths
    call       <service>.<operation>       a call of a service operation, by whomever
    event      <service> <event>           an event on its way to its handlers
    provider   provider <name> [<step>]    a named fault of a provider, at a step of it
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["request", "call", "event", "outgoing", "provider"]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*")
LONGEST = 512  # characters of a place
EXPECTED = (
    "expected a request (POST /path), a service operation (User.listUsers, Keystore.*), an event (device datapoint), "
    "an outgoing request (https://example.com/path) or a provider's step (provider google token)"
)

_URL = re.compile(r"(?:https?|\*)://[^\s/?#]+(?:[/?]\S*)?")
_OPERATION = re.compile(r"([A-Za-z*][\w*]*)\.([\w*]+)", re.ASCII)
_EVENT = re.compile(r"(\S+) (\S+)")
_PROVIDER = re.compile(r"provider ([a-z0-9-]+)(?: ([a-z_]+))?")


class Place(NamedTuple):
    """first, second: method and path, method and URL, service and operation, service and event, provider and step."""

    kind: Kind
    first: str
    second: str


def place_of(text: str) -> Place:
    """The place that a text names. Raises ValueError with what was expected."""
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters")
    if match := _PROVIDER.fullmatch(text):
        return Place("provider", match[1], match[2] or "")
    method, space, target = text.partition(" ")
    if not space and _URL.fullmatch(text):
        method, target = "*", text
    if _URL.fullmatch(target):
        return Place("outgoing", _method(method), _with_path(target))
    if target.startswith("/"):
        return Place("request", _method(method), target)
    if match := _OPERATION.fullmatch(text):
        return Place("call", match[1], match[2])
    if match := _EVENT.fullmatch(text):
        return Place("event", match[1].lower(), match[2].lower())
    raise ValueError(f"{EXPECTED}; not {text!r}")


def _method(text: str) -> str:
    if text.upper() not in METHODS:
        raise ValueError(f"expected a method (one of {', '.join(METHODS)}), not {text!r}")
    return text.upper()


def _with_path(url: str) -> str:
    """A URL pattern that names a path: any, where it names a host alone."""
    return url if re.search(r"[/?]", url.partition("://")[2]) else f"{url}/*"
