"""Faults of the requests that the platform itself sends."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import urlsplit

from multidict import CIMultiDict

from labkit.faults.fault import ActiveFault
from labkit.faults.message import FieldMessage
from labkit.faults.tools import FaultTools
from labkit.http.outbound import cause_of

Answer = tuple[int, str]
Send = Callable[[str, str, Mapping[str, str], "str | None"], Awaitable[Answer]]  # method, URL, headers, body


class OutgoingFaults:
    """The active faults of outgoing requests, oldest first."""

    def __init__(self, faults: tuple[ActiveFault, ...], tools: FaultTools) -> None:
        self._faults = faults
        self._tools = tools

    async def around(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None, send: Send
    ) -> Answer:
        """Return status and text of the answer, from `send` or from a fault. Raises OSError without an answer."""
        parts = urlsplit(url)
        actor = f"outgoing/{parts.hostname}"
        host = parts.hostname or ""
        portless = parts._replace(netloc=host).geturl()
        cause = cause_of(headers)
        asked = FieldMessage(CIMultiDict(headers), body, parts.path, parts.query)
        here = [
            each
            for each in self._faults
            if _concerns(each, method, url, portless) and each.if_given.are_met(asked.values)
        ]
        for fault in here:
            if fault.changes_given:
                changed = asked.copy()
                if changed.apply(fault.changes) and self._tools.hits(fault, actor, cause):
                    asked = changed
            elif fault.phase == "before" and self._tools.hits(fault, actor, cause):
                await self._tools.delay(fault, actor, cause)
                await self._end(fault, f"{portless.partition('?')[0]} cannot be reached")
                if fault.settings.status is not None or fault.settings.body is not None:
                    return _answer(fault, 200, "")
        if (asked.path, asked.query) != (parts.path, parts.query):
            url = parts._replace(path=asked.path, query=asked.query).geturl()
        answer = await send(method, url, dict(asked.headers), asked.text)
        for fault in here:
            if fault.phase == "after" and (changed_text := _changed(fault, answer)) is not None:
                if not self._tools.hits(fault, actor, cause):
                    continue
                await self._tools.delay(fault, actor, cause)
                await self._end(fault, f"{portless.partition('?')[0]} gave no answer")
                answer = _answer(fault, answer[0], changed_text)
        return answer

    async def _end(self, fault: ActiveFault, text: str) -> None:
        """Restart the platform if the fault does, and raise OSError, beginning with `text`, if it ends the request."""
        if fault.settings.restart:
            await self._tools.restart(fault)
        if fault.settings.restart or fault.settings.cut is not None:
            raise OSError(f"{text}: {fault.reason}")


def _changed(fault: ActiveFault, answer: Answer) -> str | None:
    """Return the answer's text as a fault changes it; None where the fault does not hit it."""
    status, text = answer
    message = FieldMessage(CIMultiDict(), text)
    if fault.settings.if_status not in (None, status) or not fault.if_answer.are_met(message.values):
        return None
    if fault.changes and not message.apply(fault.changes):
        return None
    return message.text


def _concerns(fault: ActiveFault, method: str, url: str, portless: str) -> bool:
    """Return whether a fault applies. A pattern without a query matches every query; the port is optional."""
    if "?" not in fault.place.second:
        url, portless = url.partition("?")[0], portless.partition("?")[0]
    if not portless.partition("://")[2].partition("/")[1]:
        url, portless = f"{url}/", f"{portless}/"
    return fault.is_at(method, url, portless)


def _answer(fault: ActiveFault, status: int, text: str) -> Answer:
    body = fault.settings.body
    if body is not None:
        text = body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
    return fault.settings.status or status, text
