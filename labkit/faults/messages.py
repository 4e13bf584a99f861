"""Faults of single messages of websockets, in either direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from multidict import CIMultiDict

from labkit.faults.fault import ActiveFault
from labkit.faults.message import FieldMessage
from labkit.faults.tools import FaultTools

Direction = Literal["received", "sent"]


@dataclass(slots=True)
class Passage:
    """Fate of a message. times: it arrives so often; cut: when the connection ends at it, for this reason."""

    times: int = 1
    cut: Literal["before", "inside", "after"] | None = None
    reason: str = ""


class MessageFaults:
    """The active faults of messages, oldest first."""

    def __init__(self, faults: tuple[ActiveFault, ...], tools: FaultTools) -> None:
        self._faults = faults
        self._tools = tools

    async def apply(
        self, direction: Direction, path: str, solution: str, message: str | bytes, cause: int
    ) -> Passage:
        """Delay a message as the faults say, and return how it passes.

        direction: as the platform sees it; path: decoded, of the websocket; cause: record that led to the message.
        """
        passage = Passage()
        given = FieldMessage(CIMultiDict(), message if isinstance(message, str) else None)
        for fault in self._faults:
            if not fault.is_at(direction, path) or not fault.is_for(solution=solution):
                continue
            if not fault.if_given.are_met(given.values) or not self._tools.hits(fault, solution, cause):
                continue
            await self._tools.delay(fault, solution, cause)
            settings = fault.settings
            if settings.cut is not None and passage.cut is None:
                passage.cut, passage.reason = settings.cut, fault.cut_reason
            if settings.lost or settings.cut == "before":
                passage.times = 0
                break
            passage.times += settings.doubled
        return passage
