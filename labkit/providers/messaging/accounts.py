"""Accounts of the messaging provider, their services, and the authentication of requests (RFC 7617)."""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Column, Connection, String, Table

from labkit.core.identifiers import Identifiers
from labkit.providers.messaging.errors import ApiError
from labkit.settings import MessagingAccount
from labkit.storage.database import execute
from labkit.storage.schema import metadata, texts

PUSH = ("apn", "fcm", "gcm")
REALM = {"WWW-Authenticate": 'Basic realm="messaging", charset="UTF-8"'}

# The built-in account: solutions are configured with it, so it outlives a reset and a restart.
own_account = Table(
    "messaging_account",
    metadata,
    Column("sid", String, primary_key=True),
    Column("token", String, nullable=False, info={"secret": True}),
    *texts("service", "messaging_service", *PUSH),
    info={"reset": False},
)


@dataclass(frozen=True, slots=True)
class NotifyService:
    """Notify service. messaging_service: sid of its SMS sender; credentials: push channel → sid of its credential."""

    sid: str
    account: str
    messaging_service: str | None
    credentials: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """Account with its services by sid. token: the password for the REST API."""

    sid: str
    token: str = field(repr=False)
    services: Mapping[str, NotifyService]

    def service(self, sid: str) -> NotifyService:
        """Return the service with this sid. Raises ApiError 404 if this account has none, even if another has."""
        found = self.services.get(sid)
        if found is None:
            raise ApiError(404, f"there is no service {sid[:40]!r} in this account")
        return found


def of_settings(settings: MessagingAccount) -> ProviderAccount:
    """Return the account that an entry of lab.yaml describes."""
    services = {
        each.sid: NotifyService(each.sid, settings.sid, each.messaging_service, each.credentials.model_dump())
        for each in settings.services
    }
    return ProviderAccount(settings.sid, settings.token.get_secret_value(), services)


def own(connection: Connection, identifiers: Identifiers) -> ProviderAccount:
    """Return the built-in account from the database; create it if the database has none."""
    query = f"SELECT sid, token, service, messaging_service, {', '.join(PUSH)} FROM messaging_account"
    found = execute(connection, query).fetchone()
    if found is None:
        prefixes = ("AC", "", "IS", "MG", *("CR" for _ in PUSH))
        found = tuple(prefix + identifiers.hex("messaging", 32) for prefix in prefixes)
        marks = ", ".join("?" * len(found))
        execute(connection, f"INSERT INTO messaging_account VALUES ({marks})", found)
    sid, token, service, messaging_service, *credentials = found
    made = NotifyService(service, sid, messaging_service, dict(zip(PUSH, credentials, strict=True)))
    return ProviderAccount(sid, token, {service: made})


class ProviderAccounts:
    """All accounts of the provider, the built-in one first."""

    def __init__(self, accounts: Iterable[ProviderAccount]) -> None:
        self._accounts = {each.sid: each for each in accounts}

    def authenticated(self, header: str) -> ProviderAccount:
        """Return the account that an `Authorization` header names (RFC 7617). Raises ApiError 401 if it is wrong."""
        sid, token = _login(header)
        found = self._accounts.get(sid)
        expected = found.token if found is not None else token + "x"
        if not hmac.compare_digest(expected.encode(), token.encode()) or found is None:
            raise ApiError(401, "Authenticate", headers=REALM)
        return found

    def __iter__(self) -> Iterator[ProviderAccount]:
        return iter(tuple(self._accounts.values()))


def _login(header: str) -> tuple[str, str]:
    """Return login and password of an HTTP Basic header; both empty if it is malformed or of another scheme."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        text = b64decode(rest.strip(), validate=True).decode()
    except (NoBase64, ValueError):
        return "", ""
    login, _, password = text.partition(":")
    return login, password
