"""Attacks with codes and refresh tokens: replayed, used by another client, altered, guessed, expired."""

from __future__ import annotations

from collections.abc import Callable

from labkit.conformance.user.oauth.attacks.scenario import (
    MALLORYS_REDIRECT,
    Attack,
    Scenario,
    attack,
    attacks_in,
)
from labkit.conformance.user.oauth.client import CALLBACK, SECOND

REUSE = "RFC 6749 4.1.2"  # a code used twice revokes its tokens
BINDING = "RFC 6749 4.1.3"  # a code is bound to its client and redirect
INJECTION = "RFC 9700 4.5"
ROTATION = "RFC 9700 4.14.2"
BOUND_REFRESH = "RFC 6749 6"
GUESSING = "RFC 6749 10.10"

ALTERED: dict[str, Callable[[str], object]] = {
    "with another last letter": lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
    "with another first letter": lambda secret: ("a" if secret[0] != "a" else "b") + secret[1:],
    "without its last letter": lambda secret: secret[:-1],
    "with a letter more": lambda secret: secret + "a",
    "with a space before": lambda secret: " " + secret,
    "in the other letter case": str.swapcase,
    "that is empty": lambda secret: "",
    "that is a guess": lambda secret: "0" * len(secret),
    "that is a pattern": lambda secret: "%",
}


def _altered_code(name: str, change: Callable[[str], object]) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.redeem(change(scenario.code))

    how = f"Exchange a code {name}."
    return Attack("codes", f"code {name}", GUESSING, how, 400, "invalid_grant", play)


def _altered_refresh(name: str, change: Callable[[str], object]) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.refresh(change(scenario.tokens["refresh_token"]))

    how = f"Exchange a refresh token {name}."
    return Attack("refresh tokens", f"refresh token {name}", GUESSING, how, 400, "invalid_grant", play)


# --- codes --------------------------------------------------------------------------------------------------


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed(scenario: Scenario) -> object:
    """Exchange a code that the honest client already exchanged: its tokens are revoked."""
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    return await scenario.client.redeem(scenario.code)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed_without_secret(scenario: Scenario) -> object:
    """Replay a code without the client's secret."""
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    return await scenario.client.redeem(scenario.code, client_secret=None)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed_after_a_refresh(scenario: Scenario) -> object:
    """Exchange a spent code after its tokens were refreshed: the refreshed ones came from it too."""
    tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(tokens["refresh_token"]))
    return await scenario.client.redeem(scenario.code)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked", clock=True)
async def code_replayed_late(scenario: Scenario) -> object:
    """Exchange a spent code after its ten minutes: it was used twice all the same."""
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    await scenario.advance(600)
    return await scenario.client.redeem(scenario.code)


@attack("codes", REUSE, 400, "invalid_grant")
async def code_replayed_that_another_replaced(scenario: Scenario) -> object:
    """Replay a code whose tokens were replaced by a later code's: these are not revoked."""
    spent = scenario.code
    await scenario.client.redeem(spent)
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(await scenario.client.approve()))
    scenario.code = await scenario.client.approve()
    return await scenario.client.redeem(spent)


@attack("codes", BINDING, 400, "invalid_grant")
async def stolen_code_at_another_client(scenario: Scenario) -> object:
    """Exchange the honest client's code as Mallory's client, with her own secret."""
    return await scenario.client.redeem(scenario.code, **scenario.other.credentials)


@attack("codes", BINDING, 400, "invalid_grant")
async def stolen_code_at_another_client_with_her_redirect(scenario: Scenario) -> object:
    """Exchange the honest client's code as Mallory's client, with her secret and her redirect."""
    return await scenario.client.redeem(
        scenario.code, **scenario.other.credentials, redirect_uri=MALLORYS_REDIRECT
    )


@attack("codes", INJECTION, 400, "invalid_grant")
async def injected_code(scenario: Scenario) -> object:
    """Inject a code of Mallory's client into the honest client, so that it acts on her behalf."""
    return await scenario.client.redeem(await scenario.other.approve())


@attack("codes", INJECTION, 400, "invalid_grant")
async def injected_code_with_its_redirect(scenario: Scenario) -> object:
    """Inject a code of Mallory's client into the honest client, with the code's own redirect."""
    return await scenario.client.redeem(await scenario.other.approve(), redirect_uri=MALLORYS_REDIRECT)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_the_other_redirect(scenario: Scenario) -> object:
    """Exchange a code with another registered redirect of the client."""
    return await scenario.client.redeem(scenario.code, redirect_uri=SECOND)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_a_foreign_redirect(scenario: Scenario) -> object:
    """Exchange a code with a redirect of Mallory's."""
    return await scenario.client.redeem(scenario.code, redirect_uri=MALLORYS_REDIRECT)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_a_near_redirect(scenario: Scenario) -> object:
    """Exchange a code with its redirect and an additional slash."""
    return await scenario.client.redeem(scenario.code, redirect_uri=f"{CALLBACK}/")


@attack("codes", BINDING, 400, "invalid_request")
async def code_without_redirect(scenario: Scenario) -> object:
    """Exchange a code without a redirect."""
    return await scenario.client.redeem(scenario.code, redirect_uri=None)


@attack("codes", REUSE, 400, "invalid_grant", clock=True)
async def code_too_late(scenario: Scenario) -> object:
    """Exchange a code 600 seconds after it was issued."""
    late = scenario.code
    await scenario.advance(600)
    scenario.code = await scenario.client.approve()
    return await scenario.client.redeem(late)


@attack("codes", GUESSING, 400, "invalid_grant")
async def refresh_token_as_code(scenario: Scenario) -> object:
    """Exchange a refresh token as if it were a code."""
    return await scenario.client.redeem(scenario.tokens["refresh_token"])


@attack("codes", GUESSING, 400, "invalid_grant")
async def access_token_as_code(scenario: Scenario) -> object:
    """Exchange an access token as if it were a code."""
    return await scenario.client.redeem(scenario.tokens["access_token"])


@attack("codes", "RFC 6749 3.2", 400, None)
async def several_codes(scenario: Scenario) -> object:
    """Send a list of codes, one of them valid."""
    return await scenario.client.redeem([scenario.code, "0" * 40])


# --- refresh tokens -----------------------------------------------------------------------------------------


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_replayed(scenario: Scenario) -> object:
    """Replay a refresh token of the honest client: one of both users is a thief."""
    spent = scenario.tokens["refresh_token"]
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(spent))
    return await scenario.client.refresh(spent)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def first_refresh_token_replayed(scenario: Scenario) -> object:
    """Replay a refresh token that was exchanged two refreshes ago."""
    first = scenario.tokens["refresh_token"]
    second = await scenario.expect_success(scenario.client.refresh(first))
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(second["refresh_token"]))
    return await scenario.client.refresh(first)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_replayed_without_secret(scenario: Scenario) -> object:
    """Replay a refresh token without the client's secret."""
    spent = scenario.tokens["refresh_token"]
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(spent))
    return await scenario.client.refresh(spent, client_secret=None)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_used_first_by_a_thief(scenario: Scenario) -> object:
    """Exchange a refresh token before its owner does: the owner's exchange ends the thief's tokens."""
    stolen = scenario.tokens["refresh_token"]
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(stolen, client_secret=None))
    return await scenario.client.refresh(stolen)


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant")
async def refresh_token_of_a_former_set(scenario: Scenario) -> object:
    """Exchange a refresh token whose set was replaced by that of a later code."""
    former = scenario.tokens["refresh_token"]
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(scenario.code))
    scenario.code = await scenario.client.approve()
    return await scenario.client.refresh(former)


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant")
async def stolen_refresh_token_at_another_client(scenario: Scenario) -> object:
    """Exchange the honest client's refresh token as Mallory's client, with her own secret."""
    return await scenario.client.refresh(scenario.tokens["refresh_token"], **scenario.other.credentials)


@attack("refresh tokens", INJECTION, 400, "invalid_grant")
async def injected_refresh_token(scenario: Scenario) -> object:
    """Inject a refresh token of Mallory's client into the honest client."""
    hers = await scenario.expect_success(scenario.other.redeem(await scenario.other.approve()))
    return await scenario.client.refresh(hers["refresh_token"])


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant", clock=True)
async def refresh_token_too_late(scenario: Scenario) -> object:
    """Exchange a refresh token at the last second of its lifetime."""
    late = await scenario.expect_success(scenario.client.redeem(scenario.code, refresh_token_ttl=1))
    await scenario.advance(1)
    refused = await scenario.client.refresh(late["refresh_token"])
    scenario.tokens = await scenario.expect_success(scenario.client.redeem(await scenario.client.approve()))
    scenario.code = await scenario.client.approve()
    return refused


@attack("refresh tokens", GUESSING, 400, "invalid_grant")
async def code_as_refresh_token(scenario: Scenario) -> object:
    """Exchange a code as if it were a refresh token, to do without its redirect."""
    return await scenario.client.refresh(scenario.code)


@attack("refresh tokens", GUESSING, 400, "invalid_grant")
async def access_token_as_refresh_token(scenario: Scenario) -> object:
    """Exchange an access token as if it were a refresh token."""
    return await scenario.client.refresh(scenario.tokens["access_token"])


ATTACKS = (
    *attacks_in(globals()),
    *(_altered_code(name, change) for name, change in ALTERED.items()),
    *(_altered_refresh(name, change) for name, change in ALTERED.items()),
)
