"""How passwords are kept and verified."""

from __future__ import annotations

import asyncio
import re

from labkit.services.user.passwords import Passwords


async def test_a_hash_is_argon2id_with_its_parameters_and_a_salt_of_its_own() -> None:
    passwords = Passwords()
    first, second = await passwords.hash("correct horse"), await passwords.hash("correct horse")
    assert re.match(r"\$argon2id\$v=19\$m=19456,t=2,p=1\$", first)
    assert first != second
    assert await passwords.verify(first, "correct horse")
    assert not await passwords.verify(first, "Correct horse")


async def test_nobody_has_no_password_yet_costs_a_verification() -> None:
    passwords = Passwords()
    for password in ("", "correct horse"):
        assert not await passwords.verify(None, password)
        assert not await passwords.verify("", password)  # a user made without one
    assert passwords.verifications == 4


async def test_the_loop_turns_while_a_password_is_hashed() -> None:
    hashing = asyncio.create_task(Passwords().hash("correct horse"))
    turns = 0
    while not hashing.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 10
