"""State of a request that a provider is handling, with its entry in the inbox."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from urllib.parse import unquote

from labkit.context import Context
from labkit.core.bounded import cut_text
from labkit.core.redaction import without_issued_in_path
from labkit.faults import FaultAnswer
from labkit.http.connection import Connection
from labkit.http.error import ConnectionCut
from labkit.http.request import SiteRequest
from labkit.http.sites import Site, SiteExchange
from labkit.providers.inbox import Inbox, ReceivedRequest

LONGEST_PATH = 1024  # characters of a path that the inbox keeps


@dataclass
class Receipt(SiteExchange):
    """State of a request to a provider. arrival: its entry in the inbox."""

    arrival: ReceivedRequest

    @property
    def raw_path(self) -> str:
        """The path as the client sent it, or as a fault changed it."""
        return self.request.rel_url.raw_path

    async def acts_as(self, identity: str | None = None) -> None:
        try:
            await super().acts_as(identity)
        except FaultAnswer as fault:
            self.arrival.answer = str(fault)
            raise

    def end(self) -> None:
        """Complete the request's entry in the inbox and its record in the journal."""
        record, arrival = self.identify(), self.arrival
        arrival.status = record.status
        detail: dict[str, object] = {"parameters": dict(arrival.parameters), "answer": arrival.answer}
        record.detail = detail | ({"fault": arrival.fault} if arrival.fault else {})
        super().end()


def receive(
    context: Context,
    site: Site[Receipt],
    connection: Connection,
    request: SiteRequest,
    inbox: Inbox,
    actor: str,
    cause: int | None = None,
) -> Receipt:
    """Enter a request into a provider's inbox and the journal.

    actor: the journal's name of the sender; cause: sequence of the journal's record that led to the request.
    """
    url = request.rel_url
    summary = f"{request.method} {without_issued_in_path(url.raw_path)}"
    return Receipt(
        context,
        site,
        connection,
        request,
        unquote(url.raw_path),
        url.raw_query_string,
        inbox.receive(
            ReceivedRequest(context.clock.now(), request.method, cut_text(url.raw_path, LONGEST_PATH), {})
        ),
        record=context.journal.open("request", actor, summary, cause=cause),
    )


async def unanswered(fault: str, patience: float) -> None:
    """Apply the fault `slow` or `down`: raise ConnectionCut, for `slow` after a delay. Other faults have no effect.

    patience: real seconds after which a caller gives up; the delay is twice as long.
    """
    if fault == "slow":
        await asyncio.sleep(2 * patience)
    if fault in ("slow", "down"):
        raise ConnectionCut(fault)
