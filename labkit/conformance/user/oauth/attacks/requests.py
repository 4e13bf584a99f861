"""Attacks with requests: near misses of redirects, other clients, wrong secrets, grants, scopes, lifetimes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from labkit.conformance.user.oauth.attacks.scenario import (
    MALLORYS_REDIRECT,
    Attack,
    Scenario,
    attack,
    attacks_in,
)
from labkit.conformance.user.oauth.client import CALLBACK, SECOND

EXACT_REDIRECT = "RFC 9700 4.1.3"
NEAR_REDIRECTS = {  # redirects that anything but an exact comparison could accept
    "a slash more": f"{CALLBACK}/",
    "a path below": f"{CALLBACK}/deeper",
    "a way out of the path": f"{CALLBACK}/../admin",
    "the path alone cut": CALLBACK.removesuffix("back"),
    "the path in capitals": CALLBACK.replace("callback", "Callback"),
    "the host in capitals": CALLBACK.replace("app.", "APP."),
    "a percent-encoded letter": CALLBACK.replace("callback", "c%61llback"),
    "a query": f"{CALLBACK}?next={MALLORYS_REDIRECT}",
    "a fragment": f"{CALLBACK}#token",
    "plain http": CALLBACK.replace("https:", "http:"),
    "the port written out": CALLBACK.replace(".example/", ".example:443/"),
    "another port": CALLBACK.replace(".example/", ".example:8443/"),
    "a host below": CALLBACK.replace("//app", "//evil.app"),
    "a host that begins alike": CALLBACK.replace(".example/", ".example.mallory.example/"),
    "the host as a user name": CALLBACK.replace("/callback", "@mallory.example/callback"),
    "both redirects at once": f"{CALLBACK},{SECOND}",
    "a space before": f" {CALLBACK}",
    "a line end": f"{CALLBACK}\n",
    "a pattern": "https://*",
    "another client's": MALLORYS_REDIRECT,
    "nothing in it": "",
}
INVALID_REDIRECTS = {  # redirects that no client may register
    "a fragment": f"{CALLBACK}#here",
    "an empty fragment": f"{CALLBACK}#",
    "a path alone": "/callback",
    "no scheme": "//app.example/callback",
    "no host": "https:///callback",
    "a script": "javascript:alert(1)",
    "data": "data:text/html,hello",
    "a line end": f"{CALLBACK}\nSet-Cookie:a=b",
    "an unfit second one": f"{CALLBACK},#",
    "nothing": "",
}
WRONG_SECRETS: dict[str, Callable[[str], str]] = {
    "without its last letter": lambda secret: secret[:-1],
    "with a letter more": lambda secret: secret + "a",
    "in the other letter case": str.swapcase,
    "that is empty": lambda secret: "",
    "of another length": lambda secret: secret * 2,
}
GRANTS = {
    "password": "RFC 9700 2.4",
    "client_credentials": "RFC 6749 4.4",
    "implicit": "RFC 9700 2.1.2",
    "urn:ietf:params:oauth:grant-type:device_code": "RFC 6749 4.5",
    "urn:ietf:params:oauth:grant-type:jwt-bearer": "RFC 6749 4.5",
    "Authorization_Code": "RFC 6749 4.1.3",
    "": "RFC 6749 5.2",
}
RESPONSE_TYPES = ("token", "code token", "id_token", "CODE", "")
SCOPES = {
    "a quote": 'pro"file',
    "a backslash": "pro\\file",
    "two spaces": "profile  email",
    "a space before": " profile",
    "a space after": "profile ",
    "a line end": "profile\n",
    "a letter beyond ASCII": "prófile",
    "a control character": "profile\x7f",
}
LIFETIMES = {"zero": 0, "negative": -1, "a fraction": 1.5, "a word": "forever", "beyond all measure": 2**70}


def _authorize(group: str, name: str, rfc: str, code: str, **changes: object) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.approve(**changes)

    listed = ", ".join(f"{parameter} {value!r}" for parameter, value in changes.items())
    return Attack(group, name, rfc, f"Ask for a code with {listed}.", 400, code, play)


def _register(name: str, redirect: str) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.call(
            "createOauthClient", id=scenario.mallory.id, name="Mallory's", redirect=redirect
        )

    how = f"Register a client with the redirect {redirect!r}."
    return Attack("redirects", f"registered redirect with {name}", "RFC 6749 3.1.2", how, 400, None, play)


def _secret(name: str, change: Callable[[str], str]) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.redeem(scenario.code, client_secret=change(scenario.client.secret))

    how = f"Exchange a code with a client_secret {name}."
    return Attack("secrets", f"secret {name}", "RFC 6749 2.3.1", how, 401, "invalid_client", play)


def _grant(grant_type: str, rfc: str) -> Attack:
    async def play(scenario: Scenario) -> object:
        everything: dict[str, Any] = {"refresh_token": scenario.tokens["refresh_token"], "scope": "profile"}
        return await scenario.client.redeem(scenario.code, grant_type=grant_type, **everything)

    how = f"Exchange a code with the grant_type {grant_type!r}."
    name = f"grant {grant_type}" if grant_type else "grant of no name"
    return Attack("grants", name, rfc, how, 400, "unsupported_grant_type", play)


def _lifetime(parameter: str, name: str, value: object) -> Attack:
    async def play(scenario: Scenario) -> object:
        return await scenario.client.redeem(scenario.code, **{parameter: value})

    how = f"Exchange a code with {parameter} {value!r}."
    return Attack("ttl", f"{parameter} that is {name}", "RFC 6749 4.2.2", how, 400, None, play)


# --- clients ------------------------------------------------------------------------------------------------


@attack("clients", "RFC 6749 5.2", 401, "invalid_client")
async def unknown_client(scenario: Scenario) -> object:
    """Exchange a code as a client that does not exist."""
    return await scenario.client.redeem(scenario.code, client_id=10**9)


@attack("clients", "RFC 6749 5.2", 400, None)
async def client_id_that_is_a_query(scenario: Scenario) -> object:
    """Exchange a code as a client whose id is a piece of SQL."""
    return await scenario.client.redeem(
        scenario.code, client_id=f"{scenario.client.id} OR 1=1", client_secret=None
    )


@attack("clients", "RFC 6749 4.1.2.1", 400, "unauthorized_client")
async def approval_of_an_unknown_client(scenario: Scenario) -> object:
    """Ask for a code for a client that does not exist."""
    return await scenario.client.approve(client_id=10**9)


@attack("clients", "RFC 6749 4.1.2.1", 400, "unauthorized_client")
async def approval_of_a_deleted_client(scenario: Scenario) -> object:
    """Ask for a code for a client that was deleted."""
    deleted = await scenario.delete_other()
    return await scenario.other.approve(client_id=deleted["client_id"])


@attack("clients", "RFC 6749 5.2", 401, "invalid_client")
async def code_of_a_deleted_client(scenario: Scenario) -> object:
    """Exchange a code that a client got before it was deleted."""
    code = await scenario.other.approve()
    return await scenario.other.redeem(code, **await scenario.delete_other())


@attack("clients", "RFC 6749 5.2", 401, "invalid_client")
async def refresh_token_of_a_deleted_client(scenario: Scenario) -> object:
    """Exchange a refresh token that a client got before it was deleted."""
    tokens = await scenario.expect_success(scenario.other.redeem(await scenario.other.approve()))
    return await scenario.client.refresh(tokens["refresh_token"], **await scenario.delete_other())


@attack("clients", "RFC 6750 3.1", 401, None)
async def access_token_of_a_deleted_client(scenario: Scenario) -> object:
    """Use an access token that a client got before it was deleted."""
    tokens = await scenario.expect_success(scenario.other.redeem(await scenario.other.approve()))
    await scenario.delete_other()
    return await scenario.client.user_of(tokens["access_token"])


@attack("clients", "RFC 6749 2.2", 404, None)
async def redirect_changed_by_another_user(scenario: Scenario) -> object:
    """Change the honest client's redirect as a user who does not own it."""
    changes = {"client_id": scenario.client.id, "name": "honest", "redirect": MALLORYS_REDIRECT}
    return await scenario.call("updateOauthClient", id=scenario.mallory.id, **changes)


@attack("clients", "RFC 6749 2.2", 404, None)
async def client_deleted_by_another_user(scenario: Scenario) -> object:
    """Delete the honest client, as a user who does not own it."""
    return await scenario.call("deleteOauthClient", id=scenario.mallory.id, client_id=scenario.client.id)


# --- secrets ------------------------------------------------------------------------------------------------


@attack("secrets", "RFC 6749 2.3.1", 401, "invalid_client")
async def secret_of_another_client(scenario: Scenario) -> object:
    """Exchange the honest client's code with the secret of Mallory's client."""
    return await scenario.client.redeem(scenario.code, client_secret=scenario.other.secret)


@attack("secrets", "RFC 6749 6", 401, "invalid_client")
async def refresh_with_a_wrong_secret(scenario: Scenario) -> object:
    """Exchange a refresh token with the secret of Mallory's client."""
    return await scenario.client.refresh(
        scenario.tokens["refresh_token"], client_secret=scenario.other.secret
    )


@attack("secrets", "RFC 9700 4.14.2", 401, "invalid_client")
async def replay_with_a_wrong_secret(scenario: Scenario) -> object:
    """Replay a spent refresh token with a wrong secret: this revokes nothing."""
    spent = scenario.tokens["refresh_token"]
    scenario.tokens = await scenario.expect_success(scenario.client.refresh(spent))
    return await scenario.client.refresh(spent, client_secret=scenario.other.secret)


# --- grants -------------------------------------------------------------------------------------------------


@attack("grants", "RFC 6749 4.1.3", 400, "invalid_request")
async def code_grant_without_code(scenario: Scenario) -> object:
    """Ask for tokens with the client's secret alone."""
    return await scenario.client.redeem(None)


@attack("grants", "RFC 6749 6", 400, "invalid_request")
async def refresh_grant_with_a_code(scenario: Scenario) -> object:
    """Ask for a refresh with a code in its own parameter."""
    return await scenario.client.redeem(scenario.code, grant_type="refresh_token")


@attack("grants", "RFC 6749 4.1.3", 400, "invalid_request")
async def code_grant_with_a_refresh_token(scenario: Scenario) -> object:
    """Ask for an exchange of a code with a refresh token in its own parameter."""
    return await scenario.client.refresh(scenario.tokens["refresh_token"], grant_type="authorization_code")


ATTACKS = (
    *(
        _authorize("redirects", f"redirect with {name}", EXACT_REDIRECT, "invalid_request", redirect_uri=uri)
        for name, uri in NEAR_REDIRECTS.items()
    ),
    *(_register(name, redirect) for name, redirect in INVALID_REDIRECTS.items()),
    *attacks_in(globals()),
    *(_secret(name, change) for name, change in WRONG_SECRETS.items()),
    *(_grant(grant_type, rfc) for grant_type, rfc in GRANTS.items()),
    *(
        _authorize(
            "grants",
            f"response_type {response_type}" if response_type else "response_type of no name",
            "RFC 6749 3.1.1",
            "unsupported_response_type",
            response_type=response_type,
        )
        for response_type in RESPONSE_TYPES
    ),
    *(
        _authorize("scopes", f"scope with {name}", "RFC 6749 3.3", "invalid_scope", scope=scope)
        for name, scope in SCOPES.items()
    ),
    *(
        _lifetime(parameter, name, value)
        for parameter in ("access_token_ttl", "refresh_token_ttl")
        for name, value in LIFETIMES.items()
    ),
)
