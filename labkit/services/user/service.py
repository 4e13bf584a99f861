"""The User service: all its groups of operations in one class."""

from __future__ import annotations

from labkit.services.user.jwt import Jwt
from labkit.services.user.oauth.operations import Oauth
from labkit.services.user.roles.assignments import Assignments
from labkit.services.user.roles.permissions import Permissions
from labkit.services.user.roles.roles import Roles
from labkit.services.user.socials.operations import Socials
from labkit.services.user.users.operations import Users


class User(Users, Roles, Permissions, Assignments, Oauth, Socials, Jwt):
    """Users of a solution: accounts, roles, OAuth, social login, JWT (document 2)."""
