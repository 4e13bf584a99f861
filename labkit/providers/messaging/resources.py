"""Operations of the messaging REST API on the services, bindings and notifications of an account."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from labkit.context import Context
from labkit.providers.messaging import bindings, notification
from labkit.providers.messaging.accounts import PUSH, NotifyService, ProviderAccount
from labkit.providers.messaging.bindings import TYPES, Binding, Selection
from labkit.providers.messaging.courier import Courier, Sending
from labkit.providers.messaging.errors import ApiError, wrong
from labkit.providers.messaging.forms import NAME, FormParameters, iso
from labkit.providers.messaging.notification import E164
from labkit.providers.messaging.payloads import compose

PROTOCOL = "3"  # the version of the push channels' data format (document 3, Versioning)
LISTED = 100  # identities of a filter; the document sets no limit
PAGE, LARGEST_PAGE = 50, 1000  # bindings on a page
LAST_PAGE = 999_999
DAY = 86_400  # seconds
LONGEST_ADDRESS = 2048  # characters
NO_NUMBER = 21211
BINDING = frozenset(
    "Identity Endpoint BindingType Address Tag CredentialSid NotificationProtocolVersion".split()
)
FILTER = frozenset("Identity Tag StartDate EndDate PageSize Page PageToken".split())

_ADDRESS = re.compile(r"[^\s\x00-\x1f\x7f]+")
_CREDENTIAL = re.compile(r"CR[0-9a-fA-F]{32}")
_PROTOCOL = re.compile(r"[0-9A-Za-z.]{1,10}")
_PAGE_TOKEN = re.compile(r"(P[AB])([0-9]{1,18})")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AccountRequest:
    """Authenticated request. parameters: of form or query; cause: sequence of the journal's record of the request."""

    account: ProviderAccount
    parameters: FormParameters
    cause: int


class Resources:
    """Operations on the resources. Every operation returns status and body of its answer, or raises ApiError."""

    def __init__(self, context: Context, courier: Courier, url: Callable[[str], str]) -> None:
        """url: returns the URL of a path at the provider."""
        self._context = context
        self._courier = courier
        self._url = url

    # ---- services

    async def list_services(self, request: AccountRequest) -> tuple[int, Json]:
        """Return the services of the account."""
        found = [self._service(each) for each in request.account.services.values()]
        url = self._url("/v1/Services")
        meta = {
            "key": "services",
            "page": 0,
            "page_size": PAGE,
            "url": url,
            "first_page_url": url,
            "next_page_url": None,
            "previous_page_url": None,
        }
        return 200, {"meta": meta, "services": found}

    async def fetch_service(self, request: AccountRequest, service: str) -> tuple[int, Json]:
        """Return a service."""
        return 200, self._service(request.account.service(service))

    def _service(self, service: NotifyService) -> Json:
        url = self._url(f"/v1/Services/{service.sid}")
        return {
            "sid": service.sid,
            "account_sid": service.account,
            "friendly_name": "Notify service",
            "date_created": None,
            "date_updated": None,
            "messaging_service_sid": service.messaging_service,
            **{f"{each}_credential_sid": service.credentials.get(each) for each in PUSH},
            **{f"default_{each}_notification_protocol_version": PROTOCOL for each in PUSH},
            "log_enabled": True,
            "url": url,
            "links": {"bindings": f"{url}/Bindings", "notifications": f"{url}/Notifications"},
        }

    # ---- bindings

    async def create_binding(self, request: AccountRequest, service: str) -> tuple[int, Json]:
        """Create a binding, or replace the one of the same endpoint, and return it."""
        made = self._new(request.account.service(service), request.parameters)
        await self._context.database.run(bindings.create, made)
        return 201, self._binding(made)

    def _new(self, service: NotifyService, form: FormParameters) -> Binding:
        identity = form.required("Identity", NAME)
        type = form.one_of("BindingType", TYPES)
        if type is None:
            raise wrong("BindingType", "is required")
        address = form.required("Address", LONGEST_ADDRESS)
        if not _ADDRESS.fullmatch(address):
            raise wrong("Address", "expected no spaces")
        if (type == "sms" or (type == "chat-messenger" and address[0] == "+")) and not E164.fullmatch(
            address
        ):
            raise ApiError(400, "Address: expected a phone number in E.164 format: +15550001", NO_NUMBER)
        credential = protocol = None
        if type in PUSH:
            credential = _matching(form, "CredentialSid", _CREDENTIAL, "expected CR and 32 hex digits")
            credential = credential or service.credentials.get(type)
            protocol = _matching(form, "NotificationProtocolVersion", _PROTOCOL, "expected a version")
        tags = form.several("Tag")
        endpoint = form.text("Endpoint", NAME)
        sid = "BS" + self._context.identifiers.hex(f"messaging/{service.sid}", 32)
        return Binding(
            sid=sid,
            account=service.account,
            service=service.sid,
            identity=identity,
            endpoint=endpoint or sid,
            type=type,
            address=address,
            credential=credential,
            protocol=(protocol or PROTOCOL) if type in PUSH else None,
            tags=tuple(each for each in tags if each not in bindings.IMPLICIT),
            created=self._context.clock.seconds(),
        )

    async def fetch_binding(self, request: AccountRequest, service: str, sid: str) -> tuple[int, Json]:
        """Return a binding."""
        owner = request.account.service(service)
        found = await self._context.database.read(bindings.fetch, owner.sid, sid)
        if found is None:
            raise ApiError(404, f"there is no binding {sid[:40]!r} in this service")
        return 200, self._binding(found)

    async def delete_binding(self, request: AccountRequest, service: str, sid: str) -> tuple[int, Json]:
        """Delete a binding."""
        owner = request.account.service(service)
        if not await self._context.database.run(bindings.delete, owner.sid, sid):
            raise ApiError(404, f"there is no binding {sid[:40]!r} in this service")
        return 204, {}

    async def list_bindings(self, request: AccountRequest, service: str) -> tuple[int, Json]:
        """Return a page of the bindings that match the filter, newest first."""
        owner, form = request.account.service(service), request.parameters
        until = form.day("EndDate")
        wanted = Selection(
            form.several("Identity", most=LISTED),
            form.several("Tag"),
            form.day("StartDate"),
            None if until is None else until + DAY,
        )
        size = form.number("PageSize", PAGE, 1, LARGEST_PAGE)
        number = form.number("Page", 0, 0, LAST_PAGE)
        older, newer = bounds_of(form)
        skipped = number * size if older is None and newer is None else 0
        found, more = await self._context.database.read(
            bindings.page, owner.sid, wanted, size, skipped=skipped, older=older, newer=newer
        )
        names = ("Identity", "Tag", "StartDate", "EndDate")
        pairs = [(name, value) for name in names for value in form.values(name)]

        def at(page: int, token: str = "") -> str:
            last = [("PageSize", str(size)), ("Page", str(page)), *([("PageToken", token)] if token else [])]
            return self._url(f"/v1/Services/{owner.sid}/Bindings?{urlencode([*pairs, *last])}")

        before = f"PB{found[0].position}" if found else ""
        meta = {
            "key": "bindings",
            "page": number,
            "page_size": size,
            "url": at(number, form.text("PageToken") or ""),
            "first_page_url": at(0),
            "next_page_url": at(number + 1, f"PA{found[-1].position}") if more else None,
            "previous_page_url": at(number - 1, before) if number else None,
        }
        return 200, {"meta": meta, "bindings": [self._binding(each) for each in found]}

    def _binding(self, binding: Binding) -> Json:
        service = self._url(f"/v1/Services/{binding.service}")
        return {
            "sid": binding.sid,
            "account_sid": binding.account,
            "service_sid": binding.service,
            "credential_sid": binding.credential,
            "date_created": iso(binding.created),
            "date_updated": iso(binding.created),
            "notification_protocol_version": binding.protocol,
            "endpoint": binding.endpoint,
            "identity": binding.identity,
            "binding_type": binding.type,
            "address": binding.address,
            "tags": list(binding.tags),
            "url": f"{service}/Bindings/{binding.sid}",
            "links": {"user": f"{service}/Users/{quote(binding.identity, safe='')}"},
        }

    # ---- notifications

    async def create_notification(self, request: AccountRequest, service: str) -> tuple[int, Json]:
        """Queue the deliveries of a notification to all matching bindings, and return it."""
        owner = request.account.service(service)
        sent = notification.read(request.parameters)
        targets = await self._context.database.read(bindings.select, owner.sid, sent.selection)
        now = self._context.clock.now()
        channels = dict.fromkeys(each.type for each in targets)
        payloads = {each: compose(each, sent, owner.messaging_service, int(now)) for each in channels}
        sid = "NT" + self._context.identifiers.hex(f"messaging/{owner.sid}", 32)
        await self._courier.send(
            Sending(sid, owner.account, owner.sid, now, targets, payloads, request.cause)
        )
        return 201, {
            "sid": sid,
            "account_sid": owner.account,
            "service_sid": owner.sid,
            "date_created": iso(int(now)),
            "identities": list(sent.selection.identities),
            "tags": list(sent.selection.tags),
            "segments": [],
            "priority": sent.priority,
            "ttl": sent.ttl,
            "title": sent.title,
            "body": sent.body,
            "sound": sent.sound,
            "action": sent.action,
            "data": sent.data,
            "apn": sent.apn,
            "fcm": sent.fcm,
            "gcm": sent.gcm,
            "sms": sent.sms,
            "chat_messenger": sent.chat,
        }


def _matching(form: FormParameters, name: str, pattern: re.Pattern[str], expected: str) -> str | None:
    found = form.text(name)
    if found is not None and not pattern.fullmatch(found):
        raise wrong(name, expected)
    return found


def bounds_of(form: FormParameters) -> tuple[int | None, int | None]:
    """Return the positions of the bindings directly before and after a page, from its PageToken.

    One or both are None. Raises ApiError 400 for a malformed token.
    """
    token = form.text("PageToken")
    if token is None:
        return None, None
    match = _PAGE_TOKEN.fullmatch(token)
    if match is None:
        raise wrong("PageToken", "expected a token from a page")
    position = int(match[2])
    return (position, None) if match[1] == "PA" else (None, position)


def parameters_of(resource: str) -> frozenset[str]:
    """Return the parameter names that a resource accepts; the inbox stores no others."""
    known: Mapping[str, frozenset[str]] = {
        "Bindings": BINDING | FILTER,
        "Notifications": notification.PARAMETERS,
    }
    return known.get(resource, frozenset())
