"""Accounts of the messaging provider, their services, and who may use them."""

from __future__ import annotations

import hmac
from base64 import b64decode
from binascii import Error as NoBase64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlalchemy import Column, Connection, String, Table

from labkit.core.database import execute
from labkit.core.identifiers import Identifiers
from labkit.core.tables import metadata
from labkit.providers.messaging.errors import ApiError
from labkit.settings import MessagingAccount

PUSH = ("apn", "fcm", "gcm")
REALM = {"WWW-Authenticate": 'Basic realm="messaging", charset="UTF-8"'}

# The account that is always there: solutions are configured with it, so it outlives a reset and a restart.
own_account = Table(
    "messaging_account",
    metadata,
    Column("sid", String, primary_key=True),
    Column("token", String, nullable=False, info={"secret": True}),
    Column("service", String, nullable=False),
    Column("messaging_service", String, nullable=False),
    *(Column(each, String, nullable=False) for each in PUSH),
    info={"reset": False},
)


@dataclass(frozen=True, slots=True)
class NotifyService:
    """A notify service. messaging_service: the sender of its SMS; credentials: sid of that of each push channel."""

    sid: str
    account: str
    messaging_service: str | None
    credentials: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class ProviderAccount:
    """An account with its services by sid. token: the password of its REST API."""

    sid: str
    token: str = field(repr=False)
    services: Mapping[str, NotifyService]

    def service(self, sid: str) -> NotifyService:
        """Raises ApiError 404 for one that is not this account's, whether or not another has it."""
        found = self.services.get(sid)
        if found is None:
            raise ApiError(404, f"there is no service {sid[:40]!r} in this account")
        return found


def of_settings(settings: MessagingAccount) -> ProviderAccount:
    """The account that lab.yaml names."""
    services = {
        each.sid: NotifyService(each.sid, settings.sid, each.messaging_service, each.credentials.model_dump())
        for each in settings.services
    }
    return ProviderAccount(settings.sid, settings.token.get_secret_value(), services)


def own(connection: Connection, identifiers: Identifiers) -> ProviderAccount:
    """The account that is always there; drawn when the lab's data is new."""
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
    """The accounts that there are, the one that is always there first."""

    def __init__(self, accounts: Iterable[ProviderAccount]) -> None:
        self._accounts = {each.sid: each for each in accounts}

    def authenticated(self, header: str) -> ProviderAccount:
        """Whose `Authorization` header this is (RFC 7617). Raises ApiError 401 for nobody's."""
        sid, token = _login(header)
        found = self._accounts.get(sid)
        expected = found.token if found is not None else token + "x"
        if not hmac.compare_digest(expected.encode(), token.encode()) or found is None:
            raise ApiError(401, "Authenticate", headers=REALM)
        return found

    def __iter__(self) -> Iterator[ProviderAccount]:
        return iter(tuple(self._accounts.values()))


def _login(header: str) -> tuple[str, str]:
    """Login and password of HTTP Basic; both empty where there are none."""
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "basic":
        return "", ""
    try:
        text = b64decode(rest.strip(), validate=True).decode()
    except (NoBase64, ValueError):
        return "", ""
    login, _, password = text.partition(":")
    return login, password
