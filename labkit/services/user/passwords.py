"""Password hashing with Argon2id (RFC 9106), in a thread, so that it does not block the event loop."""

from __future__ import annotations

import asyncio
from typing import Annotated

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerifyMismatchError
from pydantic import AfterValidator, SecretStr

from labkit.services.arguments import expect_unicode
from labkit.settings import PasswordSettings

SHORTEST, LONGEST = 6, 1024  # characters


def _given(password: SecretStr) -> SecretStr:
    text = password.get_secret_value()
    if len(text) > LONGEST:
        raise ValueError(f"expected at most {LONGEST} characters, so that nobody keeps the lab busy hashing")
    expect_unicode(text)
    return password


def _new(password: SecretStr) -> SecretStr:
    if len(password.get_secret_value()) < SHORTEST:
        raise ValueError(f"expected at least {SHORTEST} characters")
    return _given(password)


GivenPassword = Annotated[SecretStr, AfterValidator(_given)]  # a password to verify
NewPassword = Annotated[SecretStr, AfterValidator(_new)]  # a password to store


class PasswordVerifier:
    """Hashes and verifies passwords. settings: the cost of a hash.

    verifications: number of calls of `verify`. A login of an unknown user also verifies, against a hash without a known
    password, so that the response time does not reveal whether the user exists.
    """

    def __init__(self, settings: PasswordSettings | None = None) -> None:
        cost = settings or PasswordSettings()
        self._hasher = PasswordHasher(time_cost=cost.passes, memory_cost=cost.memory, parallelism=1)
        # With salt and hash of zeros, finding a matching password is as hard as for any other hash.
        self._dummy_hash = f"$argon2id$v=19$m={cost.memory},t={cost.passes},p=1${'A' * 22}${'A' * 43}"
        self.verifications = 0

    async def hash(self, password: str) -> str:
        """Return the hash to store, with its salt and parameters."""
        return await asyncio.to_thread(self._hasher.hash, password)

    async def verify(self, stored: str | None, password: str) -> bool:
        """Return whether a password matches the stored hash. stored: None for an unknown user, which never matches."""
        self.verifications += 1
        matches = await asyncio.to_thread(
            self._matches, self._dummy_hash if stored is None else stored, password
        )
        return matches and stored is not None

    def _matches(self, stored: str, password: str) -> bool:
        try:
            return self._hasher.verify(stored, password)
        except (VerifyMismatchError, InvalidHashError):
            return False
