"""HTTP client of identity providers for social login, shared by both protocols."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeGuard
from urllib.parse import parse_qsl, quote, urlencode

from labkit.context import Outbound
from labkit.core.errors import ServiceError
from labkit.services.user.errors import UserError
from labkit.services.user.socials.records import Social

FORM = "application/x-www-form-urlencoded"

# Characters allowed in a header and in a cookie (RFC 6265, section 4.1.1); scripts put tokens into both.
_TOKEN = re.compile(r"[!#-+\--:<-\[\]-~]{1,4096}")
REASONS = frozenset(  # error codes of RFC 6749, 4.1.2.1 and 5.2, and of known providers
    "access_denied bad_verification_code expired_token incorrect_client_credentials invalid_client invalid_grant "
    "invalid_request invalid_scope invalid_token redirect_uri_mismatch server_error temporarily_unavailable "
    "unauthorized_client unsupported_grant_type unsupported_response_type user_cancelled_authorize "
    "user_cancelled_login".split()
)
# The characters of an error code (RFC 6749, section 5.2), with a limit of length.
_ERROR = re.compile(r"[ !#-\[\]-~]{1,80}")


@dataclass(frozen=True, slots=True)
class Consumer:
    """Protocol and endpoint URLs of an identity provider. request_token: only of OAuth 1."""

    protocol: str
    authorize: str
    token: str
    userinfo: str
    request_token: str = ""


@dataclass(frozen=True, slots=True)
class ProviderClient:
    """Client of an identity provider, with the registration of one solution."""

    social: Social
    at: Consumer
    web: Outbound

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        """Send a request and return the response's status, which is below 500, and its text.

        Raises ServiceError 502 if the provider does not answer, or answers with a status of 500 or more.
        """
        try:
            status, text = await self.web.request(
                method, url, {"Accept": "application/json", **headers}, body
            )
        except OSError:
            raise self.failed("does not answer") from None
        if status >= 500:
            raise self.failed(f"answered {status}")
        return status, text

    async def request_token_fields(
        self, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> dict[str, object]:
        """Request a token and return the fields of the response. Raises ServiceError 400 if it is refused."""
        status, text = await self.request("POST", url, headers, body)
        fields = _fields(text)
        code = fields.get("error", "")  # some providers send errors with status 200
        if code or status >= 400:
            raise self.refused(code, f"it answered {status}")
        if status != 200:
            raise self.failed(f"answered {status}")
        return fields

    async def user(self, headers: Mapping[str, str]) -> str:
        """Return the user information, unchanged JSON text of the provider. Raises ServiceError with its 4xx status."""
        status, text = await self.request("GET", self.at.userinfo, headers)
        if status >= 400:
            raise ServiceError(status, f"{self.social.consumer} refuses the request: it answered {status}.")
        if status != 200 or not _is_json(text):
            raise self.failed("answered what is not JSON" if status == 200 else f"answered {status}")
        return text

    def failed(self, how: str) -> ServiceError:
        """Return a ServiceError 502 for an invalid response. how: the message after the provider's name."""
        return ServiceError(502, f"{self.social.consumer} {how}.")

    def refused(self, code: object, description: str) -> ServiceError:
        """Return the error of a login that the provider refuses.

        code: the provider's error code, if any (RFC 6749, 4.1.2.1 and 5.2); description: its error text. A callback
        may carry any text in them, so the journal shows only known codes, and no description.
        """
        refuses = f"{self.social.consumer} refuses"
        if not isinstance(code, str) or not _ERROR.fullmatch(code):
            return ServiceError(400, f"{refuses}: {description[:200]}.", f"{refuses}.")
        known = code if code in REASONS else "for another reason"
        return UserError(
            400,
            f"{refuses} ({code}): {description[:200]}." if description else f"{refuses}: {code}.",
            code,
            f"{refuses}: {known}.",
        )


def is_token(value: object) -> TypeGuard[str]:
    """Return whether a value is a text that can be sent as a token in a header and in a cookie."""
    return isinstance(value, str) and _TOKEN.fullmatch(value) is not None


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """Return a URL with more parameters in its query."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters, quote_via=quote)}"


def _fields(text: str) -> dict[str, object]:
    """Return the fields of a response in JSON or form encoding; {} if it is neither."""
    if not text.lstrip().startswith(("{", "[")):
        return dict(parse_qsl(text))
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
