"""Faults of the requests that the platform itself makes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from labkit.faults.fault import Fault
from labkit.faults.tools import Tools
from labkit.http.cause import cause_of

Answer = tuple[int, str]


class Outgoing:
    """The faults of outgoing requests that a lab has, oldest first."""

    def __init__(self, faults: tuple[Fault, ...], tools: Tools) -> None:
        self._faults = faults
        self._tools = tools

    async def around(
        self, method: str, url: str, headers: Mapping[str, str], send: Callable[[], Awaitable[Answer]]
    ) -> Answer:
        """Status and text of the answer, from `send` or from a fault. Raises OSError where there is none."""
        parts = urlsplit(url)
        actor = f"outgoing/{parts.hostname}"
        host = parts.hostname or ""
        portless = parts._replace(netloc=host).geturl()
        cause = cause_of(headers)
        here = [each for each in self._faults if _concerns(each, method, url, portless)]
        for fault in here:
            if fault.phase == "before" and self._tools.hits(fault, actor, cause):
                await self._tools.hold(fault, actor)
                if fault.settings.cut is not None:
                    raise OSError(f"{portless.partition('?')[0]} cannot be reached: {fault.reason}")
                if fault.settings.status is not None or fault.settings.body is not None:
                    return _answer(fault, 200, "")
        status, text = await send()
        for fault in here:
            if fault.phase == "before" or fault.settings.if_status not in (None, status):
                continue
            changed, found = _with_fields(fault, text)
            if not found or not self._tools.hits(fault, actor, cause):
                continue
            await self._tools.hold(fault, actor)
            if fault.settings.cut is not None:
                raise OSError(f"{portless.partition('?')[0]} gave no answer: {fault.reason}")
            status, text = _answer(fault, status, changed)
        return status, text


def _concerns(fault: Fault, method: str, url: str, portless: str) -> bool:
    """A pattern without a query is for every query; the port may be left out."""
    if "?" not in fault.place.second:
        url, portless = url.partition("?")[0], portless.partition("?")[0]
    if not portless.partition("://")[2].partition("/")[1]:
        url, portless = f"{url}/", f"{portless}/"
    return fault.is_at(method, url, portless)


def _answer(fault: Fault, status: int, text: str) -> Answer:
    body = fault.settings.body
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return fault.settings.status or status, text


def _with_fields(fault: Fault, text: str) -> tuple[str, bool]:
    """An answer with its fields changed: JSON, or else a form. True where there is nothing to change or it was done."""
    if not fault.changes:
        return text, True
    changed, found = fault.changes.apply_to_json(text)
    return (changed, found) if found or text.lstrip()[:1] in ("{", "[") else fault.changes.apply_to_form(text)
