"""Settings of the section `passwords`: the cost of hashing a password."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.settings.values import Model


class PasswordSettings(Model):
    """Cost of hashing a password with Argon2id (RFC 9106).

    memory: memory for one hash in KiB; passes: number of iterations.

    The defaults are the minimum of OWASP's password storage cheat sheet. A lab without real users may use less. A
    stored password keeps the cost with which it was hashed.
    """

    memory: Annotated[int, Field(strict=True, ge=8, le=4 * 1024 * 1024)] = 19 * 1024
    passes: Annotated[int, Field(strict=True, ge=1, le=1000)] = 2
