"""Settings of the messaging provider: its accounts and their services, or the URL of an external provider."""

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
    """Sids of the credentials with which a service reaches each push channel.

    apn: sid for Apple's push service; fcm: sid for Firebase Cloud Messaging; gcm: sid for Google Cloud Messaging.
    """

    apn: CredentialSid | None = None
    fcm: CredentialSid | None = None
    gcm: CredentialSid | None = None


class MessagingService(Model):
    """A notify service of an account.

    sid: its id, `IS` and 32 hex digits; messaging_service: default sender of its SMS; credentials: its credentials for
    push channels.
    """

    sid: ServiceSid
    messaging_service: MessagingServiceSid | None = None
    credentials: MessagingCredentials = MessagingCredentials()


class MessagingAccount(Model):
    """An account of the messaging provider.

    sid and token: user name and password of its REST API; services: its notify services.
    """

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
    """The provider of push, SMS and chat messages.

    accounts: accounts in addition to the built-in one; outside: base URL of an external server, which the Notify
    service then uses instead of the lab's own.
    """

    accounts: tuple[MessagingAccount, ...] = ()
    outside: WebUrl | None = None

    @field_validator("accounts")
    @classmethod
    def _check_sids(cls, accounts: tuple[MessagingAccount, ...]) -> tuple[MessagingAccount, ...]:
        sids = [each.sid for each in accounts]
        sids += [service.sid for each in accounts for service in each.services]
        for index, sid in enumerate(sids):
            if sid in sids[:index]:
                raise ValueError(f"expected sids that differ, not {sid!r} twice")
        return accounts
