"""Hashing and verification of passwords."""

from __future__ import annotations

import asyncio
import re

import pytest
from argon2 import PasswordHasher

from labkit.services.user.passwords import PasswordVerifier
from labkit.settings import PasswordSettings


async def test_a_hash_is_argon2id_with_its_parameters_and_its_own_salt() -> None:
    passwords = PasswordVerifier()
    first, second = await passwords.hash("correct horse"), await passwords.hash("correct horse")
    assert re.match(r"\$argon2id\$v=19\$m=19456,t=2,p=1\$", first)
    assert first != second
    assert await passwords.verify(first, "correct horse")
    assert not await passwords.verify(first, "Correct horse")


@pytest.mark.parametrize("cheap", [False, True])
async def test_the_cost_of_a_hash_is_a_setting_and_stored_hashes_keep_theirs(cheap: bool) -> None:
    dear, other = PasswordVerifier(), PasswordVerifier(PasswordSettings(memory=64, passes=1))
    if cheap:
        dear, other = other, dear
    kept = await dear.hash("correct horse")
    assert kept.startswith("$argon2id$v=19$m=64,t=1,p=1$") is cheap
    assert await other.verify(kept, "correct horse")
    assert not await other.verify(kept, "Correct horse")


async def test_an_unknown_user_costs_as_much_as_a_known_one(monkeypatch: pytest.MonkeyPatch) -> None:
    passwords = PasswordVerifier(PasswordSettings(memory=64, passes=3))
    verified: list[str] = []

    def verify(self: PasswordHasher, kept: str, password: str) -> bool:
        verified.append(kept)
        return False

    monkeypatch.setattr(PasswordHasher, "verify", verify)
    await passwords.verify(await passwords.hash("correct horse"), "battery")
    await passwords.verify(None, "battery")
    parameters = [each.rpartition("p=1")[0] for each in verified]
    assert parameters == ["$argon2id$v=19$m=64,t=3,"] * 2


async def test_a_user_without_a_password_costs_a_verification() -> None:
    passwords = PasswordVerifier()
    for password in ("", "correct horse"):
        assert not await passwords.verify(None, password)
        assert not await passwords.verify("", password)  # a user created without a password
    assert passwords.verifications == 4


async def test_the_loop_runs_while_a_password_is_hashed() -> None:
    hashing = asyncio.create_task(PasswordVerifier().hash("correct horse"))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
