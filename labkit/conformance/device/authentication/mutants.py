"""Faults of authentication that no row can express: which part of a credential is compared, and whose data it opens."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import change_arguments
from labkit.conformance.mutant import patch
from labkit.device_api.authenticate import Credential
from labkit.device_api.exchange import Exchange
from labkit.http.error import HttpError

DIGEST = "labkit.devices.registry:password_digest"
FINGERPRINT = "labkit.devices.registry:fingerprint"

any_letter_case = patch("DEV-AUTH-2", DIGEST, "passwords are compared without letter case")(
    change_arguments(password=str.casefold)
)
start_counts = patch("DEV-AUTH-2", DIGEST, "only the first 72 characters of a password are compared")(
    change_arguments(password=lambda text: text[:72])
)
composed = patch("DEV-AUTH-2", DIGEST, "a password is normalized to Unicode's composed form")(
    change_arguments(password=lambda text: unicodedata.normalize("NFC", text))
)
beginning_counts = patch("DEV-AUTH-5", FINGERPRINT, "only the first 32 characters of a token are compared")(
    change_arguments(credential=lambda it: it[:32])
)


@patch("DEV-AUTH-2", "labkit.device_api.authenticate:authorization")
def last_colon(original: Any, exchange: Exchange, header: str) -> Any:
    """a password is the text after the last colon"""
    found: Credential = original(exchange, header)
    if found.identity is None or not isinstance(found.value, str):
        return found
    more, _, value = found.value.rpartition(":")
    return replace(found, identity=f"{found.identity}{more and ':'}{more}", value=value)


@patch("DEV-AUTH-7", "labkit.devices.state:latest_values")
def state_of_all(original: Any, connection: Any, product: str, identity: str, aliases: Any) -> Any:
    """the devices of a product share their values"""
    query = "SELECT value FROM datapoint WHERE product = ? AND alias = ? LIMIT 1"
    rows = [(alias, connection.exec_driver_sql(query, (product, alias)).first()) for alias in aliases]
    return [(alias, row[0]) for alias, row in rows if row is not None]


@patch("DEV-AUTH-9", "labkit.device_api.authenticate:presented_credential")
def every_certificate_counts(original: Any, exchange: Exchange) -> Any:
    """a client certificate is a credential on products that ask for none, too"""
    found = original(exchange)
    if found is not None and found.type != "certificate" and exchange.connection.certificate is not None:
        raise HttpError(400, "expected exactly one credential")
    return found


@patch("DEV-AUTH-5", "labkit.devices.registry:Registry.find_by_password")
async def longer_password(original: Any, self: Any, product: str, identity: str, password: str) -> Any:
    """a password with one more character at its end is accepted too"""
    found = await original(self, product, identity, password)
    return found or await original(self, product, identity, password[:-1])


token_in_any_case = patch(
    "DEV-AUTH-5", "labkit.devices.registry:fingerprint", "tokens are compared without letter case"
)(
    change_arguments(
        credential=lambda credential: credential.lower() if isinstance(credential, str) else credential
    )
)
