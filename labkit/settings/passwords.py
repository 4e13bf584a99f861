"""How passwords are hashed."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.settings.values import Model


class PasswordSettings(Model):
    """What it costs to hash a password with Argon2id (RFC 9106). memory: in KiB; passes: over it.

    The defaults are the least that OWASP's password storage cheat sheet names. A lab whose users are not real may
    have cheaper ones; a password that is kept goes on with those that it was hashed with.
    """

    memory: Annotated[int, Field(strict=True, ge=8, le=4 * 1024 * 1024)] = 19 * 1024
    passes: Annotated[int, Field(strict=True, ge=1, le=1000)] = 2
