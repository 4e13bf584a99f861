"""Cost of the operations of the User service, each beside its baseline (see `baseline`).

Each measure has the variants `lab` and `baseline`, and others for comparison.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from itertools import count, islice

from labkit.bench import baseline
from labkit.bench.fixture import SOLUTION, Fixture, Unhashed, approval
from labkit.bench.variant import Variant, in_turn
from labkit.services.user.passwords import PasswordVerifier

PEOPLE = 100  # users to whom tokens are issued in turn
FEW = 100  # assignments of the solution for comparison
ROLES = 20  # roles of the solution
ROLES_EACH, VALUES_EACH = 4, 5  # roles of a user, and values in each of them: one assignment each
PERMISSION = "GET/device/{thing}/state"

Variants = dict[str, Variant]


async def issue(stack: AsyncExitStack, assignments: int) -> Variants:
    """Measure getUserToken without password hashing, (`hashed`) with it, and (`new`) with new addresses."""
    fixture = await Fixture(Unhashed()).start(stack, PEOPLE)
    hashed = await Fixture(PasswordVerifier()).start(stack, 2)
    claims = baseline.claims_of(await fixture.call("getUserToken", fixture.logins[0]))
    secret = await fixture.user.keys.secret(SOLUTION)

    async def least(user: int) -> str:
        await baseline.read(fixture.database, SOLUTION, user)
        return baseline.hs256(secret, claims)

    spellings = count()  # of the same addresses, in upper and lower case

    async def new(number: int) -> list[dict[str, str]]:
        return [
            {
                **fixture.logins[turn % PEOPLE],
                "email": _spelt(fixture.logins[turn % PEOPLE]["email"], turn // PEOPLE),
            }
            for turn in islice(spellings, number)
        ]

    return {
        "lab": in_turn(fixture.logins, partial(fixture.call, "getUserToken")),
        "baseline": in_turn(range(1, PEOPLE + 1), least),
        "new": Variant(new, partial(fixture.call, "getUserToken")),
        "hashed": in_turn(hashed.logins, partial(hashed.call, "getUserToken")),
    }


async def resolve(stack: AsyncExitStack, assignments: int) -> Variants:
    """Measure getCurrentUser with a user token, and (`access_token`) with one of the OAuth provider."""
    fixture = await Fixture(Unhashed()).start(stack, PEOPLE)
    secret = await fixture.user.keys.secret(SOLUTION)
    tokens = await fixture.tokens()
    exchanges = await fixture.exchanges(await fixture.client(), tokens)
    sets = [await fixture.call("getOauthToken", exchange) for exchange in exchanges]

    async def least(token: str) -> object:
        return await baseline.read(fixture.database, SOLUTION, int(baseline.verified(secret, token)["sub"]))

    resolved = partial(fixture.call, "getCurrentUser")
    return {
        "lab": in_turn([{"token": token} for token in tokens], resolved),
        "baseline": in_turn(tokens, least),
        "access_token": in_turn([{"token": each["access_token"]} for each in sets], resolved),
    }


async def approve(stack: AsyncExitStack, assignments: int) -> Variants:
    """Measure getOauthAuthorizeApproved: a user token for a code."""
    fixture = await Fixture(Unhashed()).start(stack, PEOPLE)
    await baseline.prepare(fixture.database)
    secret = await fixture.user.keys.secret(SOLUTION)
    tokens = await fixture.tokens()
    client = await fixture.client()

    async def least(token: str) -> None:
        claims = baseline.verified(secret, token)
        await baseline.write(
            fixture.database, client["id"], int(claims["sub"]), "", claims["jti"], claims["exp"]
        )

    approvals = [approval(client, token) for token in tokens]
    return {
        "lab": in_turn(approvals, partial(fixture.call, "getOauthAuthorizeApproved")),
        "baseline": in_turn(tokens, least),
    }


async def exchange(stack: AsyncExitStack, assignments: int) -> Variants:
    """Measure getOauthToken: a code for an access token and a refresh token."""
    fixture = await Fixture(Unhashed()).start(stack, PEOPLE)
    await baseline.prepare(fixture.database)
    key = await fixture.user.keys.private()
    tokens = await fixture.tokens()
    client = await fixture.client()
    (example,) = await fixture.exchanges(client, tokens[:1])
    given = await fixture.call("getOauthToken", example)
    claims = baseline.claims_of(given["access_token"])
    numbers = count()

    async def codes(number: int) -> list[dict[str, object]]:
        turns = islice(numbers, number)
        return await fixture.exchanges(client, [tokens[turn % len(tokens)] for turn in turns])

    async def least(user: int) -> str:
        refresh = given["refresh_token"]
        await baseline.write(fixture.database, client["id"], user, claims["jti"], refresh, claims["exp"])
        return baseline.rs256(key, claims)

    return {
        "lab": Variant(codes, partial(fixture.call, "getOauthToken")),
        "baseline": in_turn(range(1, PEOPLE + 1), least),
    }


async def permit(stack: AsyncExitStack, assignments: int) -> Variants:
    """Measure hasUserPerm, allowed and (`refused`) refused; `of_few`: allowed, in a solution with FEW assignments."""
    many, few = await _assigned(stack, assignments), await _assigned(stack, FEW)

    def permission_checks(fixture: Fixture, of: int = 0) -> list[dict[str, object]]:
        """Return parameters for each user's own values in each role; or, with `of`, for the values of a later user."""
        number = len(fixture.logins)
        return [
            {
                "id": 1 + user,
                "perm_id": PERMISSION,
                "parameters": [f"thing::{_value(1 + (user + of) % number, role, 0)}"],
            }
            for user in range(number)
            for role in range(ROLES_EACH)
        ]

    return {
        "lab": in_turn(permission_checks(many), partial(many.call, "hasUserPerm")),
        "baseline": in_turn(range(1, len(many.logins) + 1), partial(baseline.read, many.database, SOLUTION)),
        "refused": in_turn(permission_checks(many, 1), partial(many.call, "hasUserPerm", expected=403)),
        "of_few": in_turn(permission_checks(few), partial(few.call, "hasUserPerm")),
    }


async def _assigned(stack: AsyncExitStack, assignments: int) -> Fixture:
    """Create users with `assignments` values in total: the same number each, in some of the roles."""
    number = assignments // (ROLES_EACH * VALUES_EACH)
    fixture = await Fixture(Unhashed()).start(stack, number)
    method, _, end_point = PERMISSION.partition("/")
    for role in range(ROLES):
        await fixture.call("createRole", {"role_id": f"role{role}", "parameter": [{"name": "thing"}]})
        permission = {"method": method, "end_point": end_point}
        await fixture.call("addRolePerm", {"role_id": f"role{role}", "body": [permission]})
    for user in range(1, number + 1):
        roles = [
            {
                "role_id": f"role{(user + role) % ROLES}",
                "parameters": [
                    {"name": "thing", "value": _value(user, role, number)} for number in range(VALUES_EACH)
                ],
            }
            for role in range(ROLES_EACH)
        ]
        await fixture.call("assignUser", {"id": user, "roles": roles})
    return fixture


def _spelt(address: str, number: int) -> str:
    """Return an address with its letters in upper case where `number` has the binary digit 1."""
    return "".join(letter.upper() if number >> place & 1 else letter for place, letter in enumerate(address))


def _value(user: int, role: int, number: int) -> str:
    return f"{user}x{role}x{number}"


VARIANTS: dict[str, Callable[[AsyncExitStack, int], Awaitable[Variants]]] = {
    "user-token": issue,
    "user-resolve": resolve,
    "oauth-code": approve,
    "oauth-token": exchange,
    "permission": permit,
}
