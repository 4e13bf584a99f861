"""The OAuth provider: clients, and the codes that users approve. Every check creates its own users."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from labkit.conformance import expect
from labkit.conformance.check import check, model_check
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.attacks import CREDENTIALS, REQUESTS, TOKENS, Actor, attempt
from labkit.conformance.user.oauth.attacks.scenario import Attack
from labkit.conformance.user.oauth.client import CALLBACK, SECOND
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import NOBODY, User

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


TYPES: dict[str, type] = {
    "id": int,
    "name": str,
    "secret": str,
    "revoked": bool,
    "user_id": int,
    "redirect": str,
    "created_at": str,
    "updated_at": str,
    "password_client": bool,
    "personal_access_client": bool,
}


@check("USR-OAUTH-1", "a client exchanges a user's approval for tokens of the user")
async def the_flow(target: Target) -> None:
    shop = await Shop.open(target)
    tokens = await shop.redeem(await shop.approve())
    await shop.expect_valid(tokens)
    await shop.expect_valid(await shop.refresh(tokens["refresh_token"]))


# ---- clients


@check("USR-OAUTH-2 USR-OAUTH-9", "createOauthClient gives the whole client, and so does getOauthClients")
async def records(target: Target) -> None:
    shop = await Shop.open(target)
    _expect_record(shop, shop.client.record)
    given = {name: shop.client.record[name] for name in ("name", "user_id", "redirect")}
    shop.same("client", given, {"name": "Shop", "user_id": shop.ann.id, "redirect": CALLBACK})
    shop.same("the list", await shop.clients(shop.ann), [shop.client.record])
    second = await shop.register(shop.ann, SECOND)
    other = await shop.person()
    shop.same("the list of somebody without clients", await shop.clients(other), [])
    third = await shop.register(other)
    listed = sorted(await shop.clients(shop.ann), key=lambda client: str(client.get("redirect")))
    shop.same("the list of two", listed, [shop.client.record, second])
    shop.same("the other's list", await shop.clients(other), [third])


@check("USR-OAUTH-3", "a new client has a higher id, a long secret, times and no flags")
async def new_clients(target: Target) -> None:
    shop = await Shop.open(target)
    second = await shop.register(shop.ann)
    expect.true("the id is higher", second["id"] > shop.client.id, second["id"], shop.last)
    expect.true("the secret is another", second["secret"] != shop.client.secret, "the same", shop.last)
    for client in (shop.client.record, second):
        fits = re.fullmatch(r"[A-Za-z0-9]{40}", str(client["secret"]))
        expect.true("the secret has 40 letters and digits", fits, len(str(client["secret"])), shop.last)
        for name in ("created_at", "updated_at"):
            fits = re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", str(client.get(name)))
            expect.true(f"{name} is a time", fits, client.get(name), shop.last)
        for name in ("revoked", "password_client", "personal_access_client"):
            shop.same(name, client.get(name), False)
    await shop.nothing("deleteOauthClient", id=shop.ann.id, client_id=second["id"])
    third = await shop.register(shop.ann)
    expect.true("no id comes again", third["id"] > second["id"], third["id"], shop.last)


@check("USR-OAUTH-4", "several redirects are kept, and one that no URI of a client can be is refused")
async def redirects(target: Target) -> None:
    shop = await Shop.open(target)
    both = f"{CALLBACK},{SECOND}"
    listed = await shop.register(shop.ann, [CALLBACK, SECOND])
    client = await shop.register(shop.ann, both)
    shop.same("redirects", [listed.get("redirect"), client.get("redirect")], [both, both])
    for fit in (
        "http://localhost:8080/cb",
        "http://[::1]/cb",
        "com.example.app:/callback",
        "https://app.example",
        f" {CALLBACK} , {SECOND} ",
    ):
        made = await shop.register(shop.ann, fit)
        shop.same("redirects", made.get("redirect"), fit.replace(" ", ""))
    before = await shop.clients(shop.ann)
    mine: dict[str, Any] = {"id": shop.ann.id, "name": "Other"}
    unfits: list[object] = [
        *("/callback", "callback", "myapp:/callback", "https://", "https://[::1/cb", "https://app.example/é"),
        *(f"{CALLBACK}#here", f"{CALLBACK},callback", f"{CALLBACK},", f"{CALLBACK}\n/more", f"{CALLBACK} b"),
        *("", 7, {"a": CALLBACK}, [CALLBACK, ""], [both]),
    ]
    for unfit in unfits:
        await shop.refused("createOauthClient", 400, **mine, redirect=unfit)
        await shop.refused("updateOauthClient", 400, **mine, client_id=client["id"], redirect=unfit)
    shop.same("the clients", await shop.clients(shop.ann), before)


@check("USR-OAUTH-4", "fifty redirects are accepted, in a list or a text; more are refused")
async def many_redirects(target: Target) -> None:
    shop = await Shop.open(target)
    many = [f"{CALLBACK}/{number}" for number in range(51)]
    for several in (many[:50], ",".join(many[:50])):
        client = await shop.register(shop.ann, several)
        shop.same("redirects", client.get("redirect"), ",".join(many[:50]))
    mine: dict[str, Any] = {"id": shop.ann.id, "name": "Other"}
    for too_many in (many, ",".join(many)):
        await shop.refused("createOauthClient", 400, **mine, redirect=too_many)


@check("USR-OAUTH-5", "an update changes name and redirect at once")
async def updates(target: Target) -> None:
    shop = await Shop.open(target)
    changes = {"name": "Store", "redirect": SECOND}
    given = await shop.table("updateOauthClient", id=shop.ann.id, client_id=shop.client.id, **changes)
    wanted = {**shop.client.record, **changes, "updated_at": given.get("updated_at")}
    shop.same("what updateOauthClient gives", given, wanted)
    shop.same("the list", await shop.clients(shop.ann), [wanted])
    code = await shop.approve(redirect_uri=SECOND)
    await shop.expect_valid(await shop.redeem(code, redirect_uri=SECOND))


@check("USR-OAUTH-6 USR-OAUTH-7", "a deleted client is gone, and its codes and tokens are invalid")
async def deletion(target: Target) -> None:
    shop = await Shop.open(target)
    kept = await shop.register(shop.ann)
    tokens, code = await shop.tokens(), await shop.approve()
    await shop.nothing("deleteOauthClient", id=shop.ann.id, client_id=shop.client.id)
    shop.same("the list", await shop.clients(shop.ann), [kept])
    await shop.refused("getOauthClientRedirectPath", 404, client_id=shop.client.id)
    await shop.expect_ended(tokens)
    await shop.refused_redemption(401, code)
    await shop.refused_refresh(401, tokens["refresh_token"])
    await shop.refused_approval(400)


@check("USR-OAUTH-8", "nobody updates or deletes the client of another user")
async def foreign_clients(target: Target) -> None:
    older = await User(target).person()
    shop = await Shop.open(target)
    for other in (older, await shop.person()):
        foreign: dict[str, Any] = {"id": other.id, "client_id": shop.client.id}
        await shop.refused("updateOauthClient", 404, **foreign, name="Mine", redirect=SECOND)
        await shop.refused("deleteOauthClient", 404, **foreign)
    shop.same("the list", await shop.clients(shop.ann), [shop.client.record])


@check("USR-OAUTH-10 USR-OAUTH-11", "the redirect path is for the redirect that the index picks")
async def redirect_paths(target: Target) -> None:
    shop = await Shop.open(target, [CALLBACK, SECOND])
    id = shop.client.id
    picks: list[dict[str, int]] = [{}, {"redirectIndex": 0}, {"redirectIndex": 1}]
    for pick, redirect in zip(picks, (CALLBACK, CALLBACK, SECOND), strict=True):
        path = await shop.text("getOauthClientRedirectPath", client_id=id, **pick)
        wanted = f"redirect_uri={quote(redirect, safe='')}&response_type=code&scope="
        shop.same("the path", path, f"/authorize_approved?client_id={id}&{wanted}")
    for index in (2, -1, 1.5, "second"):
        await shop.refused("getOauthClientRedirectPath", 400, client_id=id, redirectIndex=index)


# ---- codes


@check("USR-OAUTH-12 USR-OAUTH-15", "a code is for the user who approved, and safe in a URL")
async def codes(target: Target) -> None:
    shop = await Shop.open(target, [CALLBACK, SECOND])
    bob = await shop.person()
    code = await shop.approve(token=await shop.login(bob), redirect_uri=SECOND)
    tokens = await shop.redeem(code, redirect_uri=SECOND)
    await shop.expect_valid(tokens, bob)
    another = await shop.approve()
    expect.true("each code is another", code != another, "the same", shop.last)
    for each in (code, another):
        fits = re.fullmatch(r"[A-Za-z0-9]{40}", each)
        expect.true("a code has 40 letters and digits", fits, len(each), shop.last)


@check("USR-OAUTH-13 USR-OAUTH-14", "only a user's own token approves a client")
async def bearers(target: Target) -> None:
    shop = await Shop.open(target)
    token = shop.client.token
    head, body, signature = token.split(".") if token.count(".") == 2 else ("", token, "")
    altered = ("A" if signature[:1] != "A" else "B") + signature[1:]
    tokens = await shop.tokens()
    for token in (f"{head}.{body}.{altered}", f"{head}.{body}.", "", tokens["access_token"]):
        expect.equal("name", await shop.refused_approval(401, token=token), "invalid_token", shop.last)


@check("USR-OAUTH-16", "a redirect that differs in any way from the client's own is refused")
async def near_redirects(target: Target) -> None:
    shop = await Shop.open(target, [CALLBACK, SECOND])
    for uri in (f"{CALLBACK}/", CALLBACK[:-1], CALLBACK.upper(), SECOND.partition("?")[0], ""):
        expect.equal("name", await shop.refused_approval(400, redirect_uri=uri), "invalid_request", shop.last)
    await shop.approve(redirect_uri=SECOND)


@check("USR-OAUTH-17", "other mistakes of an approval have the error codes of RFC 6749")
async def wrong_approvals(target: Target) -> None:
    shop = await Shop.open(target)
    for changes, name in (
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "two  spaces"}, "invalid_scope"),
        ({"scope": 'quo"te'}, "invalid_scope"),
        ({"client_id": NOBODY}, "unauthorized_client"),
    ):
        expect.equal("name", await shop.refused_approval(400, **changes), name, shop.last)
    for scope in ("", "profile email", "urn:x#!~[]/$", "a b c d", None):
        await shop.approve(scope=scope)


# ---- secrets and attacks


@check("USR-OAUTH-39", "the journal has no secret of a client", needs={"journal"})
async def secrecy(target: Target) -> None:
    shop = await Shop.open(target)
    code = await shop.approve()
    first = await shop.redeem(code)
    second = await shop.refresh(first["refresh_token"])
    await shop.refused_redemption(400, code)
    await shop.refused_redemption(401, "a guessed code", client_secret="a guessed secret")
    secrets = [shop.client.token, shop.client.secret, code, "guessed"]
    secrets += [tokens[name] for tokens in (first, second) for name in ("access_token", "refresh_token")]
    written = await target.journaled_calls("Oauth")
    expect.true("the calls are there", CALLBACK in written, "nothing")
    found = [secret for secret in secrets if secret in written]
    expect.true("the journal has none of them", not found, f"{len(found)} secrets")


async def _withstood(target: Target, attacks: tuple[Attack, ...]) -> None:
    user = User(target)
    ann, mallory = [
        Actor(person.id, await user.login(person)) for person in [await user.person(), await user.person()]
    ]

    async def call(operation: str, **parameters: object) -> Any:
        return (await user.call("User", operation, parameters))[1]

    for outcome in await attempt(attacks, call, ann, mallory, target.advance):
        attack, seen = outcome.attack, (outcome.status, outcome.code, outcome.honest)
        wanted = f"{attack.status} {attack.code}, the honest client {attack.honest}"
        expect.true(f"{attack.name} ({attack.rfc}): {wanted}", outcome.withstood, seen)


@check("USR-OAUTH-38", "attacks with redirects, clients, secrets, grants, scopes and lifetimes are refused")
async def request_attacks(target: Target) -> None:
    await _withstood(target, REQUESTS)


@check("USR-OAUTH-38", "attacks with codes and refresh tokens are refused")
async def credential_attacks(target: Target) -> None:
    await _withstood(target, tuple(each for each in CREDENTIALS if not each.clock))


@check("USR-OAUTH-38", "attacks with access tokens and bearer tokens are refused")
async def token_attacks(target: Target) -> None:
    await _withstood(target, tuple(each for each in TOKENS if not each.clock))


@check("USR-OAUTH-38", "attacks with expired codes and tokens are refused", needs={"clock"})
async def late_attacks(target: Target) -> None:
    await _withstood(target, tuple(each for each in (*CREDENTIALS, *TOKENS) if each.clock))


def _expect_record(shop: Shop, client: Mapping[str, Any]) -> None:
    """Raise a Mismatch unless the client has exactly the fields of the record, with their types."""
    shop.same("fields of a client", sorted(client), sorted(TYPES))
    for name, kind in TYPES.items():
        expect.true(f"{name} is {kind.__name__}", type(client[name]) is kind, client[name], shop.last)


@model_check(
    "USR-OAUTH-1 USR-OAUTH-6 USR-OAUTH-7 USR-OAUTH-12 USR-OAUTH-20 USR-OAUTH-21 USR-OAUTH-24 USR-OAUTH-26 USR-OAUTH-29 "
    "USR-OAUTH-31 USR-OAUTH-32 USR-OAUTH-33 USR-OAUTH-34 USR-OAUTH-35 USR-OAUTH-36 USR-OAUTH-37 USR-OAUTH-38 "
    "USR-TOKEN-8",
    "codes and token sets of two users and two clients that are exchanged in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of OAuth."""
    from labkit.conformance.user.oauth.oauth import OAuth

    return OAuth
