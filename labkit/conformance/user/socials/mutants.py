"""Code mutants of social login, for faults that no fault row can express."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from labkit.conformance.breaking import call_after, change_arguments
from labkit.conformance.mutant import patch
from labkit.services.user.socials import records
from labkit.services.user.socials.records import social_table
from labkit.storage.database import execute

RECORDS = "labkit.services.user.socials.records"
ITS_TOKENS = "DELETE FROM social_login WHERE kind = 'access_token' AND solution = ?"

one_nonce = patch(
    "USR-SOC-2",
    "labkit.services.user.socials.oauth1:user",
    "requests of user information have the same nonce",
)(change_arguments(stamp=lambda stamp: replace(stamp, nonce="once")))
all_deleted = patch("USR-SOC-5", f"{RECORDS}:remove", "the other socials are deleted too")(
    call_after(lambda _, connection, *of: connection.execute(social_table.delete()))
)
counts_again = patch(
    "USR-SOC-17 USR-SOC-19", f"{RECORDS}:consume", "a state and a request token can be used more than once"
)(lambda original, *of: records.find(*of))
alive_at_the_last_second = patch(
    "USR-SOC-17 USR-SOC-19", f"{RECORDS}:alive", "a state and a request token are valid for one second more"
)(change_arguments(now=lambda now: now - 1))


@patch("USR-SOC-10", f"{RECORDS}:store")
def newest_alone(original: Any, connection: Any, login: records.Login, *of: Any) -> None:
    """only the newest token of an OAuth 1 provider is valid"""
    if login.kind == "access_token":
        execute(connection, ITS_TOKENS, (login.solution,))
    original(connection, login, *of)


@patch("USR-SOC-19", "labkit.services.user.socials.records:consume")
def taken_late(original: Any, connection: Any, login: Any, now: float) -> Any:
    """a state or request token stays valid if its use fails"""
    return records.find(connection, login, now)


@patch("USR-CALL-12", "labkit.services.user.socials.records:consume")
def logins_of_all(original: Any, connection: Any, login: Any, now: float) -> Any:
    """a login that began at the probe can end at another solution"""
    return original(connection, login, now) or original(connection, login._replace(solution="probe"), now)
