"""Login and user tokens."""

from __future__ import annotations

from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.jwts import decode
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.steps import Shop
from labkit.conformance.users import NEW_PASSWORD, PASSWORD, User


@check("USR-TOKEN-1", "before activation there is no token, and the user stays inactive")
async def inactive(target: Target) -> None:
    user = User(target)
    email, password, code = await user.sign_up()
    kind, result = await user.call("User", "getUserToken", {"email": email, "password": password})
    expect.true("no token", kind == "table" and "error" in result, kind, user.last)
    found = await user.shown(email)
    expect.true("still inactive", found.get("status") != 1, found, user.last)
    await user.text("activateUser", code=code)
    await user.text("getUserToken", email=email, password=password)


@check("USR-TOKEN-14", "the right password is 400 while the user is not active, a wrong one 401")
async def not_active(target: Target) -> None:
    user = User(target)
    email, password, code = await user.sign_up()
    for again in (False, True):
        await user.refused("getUserToken", 400, email=email, password=password)
        await user.refused("getUserToken", 401, email=email, password=NEW_PASSWORD)
        if not again:
            await user.text("activateUser", code=code)
            await user.text("getUserToken", email=email, password=password)
            await user.table("updateUser", id=await user.id_of(email), status=0)


@check("USR-TOKEN-2", "email and password give a token")
async def login(target: Target) -> None:
    user = User(target)
    person = await user.person()
    token = await user.login(person)
    expect.true("it can stand in a cookie", token and not set(token) & set('; ,"\\'), token, user.last)
    await user.expect_owner(token, person)


@check("USR-TOKEN-3", "a login that fails gives an error and no token")
async def no_login(target: Target) -> None:
    user = User(target)
    person = await user.person()
    for email, password in (
        (person.email, NEW_PASSWORD),
        (person.email, ""),
        (person.email, person.password.upper()),
        (f"x{person.email}", person.password),
    ):
        kind, result = await user.call("User", "getUserToken", {"email": email, "password": password})
        expect.true("an error", kind == "table" and "error" in result, kind, user.last)


@check("USR-TOKEN-4", "whatever is wrong, it is 401 with the same error")
async def same_answer(target: Target) -> None:
    user = User(target)
    person = await user.person()
    said = set()
    for email, password in (
        (person.email, NEW_PASSWORD),
        (f"x{person.email}", person.password),
        ("no address", person.password),
    ):
        said.add((await user.refused("getUserToken", 401, email=email, password=password))["error"])
    expect.equal("different errors", len(said), 1, user.last)
    await user.text("getUserToken", email=person.email.upper(), password=person.password)


@check("USR-TOKEN-5", "a token is an HS256 JWT of its user, and no two are alike")
async def form(target: Target) -> None:
    user = User(target)
    person = await user.person()
    one, other = [await user.login(person) for _ in range(2)]
    expect.true("each is another", one != other, "the same token", user.last)
    header, claims, _ = decode(one)
    expect.equal("alg", header.get("alg"), "HS256", user.last)
    lacking = {"sub", "iss", "iat", "nbf", "exp", "jti"} - claims.keys()
    expect.equal("claims that lack", lacking, set(), user.last)
    expect.equal("sub", claims.get("sub"), str(person.id), user.last)


@check("USR-TOKEN-6", "getCurrentUser gives the user whose token it is")
async def current(target: Target) -> None:
    user = User(target)
    people = [await user.person() for _ in range(2)]
    tokens = [await user.login(person) for person in people]
    for person, token in zip(people, tokens, strict=True):
        await user.expect_owner(token, person)
        found = await user.table("getCurrentUser", token=token)
        expect.equal("email", found.get("email"), person.email, user.last)


@check("USR-TOKEN-7", "bad tokens lead to nothing usable")
async def bad_tokens(target: Target) -> None:
    import jwt

    user = User(target)
    person = await user.person()
    token = await user.login(person)
    for malformed in ("", "x", "a.b.c", token[:-1], f"{token}x", token.rpartition(".")[0] + "."):
        await user.expect_unusable(malformed, "of a malformed token")
    claims = {"sub": str(person.id), "iss": "probe", "iat": 0, "nbf": 0, "exp": 2**40, "jti": "1", "gen": 0}
    await user.expect_unusable(jwt.encode(claims, "x" * 64, algorithm="HS256"), "of a forged token")
    await user.expect_unusable(jwt.encode(claims, "", algorithm="none"), "of an unsigned token")
    await user.expect_owner(token, person)


@check("USR-TOKEN-8", "a bad token is 401, and so is one of a user who is changed or gone")
async def dead_tokens(target: Target) -> None:
    user = User(target)
    for none in ("", "x", "a.b.c", "é", "null", ".", "x" * 100_000):
        await user.refused("getCurrentUser", 401, token=none)
    person = await user.person()
    token = await user.login(person)
    for index in range(0, len(token), 7):
        other = "B" if token[index] == "A" else "A"
        await user.refused("getCurrentUser", 401, token=token[:index] + other + token[index + 1 :])
    await user.table("updateUser", id=person.id, status=0)
    await user.refused("getCurrentUser", 401, token=token)
    await user.table("updateUser", id=person.id, status=1)
    await user.table("resetUserPassword", id=person.id, password=NEW_PASSWORD)
    await user.refused("getCurrentUser", 401, token=token)
    token = await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)
    await user.expect_owner(token, person)
    await user.nothing("deleteUser", id=person.id)
    await user.refused("getCurrentUser", 401, token=token)


@check("USR-TOKEN-9", "an access token leads to its user")
async def access_token(target: Target) -> None:
    shop = await Shop.open(target)
    await shop.expect_owner((await shop.tokens())["access_token"], shop.ann)


@check("USR-TOKEN-10", "a token is good for its time, and not after it", needs={"clock"})
async def lifetime(target: Target) -> None:
    user = User(target)
    person = await user.person()
    token = await user.login(person)
    await target.advance(60)
    await user.expect_owner(token, person)
    await target.advance(400 * 86400)
    await user.expect_unusable(token, "long after")


@check("USR-TOKEN-11", "it is dead after 7200 seconds, or those asked for", needs={"clock"})
async def lifetimes(target: Target) -> None:
    user = User(target)
    person = await user.person()
    given = {"email": person.email, "password": person.password}
    for options, lives in (({}, 7200), ({"time_to_live": 60}, 60), ({"time_to_live": "2"}, 2)):
        await target.advance(1.75 - target.lab_time() % 1)
        token = await user.text("getUserToken", **given, **options)
        await target.advance(lives - 0.5)
        await user.expect_owner(token, person)
        await target.advance(0.5)
        await user.refused("getCurrentUser", 401, token=token)
    for wrong in (0, -1, 0.5, True, "soon"):
        await user.refused("getUserToken", 400, **given, time_to_live=wrong)


@check("USR-TOKEN-12", "only the latest password is valid")
async def passwords(target: Target) -> None:
    user = User(target)
    person = await user.person()
    expect.equal("the first password", person.password, PASSWORD)
    await user.login(person)
    await user.table("resetUserPassword", id=person.id, password=NEW_PASSWORD)
    await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)
    kind, _ = await user.call("User", "getUserToken", {"email": person.email, "password": person.password})
    expect.equal("what the first one gives now", kind, "table", user.last)


@check("USR-TOKEN-13", "a token is valid only in its exact spelling")
async def other_letters(target: Target) -> None:
    shop = await Shop.open(target)
    secret = {"key": "s3cret", "algorithms": ["HS256"]}
    signed = await shop.table("jwtSign", key="s3cret", payload={"sub": "1"}, algorithm="HS256")
    user_token, access_token = shop.client.token, (await shop.tokens())["access_token"]
    for token in (user_token, access_token):
        await shop.expect_owner(token, shop.ann)
        for other in _lenient_variants(token):
            await shop.refused("getCurrentUser", 401, token=other)
    await shop.table("jwtVerify", token=signed["token"], **secret)
    for other in _lenient_variants(signed["token"]):
        await shop.fails("jwtVerify", token=other, **secret)


def _lenient_variants(token: str) -> list[str]:
    """Return variants of a token that a lenient decoder accepts as the same."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    bits = 2 * (-len(token.rpartition(".")[2]) % 4)  # unused bits of the last character
    last = letters[letters.index(token[-1]) ^ 1] if bits else token[-1]
    found = [f"{token}=", f"{token}==", f"{token}!", f"{token}\n", f"{token[:-1]}*{token[-1]}"]
    return found + ([token[:-1] + last] if bits else [])


@check("USR-TOKEN-15", "tokens from before a new password, in the field", needs={"settings"})
async def lasting(target: Target) -> None:
    for settings, lasts in (
        ({}, False),
        ({"profile": "field"}, True),
        ({"wire": {"lasting_tokens": True}}, True),
    ):
        await target.in_lab(_lasting, settings, lasts)


def _lasting(settings: dict[str, Any], lasts: bool) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        user = lab.solution("one").User
        given = {"email": "ann@example.com", "password": PASSWORD}
        user.activateUser(code=user.createUser(name="Ann", **given))
        token = user.getUserToken(**given, time_to_live=60)
        user.resetUserPassword(id=1, password=NEW_PASSWORD)
        expect.equal("its user", user.getCurrentUser(token=token).get("id"), 1 if lasts else None)
        user.updateUser(id=1, status=2)
        expect.equal("of a disabled user", user.getCurrentUser(token=token).get("status"), 401)
        user.updateUser(id=1, status=1)
        lab.clock.advance(60)
        expect.equal("after its end", user.getCurrentUser(token=token).get("status"), 401)


@check("USR-TOKEN-16", "the unit of time_to_live", needs={"settings"})
async def minutes(target: Target) -> None:
    for settings, lives in (
        ({}, (2, 7200)),
        ({"profile": "field"}, (2, 7200)),
        ({"wire": {"token_minutes": True}}, (120, 28_800)),
    ):
        await target.in_lab(_minutes, settings, lives)


def _minutes(settings: dict[str, Any], lives: tuple[int, int]) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        user = lab.solution("one").User
        given = {"email": "ann@example.com", "password": PASSWORD}
        user.activateUser(code=user.createUser(name="Ann", **given))
        for options, seconds in zip(({"time_to_live": 2}, {}), lives, strict=True):
            token = user.getUserToken(**given, **options)
            lab.clock.advance(seconds - 1)
            expect.equal("a second before its end", user.getCurrentUser(token=token).get("id"), 1)
            lab.clock.advance(1)
            expect.equal("at its end", user.getCurrentUser(token=token).get("status"), 401)
