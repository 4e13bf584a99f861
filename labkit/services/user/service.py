"""The User service: all its groups in one."""

from __future__ import annotations

from labkit.services.user.assignments import Assignments
from labkit.services.user.jwt import Jwt
from labkit.services.user.oauth import Oauth
from labkit.services.user.permissions import Permissions
from labkit.services.user.roles import Roles
from labkit.services.user.socials import Socials
from labkit.services.user.users import Users


class User(Users, Roles, Permissions, Assignments, Oauth, Socials, Jwt):
    """People of a solution: accounts, roles, OAuth, social login, JWT (document 2)."""
