"""Reference model of OAuth codes and token sets of one solution: their validity, and what ends it.

Times are exact, in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

CODE_TTL = 600
ACCESS_TTL = 1_296_000
REFRESH_TTL = 31_104_000


@dataclass(slots=True)
class Code:
    """A code. used: it was exchanged; uncertain: the documents do not define its validity any more."""

    client: int
    user: int
    issued: Fraction
    used: bool = False
    uncertain: bool = False


@dataclass(slots=True)
class Tokens:
    """A token set. family: index of its code; ended: it is invalid; by_password: since its user's password changed."""

    client: int
    user: int
    family: int
    issued: Fraction
    access_ttl: int
    refresh_ttl: int
    ended: bool = False
    refreshed: bool = False
    by_password: bool = False


@dataclass(slots=True)
class Grants:
    """All codes and token sets, in order, the deleted clients and the inactive users."""

    codes: list[Code] = field(default_factory=list)
    sets: list[Tokens] = field(default_factory=list)
    deleted: set[int] = field(default_factory=set)
    inactive: set[int] = field(default_factory=set)

    def change_password(self, user: int) -> None:
        """End the access tokens of a user; the documents do not define the effect on pending codes."""
        for each in self.sets:
            if each.user == user and not each.ended:
                each.ended = each.by_password = True
        for code in self.codes:
            code.uncertain = code.uncertain or code.user == user

    def issue(self, family: int, now: Fraction, access_ttl: int, refresh_ttl: int) -> None:
        """Add a new token set, which ends the earlier ones of its client and user."""
        code = self.codes[family]
        for each in self.sets:
            if (each.client, each.user) == (code.client, code.user):
                each.ended = True
        self.sets.append(Tokens(code.client, code.user, family, now, access_ttl, refresh_ttl))

    def end_family(self, family: int) -> None:
        """End all token sets of a code."""
        for each in self.sets:
            if each.family == family:
                each.ended = True

    def delete(self, client: int) -> None:
        """Delete a client, which ends its token sets."""
        self.deleted.add(client)
        for each in self.sets:
            each.ended = each.ended or each.client == client

    def is_code_valid(self, code: Code, now: Fraction) -> bool:
        """Return whether a code can be exchanged."""
        return not code.used and code.client not in self.deleted and now < code.issued + CODE_TTL

    def is_access_valid(self, tokens: Tokens, now: Fraction) -> bool:
        """Return whether an access token is valid."""
        dead = tokens.ended or tokens.user in self.inactive
        return not dead and now < tokens.issued + tokens.access_ttl

    def is_refresh_valid(self, tokens: Tokens, now: Fraction) -> bool:
        """Return whether a refresh token can be exchanged."""
        return not (tokens.ended or tokens.refreshed) and now < tokens.issued + tokens.refresh_ttl
