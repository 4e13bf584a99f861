"""Faults of the platform that the solution of the guides shows and no row can say."""

from __future__ import annotations

from typing import Any

import jwt

from labkit.conformance.mutant import mutant


@mutant(
    "USR-GUIDE-4 USR-GUIDE-6 USR-GUIDE-8 USR-GUIDE-13 USR-GUIDE-15 USR-GUIDE-22",
    "labkit.solutions.response:response_status",
)
def refusals_are_fine(original: Any) -> Any:
    """the status 4xx that a script sets is lost"""
    return lambda code: 200 if isinstance(code, int | float) and 400 <= code < 500 else original(code)


@mutant("USR-GUIDE-17", "labkit.services.user.roles.roles:create")
def roles_without_parameters(original: Any) -> Any:
    """createRole forgets the parameters"""
    return lambda connection, solution, role_id, *_: original(connection, solution, role_id, ())


@mutant("USR-GUIDE-27", "labkit.services.user.socials.oauth2:login_url")
def same_state(original: Any) -> Any:
    """every login has the same state"""
    return lambda provider, state: original(provider, "always")


@mutant("USR-GUIDE-35", "labkit.solutions.request:Request.table")
def head_as_get(original: Any) -> Any:
    """a script sees HEAD as GET"""
    return lambda self: {**original(self), "method": "GET" if self.method == "HEAD" else self.method}


@mutant("USR-GUIDE-36", "labkit.solutions.request:headers")
def all_is_json(original: Any) -> Any:
    """a script is told that each body is JSON"""
    return lambda given: {**original(given), "content-type": "application/json"}


@mutant("USR-GUIDE-37 USR-GUIDE-39", "labkit.services.user.oauth.access_tokens:sign")
def scopes_hidden(original: Any) -> Any:
    """an access token tells the scopes under another name"""

    async def broken(context: Any, keys: Any, *args: Any) -> str:
        claims = jwt.decode(await original(context, keys, *args), options={"verify_signature": False})
        claims["scope"] = claims.pop("scopes")
        return jwt.encode(claims, await keys.private(), algorithm="RS256")

    return broken
