"""Attacks and their scenario: an honest client with its user, and Mallory with her own account and client.

All operations go through `call(operation, **parameters)`, so that tests, checks and notebooks share the attacks.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from labkit.conformance.expect import hidden
from labkit.conformance.user.oauth.client import CALLBACK, SECOND, Call, OAuthClient
from labkit.conformance.verdict import Mismatch

Advance = Callable[[float], Awaitable[object]]
Play = Callable[["Scenario"], Awaitable[object]]
Honest = Literal["unharmed", "revoked", "harmed"]

MALLORYS_REDIRECT = "https://mallory.example/callback"  # Mallory's redirect


@dataclass(frozen=True, slots=True)
class Attack:
    """An attack that the provider must refuse.

    rfc: the section that describes it; how: the description; status, code: of the error object (code None: without an
    RFC name); honest: the expected effect on the honest client; clock: needs lab time to advance.
    """

    group: str
    name: str
    rfc: str
    how: str
    status: int
    code: str | None
    play: Play
    honest: Honest = "unharmed"
    clock: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of an attack. status, code: of the error object; None if the answer was no error object."""

    attack: Attack
    status: int | None
    code: str | None
    honest: Honest

    @property
    def withstood(self) -> bool:
        """True if the refusal and the effect on the honest client are the expected ones."""
        attack = self.attack
        return (self.status, self.code, self.honest) == (attack.status, attack.code, attack.honest)


@dataclass(frozen=True, slots=True)
class Actor:
    """A user of the solution. token: a user token."""

    id: int
    token: str


class Scenario:
    """The participants of an attack.

    client, code, tokens: those of the honest client, approved by Ann; the code is not exchanged yet. An attack that
    replaces them stores the new ones here. other: Mallory's client. advance: advances lab time.
    """

    client: OAuthClient
    other: OAuthClient
    tokens: dict[str, Any]
    code: str

    def __init__(self, call: Call, ann: Actor, mallory: Actor, advance: Advance | None = None) -> None:
        self.call = call
        self.ann = ann
        self.mallory = mallory
        self._advance = advance

    async def prepare(self) -> None:
        """Register both clients, and approve the honest one."""
        both = f"{CALLBACK},{SECOND}"
        self.client = await OAuthClient.registered(
            self.call, self.ann.id, self.ann.token, name="honest", redirect=both
        )
        await self.register_other()
        self.tokens = await self.expect_success(self.client.tokens())
        self.code = await self.client.approve()

    async def register_other(self) -> None:
        """Register a client of Mallory."""
        client = await OAuthClient.registered(
            self.call, self.mallory.id, self.mallory.token, name="Mallory's", redirect=MALLORYS_REDIRECT
        )
        self.other = replace(client, redirect_uri=MALLORYS_REDIRECT)

    async def delete_other(self) -> dict[str, object]:
        """Delete Mallory's client, register another, and return the credentials of the deleted one."""
        deleted = self.other
        await self.call("deleteOauthClient", id=self.mallory.id, client_id=deleted.id)
        await self.register_other()
        return deleted.credentials

    async def expect_success(self, work: Awaitable[Any]) -> dict[str, Any]:
        """Return the result of a call that must succeed. Raises Mismatch if it was refused."""
        result = await work
        if not isinstance(result, dict) or "error" in result:
            raise Mismatch("what prepares the attack", "that it is done", hidden(result))
        return result

    async def advance(self, seconds: float) -> None:
        """Advance lab time by seconds."""
        assert self._advance is not None, "this attack needs a clock"
        await self._advance(seconds)

    async def honest_outcome(self) -> Honest:
        """Return the effect on the honest client, by using its tokens and its code."""
        if not await self.client.is_valid(self.tokens):
            refreshed = await self.client.refresh(self.tokens["refresh_token"])
            return "revoked" if status_and_code(refreshed) == (400, "invalid_grant") else "harmed"
        redeemed = await self.client.redeem(self.code)
        refreshed = await self.client.refresh(redeemed.get("refresh_token", ""))
        return "unharmed" if "access_token" in refreshed else "harmed"


def attack(
    group: str,
    rfc: str,
    status: int,
    code: str | None,
    *,
    honest: Honest = "unharmed",
    clock: bool = False,
) -> Callable[[Play], Attack]:
    """Declare an attack, named after the function and described by its docstring."""

    def declare(play: Play) -> Attack:
        name = play.__name__.replace("_", " ")
        return Attack(group, name, rfc, (play.__doc__ or "").strip(), status, code, play, honest, clock)

    return declare


def attacks_in(module: Mapping[str, object]) -> list[Attack]:
    """Return the attacks declared in a module, in order."""
    return [each for each in module.values() if isinstance(each, Attack)]


async def attempt(
    attacks: Sequence[Attack], call: Call, ann: Actor, mallory: Actor, advance: Advance | None = None
) -> list[Outcome]:
    """Run attacks in one scenario and determine the effect on the honest client at the end.

    An attack that costs the honest client its tokens gets its own scenario. Raises Mismatch if a scenario cannot be
    prepared.
    """
    together = [each for each in attacks if each.honest == "unharmed"]
    outcomes = []
    apart = [[each] for each in attacks if each.honest != "unharmed"]
    for played in filter(None, [together, *apart]):
        scenario = Scenario(call, ann, mallory, advance)
        await scenario.prepare()
        answers = [status_and_code(await each.play(scenario)) for each in played]
        honest = await scenario.honest_outcome()
        outcomes += [Outcome(each, *answer, honest) for each, answer in zip(played, answers, strict=True)]
    return outcomes


def status_and_code(result: object) -> tuple[int | None, str | None]:
    """Return the status and code of an error object (document 2, Errors), or None for both."""
    if not isinstance(result, dict) or result.get("type") != "QueryError":
        return None, None
    try:
        detail = json.loads(result["error"])
    except (KeyError, TypeError, ValueError):
        return None, None
    return (result.get("status"), detail.get("code")) if isinstance(detail, dict) else (None, None)
