"""The group Jwt of the User service."""

from __future__ import annotations

from labkit.services.user.parts import Group


class Jwt(Group):
    """Jwt."""
