"""Client of the guide solution for checks: its endpoints, and the mails that it sends.

It is the solution that the notebooks show, with one more route through which checks call operations in it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.probe import decoded
from labkit.conformance.target import Target
from labkit.conformance.users import User
from labkit.conformance.verdict import Mismatch

if TYPE_CHECKING:
    import httpx

    from labkit.control.messaging import Mail

GUIDE = "guide"


class Guide(User):
    """The endpoints of the guide solution, and the User service as it sees it."""

    def __init__(self, target: Target) -> None:
        super().__init__(target, GUIDE)

    async def get(self, path: str, sid: str = "", **cookies: str) -> httpx.Response:
        """Request a path as a browser that sends exactly these cookies, and none that earlier answers set."""
        return await self.request("GET", path, headers={"Cookie": _cookies(sid, cookies)})

    async def post(self, path: str, sid: str = "", **fields: object) -> httpx.Response:
        """POST an object as JSON."""
        return await self.request("POST", path, headers={"Cookie": _cookies(sid, {})}, json=fields)

    def url(self, path: str) -> str:
        """Return the URL of a path of the solution."""
        return self._target.url(GUIDE, path)

    def message(self, response: httpx.Response) -> str:
        """Return the `message` of an answer's JSON. Raises Mismatch if there is none."""
        found = decoded(response)
        message = found.get("message") if isinstance(found, dict) else None
        if not isinstance(message, str) or not message:
            raise Mismatch("body", "a message", expect.hidden(found), expect.exchange(response))
        return message

    def cookie(self, response: httpx.Response, name: str) -> tuple[str, dict[str, str]]:
        """Return the value of the only cookie that an answer sets, and its attributes by lower-case name. Raises
        Mismatch.
        """
        headers = response.headers.get_list("Set-Cookie")
        found = [each for each in headers if each.startswith(f"{name}=")]
        if len(headers) != 1 or not found:
            raise Mismatch("cookies", f"{name} alone", len(headers), expect.exchange(response))
        pair, *attributes = re.split(r"\s*;\s*", found[0])
        parts = (each.partition("=") for each in attributes)
        return pair.partition("=")[2], {key.lower(): value for key, _, value in parts}

    async def keys(self, *, containing: str) -> list[str]:
        """Return the keys of the solution's Keystore that contain a text."""
        found: list[str] = []
        cursor: object = 0
        while True:
            _, page = await self.call("Keystore", "list", {"match": containing, "cursor": cursor})
            found += page["keys"]
            cursor = page.get("cursor")
            if not cursor:
                return found

    def mails(self, email: str) -> list[Mail]:
        """Return the mails to an address (a target with a mailbox only)."""
        return self._target.lab.mailbox.find(to=email)

    def link(self, email: str) -> str:
        """Return the only link of the newest mail to an address (a target with a mailbox only). Raises Mismatch."""
        links = [mail.links for mail in self.mails(email)][-1:]
        if len(links) != 1 or len(links[0]) != 1:
            raise Mismatch(f"mail to {email}", "one with a link", links, expect.exchange(self.last))
        return links[0][0]


def _cookies(sid: str, others: dict[str, Any]) -> str:
    given = {**({"sid": sid} if sid else {}), **others}
    return "; ".join(f"{name}={value}" for name, value in given.items())
