"""The scenario of an attack: an honest client with its user, and Mallory, who has a client and an account of her own.

Everything goes through `call(operation, **parameters)`, so that tests, checks and notebooks play the same attacks.
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

ELSEWHERE = "https://mallory.example/callback"  # that of Mallory's


@dataclass(frozen=True, slots=True)
class Attack:
    """Something that must be refused.

    rfc: where it is told; how: what is done; status, code: of the error object (code None: has no RFC name);
    honest: how the honest client fares; clock: does it need lab time to be moved on?
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
    """What came of an attack. status, code: None where it was not refused with an error object."""

    attack: Attack
    status: int | None
    code: str | None
    honest: Honest

    @property
    def withstood(self) -> bool:
        """Was the attack refused as it should be, and does the honest client fare as it should?"""
        attack = self.attack
        return (self.status, self.code, self.honest) == (attack.status, attack.code, attack.honest)


@dataclass(frozen=True, slots=True)
class Actor:
    """A user of the solution. token: a user token."""

    id: int
    token: str


class Scenario:
    """Who takes part in an attack.

    client, code, tokens: those of the honest party, on Ann's behalf; the code is not exchanged yet. An attack that
    renews them on her behalf puts the new ones here. other: Mallory's client. advance: moves lab time on.
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
        """Have both clients registered, and the honest one approved."""
        both = f"{CALLBACK},{SECOND}"
        self.client = await OAuthClient.registered(
            self.call, self.ann.id, self.ann.token, name="honest", redirect=both
        )
        await self.register_other()
        self.tokens = await self.granted(self.client.tokens())
        self.code = await self.client.approve()

    async def register_other(self) -> None:
        """Have a client of Mallory's registered."""
        client = await OAuthClient.registered(
            self.call, self.mallory.id, self.mallory.token, name="Mallory's", redirect=ELSEWHERE
        )
        self.other = replace(client, redirect_uri=ELSEWHERE)

    async def delete_other(self) -> dict[str, object]:
        """Delete Mallory's client and register another: what makes a request one of the deleted client."""
        deleted = self.other
        await self.call("deleteOauthClient", id=self.mallory.id, client_id=deleted.id)
        await self.register_other()
        return deleted.credentials

    async def granted(self, work: Awaitable[Any]) -> dict[str, Any]:
        """What a call gives that is to succeed. Raises Mismatch where it was refused."""
        result = await work
        if not isinstance(result, dict) or "error" in result:
            raise Mismatch("what prepares the attack", "that it is done", hidden(result))
        return result

    async def advance(self, seconds: float) -> None:
        """Let lab time go by."""
        assert self._advance is not None, "this attack needs a clock"
        await self._advance(seconds)

    async def fares(self) -> Honest:
        """How the honest party fares: are its tokens and its code what they were?"""
        if not await self.client.holds(self.tokens):
            refreshed = await self.client.refresh(self.tokens["refresh_token"])
            return "revoked" if read(refreshed) == (400, "invalid_grant") else "harmed"
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
    """Declare an attack; its name is the function's, and the docstring tells what is done."""

    def declare(play: Play) -> Attack:
        name = play.__name__.replace("_", " ")
        return Attack(group, name, rfc, (play.__doc__ or "").strip(), status, code, play, honest, clock)

    return declare


def declared(module: Mapping[str, object]) -> list[Attack]:
    """The attacks that stand in a module, in their order."""
    return [each for each in module.values() if isinstance(each, Attack)]


async def attempt(
    attacks: Sequence[Attack], call: Call, ann: Actor, mallory: Actor, advance: Advance | None = None
) -> list[Outcome]:
    """Play attacks in one scenario, and see at the end how the honest party fares.

    One that costs the honest party its tokens is played in a scenario of its own. Raises Mismatch where it cannot
    be prepared.
    """
    together = [each for each in attacks if each.honest == "unharmed"]
    outcomes = []
    apart = [[each] for each in attacks if each.honest != "unharmed"]
    for played in filter(None, [together, *apart]):
        scenario = Scenario(call, ann, mallory, advance)
        await scenario.prepare()
        answers = [read(await each.play(scenario)) for each in played]
        fares = await scenario.fares()
        outcomes += [Outcome(each, *answer, fares) for each, answer in zip(played, answers, strict=True)]
    return outcomes


def read(result: object) -> tuple[int | None, str | None]:
    """Status and code of an error object (document 2, Errors); None for what is none."""
    if not isinstance(result, dict) or result.get("type") != "QueryError":
        return None, None
    try:
        detail = json.loads(result["error"])
    except (KeyError, TypeError, ValueError):
        return None, None
    return (result.get("status"), detail.get("code")) if isinstance(detail, dict) else (None, None)
