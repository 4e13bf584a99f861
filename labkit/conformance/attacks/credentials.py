"""Attacks with codes and refresh tokens: replayed, crossed between clients, altered, guessed, too late."""

from __future__ import annotations

from collections.abc import Callable

from labkit.conformance.attacks.stage import ELSEWHERE, Attack, Stage, attack, declared
from labkit.conformance.oauth_requests import CALLBACK, SECOND

REUSE = "RFC 6749 4.1.2"  # a code used twice revokes what it gave
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
    async def play(stage: Stage) -> object:
        return await stage.redeem(change(stage.code))

    how = f"Exchange a code {name}."
    return Attack("codes", f"code {name}", GUESSING, how, 400, "invalid_grant", play)


def _altered_refresh(name: str, change: Callable[[str], object]) -> Attack:
    async def play(stage: Stage) -> object:
        return await stage.refresh(change(stage.tokens["refresh_token"]))

    how = f"Exchange a refresh token {name}."
    return Attack("refresh tokens", f"refresh token {name}", GUESSING, how, 400, "invalid_grant", play)


# --- codes --------------------------------------------------------------------------------------------------


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed(stage: Stage) -> object:
    """Exchange a code once more that the honest client exchanged: the tokens it got die with it."""
    stage.tokens = await stage.granted(stage.redeem(stage.code))
    return await stage.redeem(stage.code)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed_without_secret(stage: Stage) -> object:
    """The same by somebody who has the code, but not the client's secret."""
    stage.tokens = await stage.granted(stage.redeem(stage.code))
    return await stage.redeem(stage.code, client_secret=None)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked")
async def code_replayed_after_a_refresh(stage: Stage) -> object:
    """Exchange a spent code after its tokens were refreshed: the refreshed ones came from it too."""
    tokens = await stage.granted(stage.redeem(stage.code))
    stage.tokens = await stage.granted(stage.refresh(tokens["refresh_token"]))
    return await stage.redeem(stage.code)


@attack("codes", REUSE, 400, "invalid_grant", honest="revoked", clock=True)
async def code_replayed_late(stage: Stage) -> object:
    """Exchange a spent code after its ten minutes: it was used twice all the same."""
    stage.tokens = await stage.granted(stage.redeem(stage.code))
    await stage.advance(600)
    return await stage.redeem(stage.code)


@attack("codes", REUSE, 400, "invalid_grant")
async def code_replayed_that_another_replaced(stage: Stage) -> object:
    """Exchange a code whose tokens were replaced by those of a later one: these did not come from it."""
    spent = stage.code
    await stage.redeem(spent)
    stage.tokens = await stage.granted(stage.redeem(await stage.approve()))
    stage.code = await stage.approve()
    return await stage.redeem(spent)


@attack("codes", BINDING, 400, "invalid_grant")
async def stolen_code_at_another_client(stage: Stage) -> object:
    """Exchange the honest client's code as Mallory's client, with her own secret."""
    return await stage.redeem(stage.code, **stage.as_other())


@attack("codes", BINDING, 400, "invalid_grant")
async def stolen_code_at_another_client_with_her_redirect(stage: Stage) -> object:
    """The same, with the redirect that Mallory's client registered."""
    return await stage.redeem(stage.code, **stage.as_other(), redirect_uri=ELSEWHERE)


@attack("codes", INJECTION, 400, "invalid_grant")
async def injected_code(stage: Stage) -> object:
    """Slip the honest client a code of Mallory's client, so that it acts on her behalf."""
    return await stage.redeem(await stage.approve_other())


@attack("codes", INJECTION, 400, "invalid_grant")
async def injected_code_with_its_redirect(stage: Stage) -> object:
    """The same, with the redirect that the code was made for."""
    return await stage.redeem(await stage.approve_other(), redirect_uri=ELSEWHERE)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_the_other_redirect(stage: Stage) -> object:
    """Exchange a code with a redirect that the client registered too, but did not ask with."""
    return await stage.redeem(stage.code, redirect_uri=SECOND)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_a_foreign_redirect(stage: Stage) -> object:
    """Exchange a code with a redirect of Mallory's, as if the code had come to her by one."""
    return await stage.redeem(stage.code, redirect_uri=ELSEWHERE)


@attack("codes", BINDING, 400, "invalid_grant")
async def code_with_a_near_redirect(stage: Stage) -> object:
    """Exchange a code with its redirect and a slash more."""
    return await stage.redeem(stage.code, redirect_uri=f"{CALLBACK}/")


@attack("codes", BINDING, 400, "invalid_request")
async def code_without_redirect(stage: Stage) -> object:
    """Exchange a code without saying where it came to."""
    return await stage.redeem(stage.code, redirect_uri=None)


@attack("codes", REUSE, 400, "invalid_grant", clock=True)
async def code_too_late(stage: Stage) -> object:
    """Exchange a code 600 seconds after it was made."""
    late = stage.code
    await stage.advance(600)
    stage.code = await stage.approve()
    return await stage.redeem(late)


@attack("codes", GUESSING, 400, "invalid_grant")
async def refresh_token_as_code(stage: Stage) -> object:
    """Exchange a refresh token as if it were a code."""
    return await stage.redeem(stage.tokens["refresh_token"])


@attack("codes", GUESSING, 400, "invalid_grant")
async def access_token_as_code(stage: Stage) -> object:
    """Exchange an access token as if it were a code."""
    return await stage.redeem(stage.tokens["access_token"])


@attack("codes", "RFC 6749 3.2", 400, None)
async def several_codes(stage: Stage) -> object:
    """Send a list of codes, one of them true."""
    return await stage.redeem([stage.code, "0" * 40])


# --- refresh tokens -----------------------------------------------------------------------------------------


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_replayed(stage: Stage) -> object:
    """Exchange a refresh token once more that the honest client exchanged: one of the two is a thief."""
    spent = stage.tokens["refresh_token"]
    stage.tokens = await stage.granted(stage.refresh(spent))
    return await stage.refresh(spent)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def first_refresh_token_replayed(stage: Stage) -> object:
    """The same with one that was exchanged two turns ago."""
    first = stage.tokens["refresh_token"]
    second = await stage.granted(stage.refresh(first))
    stage.tokens = await stage.granted(stage.refresh(second["refresh_token"]))
    return await stage.refresh(first)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_replayed_without_secret(stage: Stage) -> object:
    """Replay a refresh token without the client's secret."""
    spent = stage.tokens["refresh_token"]
    stage.tokens = await stage.granted(stage.refresh(spent))
    return await stage.refresh(spent, client_secret=None)


@attack("refresh tokens", ROTATION, 400, "invalid_grant", honest="revoked")
async def refresh_token_used_first_by_a_thief(stage: Stage) -> object:
    """A thief exchanges a refresh token before its owner does: the owner's turn ends the thief's tokens."""
    stolen = stage.tokens["refresh_token"]
    stage.tokens = await stage.granted(stage.refresh(stolen, client_secret=None))
    return await stage.refresh(stolen)


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant")
async def refresh_token_of_a_former_set(stage: Stage) -> object:
    """Exchange a refresh token whose set was replaced by that of a later code."""
    former = stage.tokens["refresh_token"]
    stage.tokens = await stage.granted(stage.redeem(stage.code))
    stage.code = await stage.approve()
    return await stage.refresh(former)


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant")
async def stolen_refresh_token_at_another_client(stage: Stage) -> object:
    """Exchange the honest client's refresh token as Mallory's client, with her own secret."""
    return await stage.refresh(stage.tokens["refresh_token"], **stage.as_other())


@attack("refresh tokens", INJECTION, 400, "invalid_grant")
async def injected_refresh_token(stage: Stage) -> object:
    """Slip the honest client a refresh token of Mallory's client."""
    hers = await stage.granted(stage.redeem_other(await stage.approve_other()))
    return await stage.refresh(hers["refresh_token"])


@attack("refresh tokens", BOUND_REFRESH, 400, "invalid_grant", clock=True)
async def refresh_token_too_late(stage: Stage) -> object:
    """Exchange a refresh token at the last second of its lifetime."""
    late = await stage.granted(stage.redeem(stage.code, refresh_token_ttl=1))
    await stage.advance(1)
    refused = await stage.refresh(late["refresh_token"])
    stage.tokens = await stage.granted(stage.redeem(await stage.approve()))
    stage.code = await stage.approve()
    return refused


@attack("refresh tokens", GUESSING, 400, "invalid_grant")
async def code_as_refresh_token(stage: Stage) -> object:
    """Exchange a code as if it were a refresh token, to do without its redirect."""
    return await stage.refresh(stage.code)


@attack("refresh tokens", GUESSING, 400, "invalid_grant")
async def access_token_as_refresh_token(stage: Stage) -> object:
    """Exchange an access token as if it were a refresh token."""
    return await stage.refresh(stage.tokens["access_token"])


ATTACKS = (
    *declared(globals()),
    *(_altered_code(name, change) for name, change in ALTERED.items()),
    *(_altered_refresh(name, change) for name, change in ALTERED.items()),
)
