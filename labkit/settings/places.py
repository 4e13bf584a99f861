"""Places that a fault can hit, as text: `POST /onep:v1/stack/alias`, `User.listUsers`, `device datapoint`.

In each name, `*` matches any number of characters. The form of the text decides which of six kinds a place is:

    request    <method> <path>             a request to a site of the lab; with `?` in the path its query counts too;
                                           the method of the request that opens a websocket is WEBSOCKET
    message    WEBSOCKET <path> received|sent|*   a message of an open websocket, as the platform sees it
    outgoing   [<method>] <http or https URL>   a request that the platform sends; a URL without a path means all paths
    call       <service>.<operation>       a call of a service operation, by any caller
    event      <service> <event>           an event on its way to its handlers
    provider   provider <name> [<step>]    a step of a provider, which meets one of the provider's named faults
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

Kind = Literal["request", "call", "event", "outgoing", "provider", "message"]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "WEBSOCKET", "*")
MAX_LENGTH = 512  # characters of a place
EXPECTED = (
    "expected a request (POST /path), a service operation (User.listUsers, Keystore.*), an event (device datapoint), "
    "an outgoing request (https://example.com/path), a provider's step (provider google token) or the messages of "
    "websockets (WEBSOCKET /path sent)"
)

_URL = re.compile(r"(?:https?|\*)://[^\s/?#]+(?:[/?]\S*)?")
_OPERATION = re.compile(r"([A-Za-z*][\w*]*)\.([\w*]+)", re.ASCII)
_EVENT = re.compile(r"(\S+) (\S+)")
_MESSAGE = re.compile(r"WEBSOCKET (/\S*) (received|sent|\*)", re.IGNORECASE)
_PROVIDER = re.compile(r"provider ([a-z0-9-]+)(?: ([a-z_]+))?")


class Place(NamedTuple):
    """A place that a fault hits.

    first, second: by kind, method and path, method and URL, service and operation, service and event, provider and
    step (empty for any), or direction and path.
    """

    kind: Kind
    first: str
    second: str


def parse_place(text: str) -> Place:
    """Return the place that a text describes. Raises ValueError with the expected forms."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"expected at most {MAX_LENGTH} characters")
    if match := _PROVIDER.fullmatch(text):
        return Place("provider", match[1], match[2] or "")
    if match := _MESSAGE.fullmatch(text):
        return Place("message", match[2].lower(), match[1])
    method, space, target = text.partition(" ")
    if not space and _URL.fullmatch(text):
        method, target = "*", text
    if _URL.fullmatch(target):
        return Place("outgoing", _method(method), _with_path(target))
    if target.startswith("/"):
        return Place("request", _method(method), target)
    if method.upper() in METHODS and method != "*":
        raise ValueError(f"the path of a request begins with /: '{method} /{target}'")
    if not space and text.startswith("/"):
        raise ValueError(f"expected a method before the path: 'POST {text}', or '* {text}' for any")
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
    """Return a URL pattern with a path: `/*` if it has none."""
    return url if re.search(r"[/?]", url.partition("://")[2]) else f"{url}/*"
