"""State of a request to the device API, and the reading of its query and body."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from multidict import CIMultiDict

from labkit.context import Context
from labkit.core.errors import did_you_mean
from labkit.device_api import forms
from labkit.devices.products import PlatformProduct
from labkit.devices.registry import Registry, RequestAuthorization
from labkit.http import codings
from labkit.http.error import HttpError
from labkit.http.sites import LEFT, SiteExchange

LARGEST = 64 * 1024  # bytes of a body, or of a value where bodies may be larger
MOST_PAIRS = 16_384  # of a body that may be larger
REVOKED = "the credentials were replaced, or the device locked or removed, meanwhile"
FORM = "application/x-www-form-urlencoded"
CHARSET = re.compile(r';\s*charset\s*=\s*"?([^";\s]*)"?', re.IGNORECASE)


@dataclass(slots=True)
class Exchange(SiteExchange):
    """Request to a product; its query and body are parsed when an endpoint needs them.

    authorization: set once the device is known; `authorization.revoked` reports that the presented credential is no
    longer valid.
    """

    context: Context
    product: PlatformProduct
    registry: Registry
    authorization: RequestAuthorization | None = None

    @property
    def cancel_reason(self) -> str:
        return REVOKED if self.authorization is not None and self.authorization.revoked else LEFT

    def end(self) -> None:
        self.registry.end_request(self.authorization)
        self.context.journal.end(self.record or self.identify())

    async def forget_credentials(self) -> None:
        """Delete the credentials of the device that sent the request, if it has any."""
        if self.identity is not None and await self.registry.find(self.product.id, self.identity):
            await self.registry.forget_credentials(self.product.id, self.identity)

    def add_not_stored(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Record in the journal the values of a request that are not stored, and the unknown aliases."""
        dropped = list(pairs)
        if not dropped:
            return
        self.add_detail(not_stored=dropped)
        self.add_unknown(dict(dropped))

    def add_unknown(self, aliases: Iterable[str]) -> None:
        """Record in the journal those of the aliases that are no resources of the product."""
        resources = self.product.settings.resources
        if unknown := [alias for alias in aliases if alias not in resources]:
            similar = did_you_mean(unknown[0], resources)
            if not {"{", ":"}.isdisjoint(unknown[0]):
                similar = f"; expected alias=value, as {FORM}"
            kept = "not stored" if self.context.wire.unknown_aliases else "ignored"
            hint = f"{kept}, since the product has no resource {', '.join(map(repr, unknown))}{similar}"
            self.add_detail(unknown_aliases=unknown, hint=hint)

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
        head = self.request.head
        if not head.is_form:
            self.expect_type(FORM)
            head.is_form = True
        wire, body = self.context.wire, self.request.whole
        if body is None or len(body) > self.site.body_limit or wire.content_coding:
            body = await self.body(self.context.settings.guard.body)
        if wire.large_values and body.count(b"&") >= MOST_PAIRS:
            raise HttpError(413, f"the body has more than {MOST_PAIRS} pairs")
        try:
            pairs = forms.parse_body(body)
        except ValueError as error:
            raise HttpError(400, f"body: {error}") from None
        if wire.large_values and len(body) > LARGEST:
            for name, value in pairs:
                if len(value.encode()) > LARGEST:
                    raise HttpError(413, f"the value of {name[:100]!r} is larger than {LARGEST} bytes")
        return pairs

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

    async def body(self, guard: float) -> bytes:
        """Return the body, unpacked. Raises HttpError 413 beyond the limit, 408 when it does not arrive, 400."""
        body = await SiteExchange.body(self, guard)
        if self.context.wire.content_coding and "Content-Encoding" in self.request.headers:
            body = codings.unpack(body, self.site.body_limit)
            headers = CIMultiDict(self.request.headers)
            del headers["Content-Encoding"]
            self.request = self.request.clone(headers=headers)  # whoever reads it again need not unpack it
            self.request.whole = body
        return body
