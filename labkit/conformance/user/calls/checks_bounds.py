"""The User service: limits on the length and number of arguments.

Values at a limit are accepted; values just beyond it are refused with 400.
"""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.socials import GOOGLE, Socials
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import CALLBACK
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import User

LONGEST_VALUE = 256 * 1024  # characters of JSON
LARGEST_SECONDS = 2**53 - 1


@check("USR-CALL-14", "ids up to the largest that there can be, as numbers and as text")
async def large_ids(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    for same in (id, float(id), str(id), f"{id:030}"):
        user.same(f"whom {same!r} means", (await user.table("getUser", id=same))["id"], id)
    for nobody in (0, "0", 2**53, str(2**63 - 1), f"000{2**63 - 1}"):
        await user.refused("getUser", 404, id=nobody)
    for wrong in (
        str(2**63),
        str(2**64),
        "1" + "0" * 19,
        "1" + "0" * 30,
        "-1",
        "-0",
        f"-{id}",
        f"+{id}",
        f" {id}",
        "1e3",
        1e19,
    ):
        await user.refused("getUser", 400, id=wrong)


@check("USR-CALL-14", "names, redirects, scopes and lifetimes of clients and tokens")
async def long_clients(target: Target) -> None:
    shop = await Shop.open(target)
    url = f"{CALLBACK}?a="
    for name, redirect in (("N", CALLBACK), ("é" * 200, CALLBACK), ("a b", url + "x" * (2000 - len(url)))):
        given: dict[str, Any] = {"id": shop.ann.id, "name": name, "redirect": redirect}
        made = await shop.table("createOauthClient", **given)
        shop.same("name and redirect", [made["name"], made["redirect"]], [name, redirect])
        changed = await shop.table("updateOauthClient", client_id=shop.client.id, **given)
        shop.same("name and redirect", [changed["name"], changed["redirect"]], [name, redirect])
    before = await shop.clients(shop.ann)
    too_long = url + "x" * (2001 - len(url))
    change: dict[str, Any]
    for change in (
        {"name": ""},
        {"name": "é" * 201},
        {"name": "a\nb"},
        {"redirect": too_long},
        {"redirect": []},
    ):
        given = {"id": shop.ann.id, "name": "Other", "redirect": CALLBACK, **change}
        await shop.refused("createOauthClient", 400, **given)
        await shop.refused("updateOauthClient", 400, client_id=shop.client.id, **given)
    shop.same("the clients", await shop.clients(shop.ann), before)
    again = await Shop.open(target)
    wide = "s" * 1000
    tokens = await again.redeem(await again.approve(scope=wide))
    await again.expect_valid(tokens)
    await again.refused("getOauthAuthorizeApproved", 400, **again.client.approval(scope=wide + "s"))
    for name in ("access_token_ttl", "refresh_token_ttl"):
        for seconds in (1, LARGEST_SECONDS, str(LARGEST_SECONDS)):
            made = await again.redeem(await again.approve(), **{name: seconds})
            wanted = int(seconds) if name == "access_token_ttl" else 1_296_000
            again.same(f"expires_in with a {name} of {seconds}", int(made["expires_in"]), wanted)
        for wrong in (0, -1, LARGEST_SECONDS + 1, str(2**63), 1.5, "x"):
            exchange = again.client.exchange(await again.approve(), **{name: wrong})
            await again.refused("getOauthToken", 400, **exchange)


@check("USR-CALL-14", "the lifetime of a user token, to its limits")
async def lifetimes(target: Target) -> None:
    user = User(target)
    person = await user.person()
    given = {"email": person.email, "password": person.password}
    for seconds in (1, LARGEST_SECONDS, str(LARGEST_SECONDS)):
        await user.expect_owner(await user.text("getUserToken", **given, time_to_live=seconds), person)
    for wrong in (0, -1, LARGEST_SECONDS + 1, str(2**63), 1.5, "x", True):
        await user.refused("getUserToken", 400, **given, time_to_live=wrong)


@check("USR-CALL-14", "a user's data: keys, values, and how many")
async def long_data(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    kept: dict[str, Any] = {"é" * 200: 1, "k": "x" * (LONGEST_VALUE - 2), " '\"%.*": 0}
    await user.stores("createUserData", id=id, **kept)
    user.same("the data", await user.table("listUserData", id=id), kept)
    for wrong in ({"é" * 201: 1}, {"": 1}, {"a\nb": 1}, {"a\x7f": 1}):
        await user.refused("createUserData", 400, id=id, fine=1, **wrong)
        await user.refused("updateUserData", 400, id=id, k=1, **wrong)
        await user.refused("createUserStorage", 400, id=id, **{"key values": {"fine": 1, **wrong}})
    await user.refused("createUserData", 400, id=id, fine=1, k2="x" * (LONGEST_VALUE - 1))
    user.same("the data", await user.table("listUserData", id=id), kept)
    await user.table("deleteUserData", id=id, keys="k")
    await user.stores("createUserData", id=id, **{f"n{number}": number for number in range(1001 - len(kept))})
    for more in ({"one": 1}, {"one": 1, "two": 2}):
        await user.refused("createUserData", 400, id=id, **more)
    found = await user.table("listUserData", id=id)
    expect.equal("how many values there are", len(found), 1000, user.last)
    await user.table("deleteUserData", id=id, keys=sorted(found))
    user.same("the data", await user.table("listUserData", id=id) or {}, {})


@check("USR-CALL-14", "values that JSON cannot represent are neither stored nor signed", needs={"settings"})
async def no_json(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserData", id=id, a=1)
    service: Any = target.lab.solution(PROBE).User
    for wrong in (
        float("inf"),
        float("-inf"),
        float("nan"),
        [1, {"b": float("nan")}],
        {1, 2},
        object(),
    ):
        for operation, given in (
            (service.createUserData, {"id": id, "b": wrong}),
            (service.updateUserData, {"id": id, "a": wrong}),
            (service.jwtSign, {"key": "secret", "payload": {"a": wrong}, "algorithm": "HS256"}),
            (service.jwtSign, {"key": "secret", "payload": {"a": [wrong]}, "algorithm": "HS512"}),
        ):
            found = await target.in_lab(operation, **given)
            status = found.get("status") if isinstance(found, dict) else found
            expect.equal(f"status with {type(wrong).__name__}", status, 400)
    user.same("the data", await user.table("listUserData", id=id), {"a": 1})


@check("USR-CALL-12", "neither of two solutions sees objects of the other")
async def both_ways(target: Target) -> None:
    for names in ((PROBE, WITNESS), (WITNESS, PROBE)):
        mine, theirs = (Socials(target, name) for name in names)
        name = target.identity()
        person = await mine.person()
        await theirs.inactive_user()
        token = await mine.login(person)
        await mine.table("createRole", role_id=name, parameter=[{"name": "area"}])
        await mine.stores("createUserData", id=person.id, **{name: "mine"})
        await theirs.delete_social(GOOGLE)
        social = await mine.create_social(GOOGLE)
        made = await mine.table("createOauthClient", id=person.id, name="Shop", redirect=CALLBACK)
        given: dict[str, Any] = {"consumer": GOOGLE}
        for operation in ("getSocial", "deleteSocial", "getSocialLoginUrl"):
            await theirs.refused(operation, 404, **given)
        await theirs.refused("updateSocial", 404, client_id="x", **given)
        consumers = [each["consumer"] for each in await theirs.table("socialList")]
        expect.true("it is in no list of theirs", GOOGLE not in consumers, consumers, theirs.last)
        for operation in ("getRole", "deleteRole", "listRoleUsers", "listRolePerms"):
            await theirs.refused(operation, 404, role_id=name)
        await theirs.expect_unusable(token, "of the other's token")
        users = await theirs.table("listUsers", filter=f"email::eq::{person.email}")
        theirs.same("their users", users, [])
        ours = await theirs.table("listUserData", id=(await theirs.inactive_user()))
        theirs.same("their data", ours or {}, {})
        clients = await theirs.table("getOauthClients", id=(await theirs.inactive_user()))
        theirs.same("their clients", clients, {"oauth_clients": []})
        mine.same("the client", await mine.table("getOauthClients", id=person.id), {"oauth_clients": [made]})
        mine.same("the social", await mine.table("getSocial", consumer=GOOGLE), social)
        await mine.delete_social(GOOGLE)
