"""The life of codes and tokens, whatever is done in whichever order: played beside a small model."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from tests.services.user.environment import Environment
from tests.services.user.oauth.clients import registered
from tests.sizes import size

T = TypeVar("T")
LIFETIMES = st.sampled_from([1, 60, 600, 700])


@dataclass(eq=False)
class Approval:
    """The model: what a user granted to a client, and when its parts die."""

    client: int
    user: int
    code_until: int
    ended: bool = False
    sets: list[Tokens] = field(default_factory=list)


@dataclass(eq=False)
class Tokens:
    """The model of a set: the newest one of its approval is alive until the approval ends."""

    approval: Approval
    access_token: str
    refresh_token: str
    access_until: int
    refresh_until: int


@dataclass(eq=False)
class Code:
    """A code and what it stands for."""

    text: str
    approval: Approval


class Life(RuleBasedStateMachine):
    """Two users and two clients; whoever exchanges something sends the right client and secret, or not."""

    codes: Bundle[Code] = Bundle("codes")
    sets: Bundle[Tokens] = Bundle("sets")

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.env = Environment()
        self.approvals: list[Approval] = []
        self.deleted: set[int] = set()

    @initialize()
    def open(self) -> None:
        self.clients = [self.do(registered(self.env, name)) for name in ("ann", "bob")]

    def teardown(self) -> None:
        self.env.close()
        self.loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    @property
    def now(self) -> int:
        return self.env.clock.seconds()

    @rule(target=codes, client=st.integers(0, 1), user=st.integers(0, 1))
    def approve(self, client: int, user: int) -> Any:
        result = self.do(self.clients[client].approve(token=self.clients[user].token))
        assert (len(result) == 40) is (client not in self.deleted)
        if client in self.deleted:
            return multiple()
        self.approvals.append(Approval(client, user, self.now + 600))
        return Code(result, self.approvals[-1])

    @rule(target=sets, code=codes, access=LIFETIMES, refresh=LIFETIMES, by=st.sampled_from([0, 0, 0, 1]))
    def redeem(self, code: Code, access: int, refresh: int, by: int) -> Any:
        approval = code.approval
        client = (approval.client + by) % 2
        ttls = {"access_token_ttl": access, "refresh_token_ttl": refresh}
        result = self.do(self.clients[client].redeem(code.text, **ttls))
        if by or client in self.deleted or approval.ended:
            return self.refused(result)
        if approval.sets:
            approval.ended = True
            return self.refused(result)
        if self.now >= approval.code_until:
            return self.refused(result)
        for each in self.approvals:
            if each.sets and (each.client, each.user) == (approval.client, approval.user):
                each.ended = True
        return self.given(result, approval, access, refresh)

    @rule(target=sets, tokens=sets, access=LIFETIMES, refresh=LIFETIMES, by=st.sampled_from([0, 0, 0, 1]))
    def refresh(self, tokens: Tokens, access: int, refresh: int, by: int) -> Any:
        approval = tokens.approval
        client = (approval.client + by) % 2
        ttls = {"access_token_ttl": access, "refresh_token_ttl": refresh}
        result = self.do(self.clients[client].refresh(tokens.refresh_token, **ttls))
        if by or client in self.deleted or approval.ended:
            return self.refused(result)
        if approval.sets[-1] is not tokens:
            approval.ended = True
            return self.refused(result)
        if self.now >= tokens.refresh_until:
            return self.refused(result)
        return self.given(result, approval, access, refresh)

    @rule(seconds=st.sampled_from([1, 59, 60, 540, 599, 600]))
    def wait(self, seconds: int) -> None:
        self.do(self.env.clock.advance(seconds))

    @rule(client=st.integers(0, 1), sure=st.sampled_from([False, False, False, True]))
    def delete(self, client: int, sure: bool) -> None:
        if not sure or client in self.deleted:
            return
        own = self.clients[client]
        self.do(self.env.call("deleteOauthClient", id=own.owner, client_id=own.id))
        self.deleted.add(client)

    @invariant()
    def the_tokens_that_should_live_do(self) -> None:
        for approval in self.approvals:
            for tokens in approval.sets:
                lives = (
                    approval.sets[-1] is tokens
                    and not approval.ended
                    and approval.client not in self.deleted
                    and self.now < tokens.access_until
                )
                user = self.do(self.env.call("getCurrentUser", token=tokens.access_token))
                assert user.get("id") == (self.clients[approval.user].id if lives else None)

    def refused(self, result: dict[str, Any]) -> Any:
        assert result["status"] in (400, 401)
        return multiple()

    def given(self, result: dict[str, Any], approval: Approval, access: int, refresh: int) -> Tokens:
        assert "error" not in result, result
        times = self.now + access, self.now + refresh
        approval.sets.append(Tokens(approval, result["access_token"], result["refresh_token"], *times))
        return approval.sets[-1]


TestLife = Life.TestCase
TestLife.settings = settings(max_examples=size(20, 1_000), stateful_step_count=20)
