"""One request on its way through the device API, and how it is refused."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable
from dataclasses import dataclass

from aiohttp import web

from labkit.context import Context
from labkit.core.journal import Record
from labkit.device_api import forms
from labkit.devices.products import Product
from labkit.devices.registry import Hold
from labkit.faults import Asked, Given, Message
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.error import HttpError

BODY_LIMIT = 64 * 1024
FORM = "application/x-www-form-urlencoded"
CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)"?', re.IGNORECASE)


@dataclass(slots=True)
class Exchange:
    """A request to a product, read piece by piece as an endpoint needs it."""

    context: Context
    product: Product
    connection: Connection
    request: web.BaseRequest
    path: str
    raw_query: str
    record: Record | None = None
    hold: Hold | None = None  # once the device is known: it tells when what it showed is no longer valid
    given: Message | None = None  # what was asked, where faults looked at it
    asked: Asked | None = None  # what faults know of it, once one has looked

    def identify(self, identity: str | None = None) -> Record:
        """The journal's record of this request, under the device's name once that is known."""
        if self.record is None:
            actor = self.product.id if identity is None else f"{self.product.id}/{identity}"
            self.record = self.context.journal.open("request", actor, f"{self.request.method} {self.path}")
        return self.record

    async def be_changed(self) -> None:
        """Called first, where there are faults of requests: some change what is asked. Raises HttpError as `body`."""
        if (faults := self.context.faults.requests) is None:
            return
        guard = self.context.settings.guard.body
        product = self.product
        given = await faults.given(
            Given(
                self.request, self.path, self.raw_query, product.domain, BODY_LIMIT, guard, product=product.id
            ),
            product.id,
        )
        self.request, self.path, self.raw_query = given.request, given.path, given.query
        self.given = given.message

    async def meet_faults(self, identity: str | None) -> None:
        """Called before the work, where there are faults of requests. identity: of the device, once it is known.

        Raises FaultAnswer, HttpError or ConnectionCut where one comes instead of the work.
        """
        faults = self.context.faults.requests
        if faults is not None and self.asked is None:
            await faults.before(self.request_for_faults(identity))

    def request_for_faults(self, identity: str | None = None) -> Asked:
        """What faults may know of the request."""
        if self.asked is None:
            record = self.identify(identity)
            self.asked = Asked(
                self.request.method,
                self.path,
                self.raw_query,
                self.product.domain,
                record.actor,
                record.sequence,
                self.connection,
                product=self.product.id,
                identity=identity,
                given=self.given,
            )
        return self.asked

    def add_detail(self, **detail: object) -> None:
        """Add to the detail of the journal's record."""
        record = self.identify()
        record.detail = {**(record.detail or {}), **detail}

    def add_not_stored(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Have the journal name the values of a request that are not stored, and aliases that the product lacks."""
        dropped = list(pairs)
        if not dropped:
            return
        self.add_detail(not_stored=dropped)
        resources = self.product.settings.resources
        if unknown := [alias for alias in dict(dropped) if alias not in resources]:
            self.add_detail(unknown_aliases=unknown)

    def query(self) -> list[tuple[str, str | None]]:
        """Return the pairs of the query. Raises HttpError 400."""
        if not self.raw_query:
            return []
        if not self.raw_query.isascii() and forms.SURROGATE.search(self.raw_query):
            raise HttpError(400, "query: not valid UTF-8")
        try:
            return forms.parse(self.raw_query)
        except ValueError as error:
            raise HttpError(400, f"query: {error}") from None

    async def form(self) -> list[tuple[str, str]]:
        """Return the pairs of the form body. Raises HttpError 400, 408, 413 or 415."""
        self.expect_type(FORM)
        try:
            return forms.parse_body(await self.body())
        except ValueError as error:
            raise HttpError(400, f"body: {error}") from None

    def expect_type(self, expected: str) -> None:
        """Raise HttpError 415 unless the body is declared as `expected`, in UTF-8, or not at all."""
        declared = self.request.headers.get("Content-Type")
        if declared is None or declared in (expected, f"{expected}; charset=utf-8"):  # as nearly always
            return
        if declared.split(";", 1)[0].strip().lower() != expected:
            raise HttpError(415, f"Content-Type: expected {expected}")
        charset = CHARSET.search(declared)
        if charset is not None and charset.group(1).lower() not in ("utf-8", "utf8"):
            raise HttpError(415, "Content-Type: expected charset=utf-8")

    def body(self) -> Awaitable[bytes]:
        """Return the body. Raises HttpError 413 beyond 64 KiB, 408 when it does not arrive, 400 when it breaks off."""
        return read_body(self.request, BODY_LIMIT, self.context.settings.guard.body)
