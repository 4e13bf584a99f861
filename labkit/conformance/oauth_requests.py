"""What a client asks of the OAuth provider, as the parameters of operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CALLBACK = "https://app.example/callback"
SECOND = "https://app.example/second?keep=1"

Parameters = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Requests:
    """Those of a client, on behalf of the user whose token it is.

    `changes` put other parameters in place; None leaves one out.
    """

    token: object
    client: Mapping[str, object]

    def approval(self, **changes: object) -> Parameters:
        """Of getOauthAuthorizeApproved."""
        given = {
            "token": self.token,
            "client_id": self.client["id"],
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": "profile",
        }
        return _changed(given, changes)

    def exchange(self, code: object, **changes: object) -> Parameters:
        """Of getOauthToken, for a code."""
        given = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
        return _changed({**self._own(), **given}, changes)

    def renewal(self, refresh_token: object, **changes: object) -> Parameters:
        """Of getOauthToken, for a refresh token."""
        given = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return _changed({**self._own(), **given}, changes)

    def _own(self) -> Parameters:
        return {"client_id": self.client["id"], "client_secret": self.client["secret"]}


def _changed(given: Mapping[str, object], changes: Mapping[str, object]) -> Parameters:
    return {name: value for name, value in {**given, **changes}.items() if value is not None}
