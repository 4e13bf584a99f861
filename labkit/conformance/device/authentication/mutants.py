"""Faults of authentication that no row can say: what counts of a credential, and whose data it opens."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import Any

from labkit.conformance.mutant import mutant
from labkit.device_api.authenticate import Credential
from labkit.device_api.exchange import Exchange
from labkit.http.error import HttpError

DIGEST = "labkit.devices.registry:password_digest"


@mutant("DEV-AUTH-2", DIGEST)
def any_letter_case(original: Any) -> Any:
    """capitals and small letters of a password are the same"""
    return lambda password, salt: original(password.casefold(), salt)


@mutant("DEV-AUTH-2", DIGEST)
def start_counts(original: Any) -> Any:
    """the first 72 bytes of a password count"""
    return lambda password, salt: original(password.encode()[:72].decode(errors="ignore"), salt)


@mutant("DEV-AUTH-2", DIGEST)
def composed(original: Any) -> Any:
    """a password is brought to Unicode's composed form"""
    return lambda password, salt: original(unicodedata.normalize("NFC", password), salt)


@mutant("DEV-AUTH-2", "labkit.device_api.authenticate:authorization")
def last_colon(original: Any) -> Any:
    """a password is what stands behind the last colon"""

    def broken(exchange: Exchange, header: str) -> Credential:
        found: Credential = original(exchange, header)
        if found.identity is None or not isinstance(found.value, str):
            return found
        more, _, value = found.value.rpartition(":")
        return replace(found, identity=f"{found.identity}{more and ':'}{more}", value=value)

    return broken


@mutant("DEV-AUTH-5", "labkit.devices.registry:fingerprint")
def beginning_counts(original: Any) -> Any:
    """of a token the first 32 characters count"""
    return lambda credential: original(credential[:32] if isinstance(credential, str) else credential)


@mutant("DEV-AUTH-7", "labkit.devices.state:latest_values")
def state_of_all(original: Any) -> Any:
    """the devices of a product share their values"""

    def broken(connection: Any, product: str, identity: str, aliases: Any) -> list[tuple[str, str]]:
        query = "SELECT value FROM datapoint WHERE product = ? AND alias = ? LIMIT 1"
        rows = [(alias, connection.exec_driver_sql(query, (product, alias)).first()) for alias in aliases]
        return [(alias, row[0]) for alias, row in rows if row is not None]

    return broken


@mutant("DEV-AUTH-9", "labkit.device_api.authenticate:presented")
def every_certificate_counts(original: Any) -> Any:
    """a client certificate is a credential on products that ask for none, too"""

    def broken(exchange: Exchange) -> Credential | None:
        found: Credential | None = original(exchange)
        if found is not None and found.type != "certificate" and exchange.connection.certificate is not None:
            raise HttpError(400, "expected exactly one credential")
        return found

    return broken
