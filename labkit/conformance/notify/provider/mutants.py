"""Faults of whose credentials count in Notify that no row can say."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.providers.messaging.accounts import Service

ACCOUNTS = "labkit.providers.messaging.accounts"
CREDENTIALS = "labkit.services.notify.service:credentials"


@mutant("NTF-CALL-3 NTF-CALL-4", CREDENTIALS)
def call_is_enough(original: Any) -> Any:
    """credentials of the call are enough"""
    return lambda configured, account, token: (account or "", token.get_secret_value() if token else "")


@mutant("NTF-CALL-5", f"{ACCOUNTS}:Accounts.authenticated")
def token_unread(original: Any) -> Any:
    """whoever names an account is let in"""

    def broken(self: Any, header: str) -> Any:
        login = b64decode(header.split()[1]).decode().partition(":")[0]
        return next((each for each in self if each.sid == login), None) or original(self, header)

    return broken


@mutant("NTF-CALL-6", CREDENTIALS)
def configured_alone(original: Any) -> Any:
    """credentials of the configuration override those of the call"""
    return lambda configured, account, token: (
        original(configured, account, token) and (configured["AccountSid"], configured["AuthToken"])
    )


@mutant("NTF-CALL-12", f"{ACCOUNTS}:Account.service")
def services_shared(original: Any) -> Any:
    """an account may use the services of all"""
    return lambda self, sid: self.services.get(sid) or Service(sid, self.sid, None, {})


@mutant("NTF-CALL-13", "labkit.services.operation:Operation.shown")
def values_shown(original: Any) -> Any:
    """the journal has what is sent"""
    return lambda self, parameters, **_: original(self, parameters, values=True)
