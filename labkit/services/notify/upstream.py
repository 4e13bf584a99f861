"""Client of the messaging provider's REST API; converts its responses and errors for scripts."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any, Literal
from urllib.parse import urlencode

from labkit.context import Outbound
from labkit.core.errors import ServiceError
from labkit.core.redaction import HIDDEN

FORM = "application/x-www-form-urlencoded"
LONGEST_QUERY = 6000  # bytes; the request line has at most 8190 here, and seldom more at other servers
LONGEST_REASON = 1000  # characters
NOT_FOUND = 20404  # the provider's own code
DATES = ("date_created", "date_updated")

_SID = re.compile(r"[A-Za-z0-9]{1,64}")

Fields = Mapping[str, object]
Table = dict[str, Any]


class Refusal(ServiceError):
    """An error response of the provider. The text of the error object is JSON: {code, message, more_info, status}."""

    def __init__(self, status: int, code: object, message: str, more_info: object = None) -> None:
        shown = {"code": code, "message": message, "more_info": more_info, "status": status}
        super().__init__(status, json.dumps(shown))


@dataclass(frozen=True, slots=True)
class Upstream:
    """The notify services of an account at the provider.

    base: the URL prefix of all paths; account, token: login and password of HTTP Basic; headers: of every request.
    """

    outbound: Outbound
    base: str
    account: str
    token: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict)

    async def request(
        self, method: Literal["GET", "POST", "DELETE"], service: str, path: tuple[str, ...], fields: Fields
    ) -> Table:
        """Send a request and return the response's object, {} if it is empty.

        path: relative to the service's URL; fields: of the form or query, those of None are omitted. Raises
        ServiceError: the provider's own status and message if it refuses, 404 for a malformed sid, 400 for a filter too
        long for a URL, 502 without a connection or for a response that violates the API, 504 after a timeout.
        """
        for sid in (service, *path[1:]):
            if not _SID.fullmatch(sid):  # another text could change the URL's path
                raise Refusal(404, NOT_FOUND, "There is no such resource: a sid has letters and digits.")
        form = urlencode({name: each for name, each in fields.items() if each is not None}, doseq=True)
        url = "/".join([f"{self.base}/v1/Services", service, *path])
        if method == "GET" and form:
            if len(form) > LONGEST_QUERY:
                raise ServiceError(
                    400,
                    f"Identity and Tag have {len(form)} bytes in a URL, which has space for {LONGEST_QUERY}.",
                )
            url, form = f"{url}?{form}", ""
        login = b64encode(f"{self.account}:{self.token}".encode()).decode()
        headers = {**self.headers, "Authorization": f"Basic {login}", "Accept": "application/json"}
        if method == "POST":
            headers["Content-Type"] = FORM
        try:
            status, text = await self.outbound.request(
                method, url, headers, form if method == "POST" else None
            )
        except TimeoutError:
            raise ServiceError(504, "Notify's provider did not answer in time.") from None
        except OSError:  # its text would reveal the provider's address
            raise ServiceError(502, "Notify's provider cannot be reached.") from None
        answer = _object(text)
        if status >= 400 and answer is not None:
            raise self._refusal(status, answer)
        if status == 204:
            return {}
        if answer is None or not 200 <= status <= 299:
            raise ServiceError(502, f"Notify's provider answered {status}, and not as its API does.")
        return answer

    def _refusal(self, status: int, answer: Table) -> Refusal:
        message, more = (str(answer.get(name) or "")[:LONGEST_REASON] for name in ("message", "more_info"))
        code = answer.get("code")
        return Refusal(
            status,
            code if isinstance(code, int) else None,
            message.replace(self.token, HIDDEN),
            more.replace(self.token, HIDDEN) or None,
        )


def _object(text: str) -> Table | None:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def binding(given: Table) -> Table:
    """Return a binding as scripts see it: unchanged, with dates as in RFC 2822 (document 3, Notify binding)."""
    return {name: rfc2822(each) if name in DATES else each for name, each in given.items()}


def notification(given: Table) -> Table:
    """Return a notification as scripts see it: with its date as in RFC 2822, and ttl as text (document 3)."""
    shown = binding(given)
    return shown if shown.get("ttl") is None else {**shown, "ttl": str(shown["ttl"])}


def rfc2822(date: object) -> object:
    """Return an ISO 8601 date as in RFC 2822, in UTC; another value unchanged."""
    try:
        found = datetime.fromisoformat(str(date))
        return format_datetime(
            found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC).replace(microsecond=0)
        )
    except (ValueError, OverflowError):
        return date
