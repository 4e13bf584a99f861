"""The messaging provider: accounts, their services, and where it is if it is not the lab's own."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, SecretStr, field_validator

from labkit.settings.values import Model, WebUrl

TOKEN = re.compile(r"[\x21-\x7e]{1,200}")


def _sid(prefix: str) -> AfterValidator:
    pattern = re.compile(rf"{prefix}[0-9a-fA-F]{{32}}")

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"expected {prefix} and 32 hex digits, not {text[:80]!r}")
        return text

    return AfterValidator(check)


AccountSid = Annotated[str, _sid("AC")]
ServiceSid = Annotated[str, _sid("IS")]
CredentialSid = Annotated[str, _sid("CR")]
MessagingServiceSid = Annotated[str, _sid("MG")]


class MessagingCredentials(Model):
    """The credentials with which a service reaches a push channel, by sid."""

    apn: CredentialSid | None = None
    fcm: CredentialSid | None = None
    gcm: CredentialSid | None = None


class MessagingService(Model):
    """A notify service of an account. messaging_service: where its SMS come from if a send does not say."""

    sid: ServiceSid
    messaging_service: MessagingServiceSid | None = None
    credentials: MessagingCredentials = MessagingCredentials()


class MessagingAccount(Model):
    """An account of the messaging provider. sid and token: login and password of its REST API."""

    sid: AccountSid
    token: SecretStr
    services: tuple[MessagingService, ...] = ()

    @field_validator("token")
    @classmethod
    def _token(cls, token: SecretStr) -> SecretStr:
        if not TOKEN.fullmatch(token.get_secret_value()):
            raise ValueError("expected 1 to 200 visible ASCII characters")
        return token


class MessagingSettings(Model):
    """The provider of push, SMS and chat. accounts: beside the one that is always there; outside: the base URL of
    a server that is not the lab's own, which the Notify service then uses.
    """

    accounts: tuple[MessagingAccount, ...] = ()
    outside: WebUrl | None = None

    @field_validator("accounts")
    @classmethod
    def _apart(cls, accounts: tuple[MessagingAccount, ...]) -> tuple[MessagingAccount, ...]:
        sids = [each.sid for each in accounts]
        sids += [service.sid for each in accounts for service in each.services]
        for index, sid in enumerate(sids):
            if sid in sids[:index]:
                raise ValueError(f"expected sids that differ, not {sid!r} twice")
        return accounts
