"""Messaging provider of a lab: the site that authenticates requests and routes them to the REST API's operations."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast

from aiohttp import web

from labkit.context import Context
from labkit.core.bounded import cut
from labkit.core.component import Component
from labkit.faults import ProviderFaults
from labkit.http.bodies import read_body
from labkit.http.connection import Connection
from labkit.http.error import HttpError
from labkit.http.outbound import cause_of
from labkit.http.request import SiteRequest
from labkit.http.sites import Site
from labkit.providers.inbox import Inbox, ReceivedRequest
from labkit.providers.messaging.accounts import REALM, ProviderAccount, ProviderAccounts, of_settings, own
from labkit.providers.messaging.courier import Courier
from labkit.providers.messaging.errors import MEANINGS, ApiError
from labkit.providers.messaging.faults import FAULTS, Step
from labkit.providers.messaging.forms import BODY, FormParameters
from labkit.providers.messaging.handsets import Handsets, HandsetsState
from labkit.providers.messaging.resources import AccountRequest, Resources, parameters_of
from labkit.providers.receipt import Receipt, receive, unanswered

FORM = "application/x-www-form-urlencoded"
LONGEST_KEPT = 1024  # characters of a path or a parameter that the inbox keeps, and a quarter of those of all
STEPS: dict[str, Step] = {"Bindings": "bindings", "Notifications": "notifications"}

_SERVICES = re.compile(
    r"/v1/Services(?:/([A-Za-z0-9]{1,64})(?:/(Bindings|Notifications)(?:/([A-Za-z0-9]{1,64}))?)?)?"
)
_ERROR = re.compile(r"/errors/([0-9]{5})")

Answer = tuple[int, dict[str, Any] | None]  # status and body; no body: truncated JSON is sent


@dataclass(frozen=True, slots=True)
class MessagingState:
    """State of the provider as plain data."""

    inbox: list[ReceivedRequest]
    handsets: HandsetsState


class Messaging(Site[Receipt], Component):
    """Push, SMS and chat messaging for the solutions of a lab and for other clients of the API."""

    name = "messaging"
    body_limit = BODY
    _context: Context

    def __init__(self, context: Context) -> None:
        super().__init__(f"messaging.{context.settings.domain}", "the messaging provider", self.name, context)
        self.inbox = Inbox()
        self.faults: ProviderFaults[Step] = context.faults.provider(self.name, FAULTS)
        self.handsets = Handsets(context.clock, context.journal)
        self.accounts = ProviderAccounts(())
        self._courier = Courier(context, self.handsets, self.faults)
        self._resources = Resources(context, self._courier, self.url)
        context.hosts.add(self)

    state_type = MessagingState

    def snapshot(self) -> MessagingState:
        return MessagingState(list(self.inbox), self.handsets.snapshot())

    async def restore(self, state: MessagingState) -> None:
        self.inbox.restore(state.inbox)
        await self.handsets.restore(state.handsets)
        await self._load_accounts()

    async def start(self) -> None:
        """Load the built-in account and the accounts of the settings; start the courier."""
        await self._load_accounts()
        await self._courier.start()

    async def _load_accounts(self) -> None:
        named = [of_settings(each) for each in self._context.settings.providers.messaging.accounts]
        always = await self._context.database.run(own, self._context.identifiers)
        self.accounts = ProviderAccounts([always, *named])

    async def stop(self) -> None:
        await self._courier.stop()

    async def suspend(self) -> None:
        await self._courier.stop()

    async def resume(self) -> None:
        await self._courier.start()

    async def clear(self) -> None:
        """Remove received requests, faults and deliveries; the reset of the database removes the bindings."""
        self.inbox.clear()
        self.faults.clear()
        await self.handsets.clear()

    @property
    def account(self) -> ProviderAccount:
        """The built-in account."""
        return next(iter(self.accounts))

    def url(self, path: str = "") -> str:
        """Return the URL of a path at the provider."""
        return self._context.url(self.host, path)

    # ---- handling of a request

    def exchange(self, connection: Connection, request: SiteRequest) -> Receipt:
        actor, cause = self.actor, None
        with suppress(ApiError):
            actor = f"{self.actor}/{self._account(request).sid}"
            cause = cause_of(request.headers)
        return receive(self._context, self, connection, request, self.inbox, actor, cause)

    async def answer(self, receipt: Receipt) -> web.Response:
        arrival = receipt.arrival
        if (match := _ERROR.fullmatch(receipt.raw_path)) and int(match[1]) in MEANINGS:
            arrival.answer = "what an error code means"
            return web.Response(text=f"{match[1]}: {MEANINGS[int(match[1])]}\n")
        await receipt.acts_as()
        data = await read_body(receipt.request, BODY, self._context.settings.guard.body)
        status, body = await self._answer(receipt, data)
        if body is None:
            arrival.answer = "malformed JSON"
            return web.Response(text='{"sid": ', status=status, content_type="application/json")
        arrival.answer = str(body.get("sid") or "done")
        if status == 204:
            return web.Response(status=204)
        return web.json_response(body, status=status)

    def refusal(self, receipt: Receipt, error: HttpError) -> web.Response:
        """Return JSON {code, message, more_info, status}."""
        refused = ApiError.of(error)
        receipt.arrival.answer = f"{refused.code}: {refused.reason}"
        body = {
            "code": refused.code,
            "message": refused.reason,
            "more_info": self.url(f"/errors/{refused.code}"),
            "status": refused.status,
        }
        return web.json_response(body, status=refused.status, headers=refused.headers)

    def _account(self, request: web.BaseRequest) -> ProviderAccount:
        """Return the account that a request authenticates as. Raises ApiError."""
        return self.accounts.authenticated(request.headers.get("Authorization", ""))

    async def _answer(self, receipt: Receipt, data: bytes) -> Answer:
        request, arrival, record = receipt.request, receipt.arrival, receipt.identify()
        if not request.secure:
            raise ApiError(403, "this provider speaks HTTPS only")
        match = _SERVICES.fullmatch(receipt.raw_path)
        service, resource, sid = match.groups() if match else (None, None, None)
        steps: tuple[Step, ...] = ("request", STEPS[resource]) if resource else ("request",)
        arrival.fault = self.faults.take(*steps, actor=record.actor, cause=record.sequence) or ""
        await unanswered(arrival.fault, self._context.settings.guard.outbound)
        match arrival.fault:
            case "malformed JSON":
                return 200, None
            case "server error":
                raise ApiError(503, "the service is not available")
            case "rate limited":
                raise ApiError(429, "too many requests", headers={"Retry-After": "1"})
            case "credential rejected":
                raise ApiError(401, "Authenticate", headers=REALM)
        account = self._account(request)
        form = _form(request, data)
        kept = cut(form.shown(parameters_of(resource or "")), LONGEST_KEPT, 4 * LONGEST_KEPT)
        arrival.parameters = cast("dict[str, str]", kept)
        named = [each for each in (service, sid) if each is not None]
        if not match or (resource == "Notifications" and sid):
            raise ApiError(404, "there is no such resource")
        methods = self._methods(service, resource, sid)
        operation = methods.get(request.method)
        if operation is None:
            allow = ", ".join(methods)
            raise ApiError(405, f"expected one of: {allow}", headers={"Allow": allow})
        return await operation(AccountRequest(account, form, record.sequence), *named)

    def _methods(
        self, service: str | None, resource: str | None, sid: str | None
    ) -> dict[str, Callable[..., Awaitable[tuple[int, dict[str, Any]]]]]:
        """Return the operations of a resource by HTTP method."""
        of = self._resources
        if service is None:
            return {"GET": of.list_services}
        if resource is None:
            return {"GET": of.fetch_service}
        if resource == "Notifications":
            return {"POST": of.create_notification}
        if sid is None:
            return {"GET": of.list_bindings, "POST": of.create_binding}
        return {"GET": of.fetch_binding, "DELETE": of.delete_binding}


def _form(request: web.BaseRequest, data: bytes) -> FormParameters:
    """Return the parameters of a request: of the form for POST, else of the query. Raises ApiError 400 or 415."""
    if request.method != "POST":
        return FormParameters(request.rel_url.raw_query_string)
    type = request.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if type != FORM and data:
        raise ApiError(415, f"expected {FORM}")
    try:
        return FormParameters(data.decode())
    except UnicodeDecodeError:
        raise ApiError(400, "the form is not UTF-8") from None
