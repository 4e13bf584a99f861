"""Faults in social login that no row can say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy import and_

from labkit.conformance.breaking import afterwards
from labkit.conformance.mutant import mutant
from labkit.services.user.socials import records
from labkit.services.user.socials.records import social_table

RECORDS = "labkit.services.user.socials.records"


@mutant("USR-SOC-2", "labkit.services.user.socials.oauth1:user")
def one_nonce(original: Any) -> Any:
    """requests of user information have the same nonce"""
    return lambda provider, token, stamp: original(provider, token, replace(stamp, nonce="once"))


@mutant("USR-SOC-5", f"{RECORDS}:remove")
def nothing_deleted(original: Any) -> Any:
    """a deleted social stays"""
    return lambda connection, solution, consumer: None


@mutant("USR-SOC-5", f"{RECORDS}:remove")
def all_deleted(original: Any) -> Any:
    """the other socials are deleted too"""
    return afterwards(original, lambda _, connection, *of: connection.execute(social_table.delete()))


@mutant("USR-SOC-13", f"{RECORDS}:of_consumer")
def letter_case_counts(original: Any) -> Any:
    """a consumer is found by its exact spelling alone"""
    return lambda solution, consumer: and_(original(solution, consumer), social_table.c.consumer == consumer)


@mutant("USR-SOC-17 USR-SOC-19", f"{RECORDS}:take")
def counts_again(original: Any) -> Any:
    """a state and a request token count as often as they come"""
    return records.find


@mutant("USR-SOC-17 USR-SOC-19", f"{RECORDS}:alive")
def alive_at_the_last_second(original: Any) -> Any:
    """a state and a request token are alive in their last second"""
    return lambda login, now: original(login, now - 1)
