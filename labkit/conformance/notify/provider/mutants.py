"""Code mutants of the credentials in Notify, for faults that no fault row can express."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from labkit.conformance.mutant import patch
from labkit.providers.messaging.accounts import NotifyService

ACCOUNTS = "labkit.providers.messaging.accounts"
CREDENTIALS = "labkit.services.notify.service:credentials"

call_is_enough = patch("NTF-CALL-3 NTF-CALL-4", CREDENTIALS, "credentials of the call are enough")(
    lambda original, configured, account, token: (account or "", token.get_secret_value() if token else "")
)
services_shared = patch(
    "NTF-CALL-12", f"{ACCOUNTS}:ProviderAccount.service", "an account may use the services of all"
)(lambda original, self, sid: self.services.get(sid) or NotifyService(sid, self.sid, None, {}))


@patch("NTF-CALL-5", f"{ACCOUNTS}:ProviderAccounts.authenticated")
def token_unread(original: Any, self: Any, header: str) -> Any:
    """an account is authenticated by its sid, whatever the token"""
    login = b64decode(header.split()[1]).decode().partition(":")[0]
    return next((each for each in self if each.sid == login), None) or original(self, header)


@patch("NTF-CALL-6", CREDENTIALS)
def configured_alone(original: Any, configured: Any, *given: Any) -> Any:
    """credentials of the configuration override those of the call"""
    return original(configured, *given) and (configured["AccountSid"], configured["AuthToken"])
