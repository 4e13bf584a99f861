"""The stage of an attack: an honest client with its user, and Mallory, who has a client and an account of her own.

Everything goes through `call(operation, **parameters)`, so that tests, checks and notebooks play the same attacks.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from labkit.conformance.expect import hidden
from labkit.conformance.oauth_requests import CALLBACK, SECOND, Requests
from labkit.conformance.verdict import Mismatch

Call = Callable[..., Awaitable[Any]]
Advance = Callable[[float], Awaitable[object]]
Play = Callable[["Stage"], Awaitable[object]]
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


class Stage:
    """Who takes part in an attack.

    client, code, tokens: those of the honest party, on Ann's behalf; the code is not exchanged yet. An attack that
    renews them on her behalf puts the new ones here. other: Mallory's client. advance: moves lab time on.
    """

    def __init__(self, call: Call, ann: Actor, mallory: Actor, advance: Advance | None = None) -> None:
        self.call = call
        self.ann = ann
        self.mallory = mallory
        self._advance = advance
        self.client: dict[str, Any] = {}
        self.other: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}
        self.code = ""

    async def set(self) -> None:
        """Have both clients registered, and the honest one approved."""
        both = f"{CALLBACK},{SECOND}"
        self.client = await self.granted(
            self.call("createOauthClient", id=self.ann.id, name="honest", redirect=both)
        )
        await self.register_other()
        self.tokens = await self.granted(self.redeem(await self.approve()))
        self.code = await self.approve()

    async def register_other(self) -> None:
        """Have a client of Mallory's registered."""
        self.other = await self.granted(
            self.call("createOauthClient", id=self.mallory.id, name="Mallory's", redirect=ELSEWHERE)
        )

    async def delete_other(self) -> dict[str, object]:
        """Delete Mallory's client and register another: what makes a request one of the deleted client."""
        gone = self.as_other()
        await self.call("deleteOauthClient", id=self.mallory.id, client_id=gone["client_id"])
        await self.register_other()
        return gone

    async def granted(self, work: Awaitable[Any]) -> dict[str, Any]:
        """What a call gives that is to succeed. Raises Mismatch where it was refused."""
        result = await work
        if not isinstance(result, dict) or "error" in result:
            raise Mismatch("what prepares the attack", "that it is done", hidden(result))
        return result

    async def approve(self, **changes: object) -> Any:
        """A code for the honest client; `changes` as in Requests."""
        return await self.call("getOauthAuthorizeApproved", **self._asks.approval(**changes))

    async def redeem(self, code: object, **changes: object) -> Any:
        """Exchange a code as the honest client."""
        return await self.call("getOauthToken", **self._asks.exchange(code, **changes))

    async def refresh(self, refresh_token: object, **changes: object) -> Any:
        """Exchange a refresh token as the honest client."""
        return await self.call("getOauthToken", **self._asks.renewal(refresh_token, **changes))

    async def approve_other(self, **changes: object) -> Any:
        """A code for Mallory's client, which she approved herself."""
        own = {"token": self.mallory.token, "client_id": self.other["id"], "redirect_uri": ELSEWHERE}
        return await self.approve(**{**own, **changes})

    async def redeem_other(self, code: object, **changes: object) -> Any:
        """Exchange a code as Mallory's client."""
        return await self.redeem(code, **{**self.as_other(), "redirect_uri": ELSEWHERE, **changes})

    def as_other(self) -> dict[str, object]:
        """Changes that make a request one of Mallory's client."""
        return {"client_id": self.other["id"], "client_secret": self.other["secret"]}

    async def whose(self, access_token: object) -> Any:
        """Use an access token."""
        return await self.call("getCurrentUser", token=access_token)

    async def advance(self, seconds: float) -> None:
        """Let lab time go by."""
        assert self._advance is not None, "this attack needs a clock"
        await self._advance(seconds)

    async def fares(self) -> Honest:
        """How the honest party fares: are its tokens and its code what they were?"""
        user = await self.whose(self.tokens["access_token"])
        if not isinstance(user, dict) or user.get("id") != self.ann.id:
            refreshed = await self.refresh(self.tokens["refresh_token"])
            return "revoked" if read(refreshed) == (400, "invalid_grant") else "harmed"
        redeemed = await self.redeem(self.code)
        refreshed = await self.refresh(redeemed.get("refresh_token", ""))
        return "unharmed" if "access_token" in refreshed else "harmed"

    @property
    def _asks(self) -> Requests:
        return Requests(self.ann.token, self.client)


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
    """Play attacks on one stage, and see at the end how the honest party fares.

    One that costs the honest party its tokens is played on a stage of its own. Raises Mismatch where it cannot
    be prepared.
    """
    together = [each for each in attacks if each.honest == "unharmed"]
    outcomes = []
    apart = [[each] for each in attacks if each.honest != "unharmed"]
    for played in filter(None, [together, *apart]):
        stage = Stage(call, ann, mallory, advance)
        await stage.set()
        answers = [read(await each.play(stage)) for each in played]
        fares = await stage.fares()
        outcomes += [Outcome(each, *answer, fares) for each, answer in zip(played, answers, strict=True)]
    return outcomes


def read(result: object) -> tuple[int | None, str | None]:
    """Status and code of an error object (document 2, Errors); None for what is none."""
    if not isinstance(result, dict) or result.get("type") != "QueryError":
        return None, None
    try:
        told = json.loads(result["error"])
    except (KeyError, TypeError, ValueError):
        return None, None
    return (result.get("status"), told.get("code")) if isinstance(told, dict) else (None, None)
