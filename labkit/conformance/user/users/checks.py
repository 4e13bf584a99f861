"""Accounts: sign-up, activation, listing, passwords. Every check creates its own users."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from typing import TYPE_CHECKING, Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check, model_check
from labkit.conformance.target import Target
from labkit.conformance.users import NEW_PASSWORD, NOBODY, PASSWORD, User

if TYPE_CHECKING:
    from labkit.conformance.models.game import Game


async def create_users(user: User, *emails: str) -> list[int]:
    """Create users that are not active and return their ids."""
    for email in emails:
        await user.text("createUser", email=email, name=email.partition("@")[0], password=PASSWORD)
    return [(await user.shown(email))["id"] for email in emails]


@check("USR-USER-1", "someone signs up, is activated, gets a new password and logs in")
async def story(target: Target) -> None:
    user = User(target)
    person = await user.person()
    await user.table("resetUserPassword", id=person.id, password=NEW_PASSWORD)
    token = await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)
    found = await user.table("getCurrentUser", token=token)
    user.same("who it is", found.get("id"), person.id)


@check("USR-USER-2", "a user has id, email, name, status and creation_date")
async def record(target: Target) -> None:
    user = User(target)
    person = await user.person()
    fields = {"id", "email", "name", "status", "creation_date"}
    listed = await user.shown(person.email)
    expect.equal("fields that lack", fields - listed.keys(), set(), user.last)
    current = await user.table("getCurrentUser", token=await user.login(person))
    given = [{name: found.get(name) for name in fields} for found in (current, listed)]
    user.same("what getCurrentUser tells of them", *given)


@check("USR-USER-3", "ids grow, status is 0 and then 1, creation_date is now")
async def values(target: Target) -> None:
    user, name = User(target), target.identity()
    before = await device_client.now(target.device("token-open"))
    email = f"{name}.X@example.com"
    code = await user.text("createUser", email=f"{name}.X@Example.COM", name="Änne Lee", password=PASSWORD)
    first = await user.shown(email)
    after = await device_client.now(target.device("token-open"))
    given = {"email": email, "name": "Änne Lee", "status": 0}
    user.same("the user", {field: first.get(field) for field in given}, given)
    at = first.get("creation_date")
    expect.true("creation_date is now", isinstance(at, int) and before <= at <= after, at, user.last)
    await user.text("activateUser", code=code)
    user.same("the user once active", await user.shown(email), {**first, "status": 1})
    [later] = await create_users(user, f"{name}@example.com")
    id = first.get("id")
    expect.true("ids grow from 1", isinstance(id, int) and 1 <= id < later, (id, later), user.last)


@check("USR-USER-4", "createUser creates a user who is activated by the code that it gives")
async def sign_up(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    expect.true("there is a code", code, code, user.last)
    expect.true("not active yet", (await user.shown(email)).get("status") != 1, "active", user.last)
    expect.equal("activateUser", await user.text("activateUser", code=code), "OK", user.last)


@check("USR-USER-5", "createUser that fails gives error and status, and creates no user")
async def no_sign_up(target: Target) -> None:
    user, name = User(target), target.identity()
    good = {"email": f"{name}@example.com", "name": "Ann", "password": PASSWORD}
    for wrong in ({"email": f"{name} at example.com"}, {"name": ""}, {"password": ""}):
        await user.fails("createUser", **{**good, **wrong})
    user.same("users", await user.table("listUsers", filter=f"email::like::{name}"), [])


@check("USR-USER-6", "codes are 40 letters and digits, each another")
async def codes(target: Target) -> None:
    user = User(target)
    one, other = [(await user.sign_up())[2] for _ in range(2)]
    expect.true("40 letters and digits", re.fullmatch(r"[A-Za-z0-9]{40}", one), one, user.last)
    expect.true("another each time", one != other, "the same code", user.last)


@check("USR-USER-7", "bad addresses, names and passwords are 400 and named")
async def bad_values(target: Target) -> None:
    user, name = User(target), target.identity()
    good = {"email": f"{name}@example.com", "name": "Ann", "password": PASSWORD}
    for field, values in {
        "email": ["", name, f"{name}@", f"Ann <{name}@example.com>", f"{name}@x..y", f"{name}@a b.test"],
        "name": ["", " ", "A\nB", "x" * 201],
        "password": ["", "12345", "x" * 1025],
    }.items():
        for value in values:
            message = (await user.refused("createUser", 400, **{**good, field: value}))["message"]
            expect.true(f"{field} is named", field in message, message, user.last)
    user.same("users", await user.table("listUsers", filter=f"email::like::{name}"), [])
    await user.text("createUser", **{**good, "name": "x" * 200, "password": "123456"})


@check("USR-USER-8", "a taken address is 400 in any letter case, and one of two concurrent sign-ups succeeds")
async def taken(target: Target) -> None:
    user, name = User(target), target.identity()
    given = {"name": "Ann", "password": PASSWORD}
    both = [f"{name}@example.com", f"{name.upper()}@Example.COM"]
    results = await asyncio.gather(
        *(user.call("User", "createUser", {**given, "email": email}) for email in both)
    )
    expect.equal("one code", sorted(kind for kind, _ in results), ["string", "table"], user.last)
    for email in both:
        await user.refused("createUser", 400, **given, email=email)
    found = await user.table("listUsers", filter=f"email::like::{both[0]}")
    expect.equal("users with it", len(found), 1, user.last)


@check("USR-USER-8 USR-TOKEN-4", "letters that have several small or capital forms")
async def odd_letters(target: Target) -> None:
    user, number = User(target), target.identity()
    for email in (
        f"Wei\u00df{number}@b\u00fc.example",
        f"\u03a3\u03bf\u03c6\u03cc\u03c2{number}@example.com",
    ):
        code = await user.text("createUser", email=email, name="Ann", password=PASSWORD)
        await user.text("activateUser", code=code)
        id = (await user.shown(email))["id"]
        for form in (email, email.upper(), email.lower(), email.swapcase(), email.casefold()):
            await user.refused("createUser", 400, email=form, name="Ann", password=PASSWORD)
            await user.text("getUserToken", email=form, password=PASSWORD)
            found = await user.table("listUsers", filter=f"email::eq::{form}")
            user.same(f"who is found by {form}", [each["id"] for each in found], [id])


@check("USR-USER-9", "the code makes its user active, and nobody else")
async def activation(target: Target) -> None:
    user = User(target)
    (ann, _, code), (bob, _, _) = [await user.sign_up() for _ in range(2)]
    before = await user.shown(bob)
    expect.equal("activateUser", await user.text("activateUser", code=code), "OK", user.last)
    await user.text("getUserToken", email=ann, password=PASSWORD)
    user.same("somebody else", await user.shown(bob), before)
    await user.refused("getUserToken", 400, email=bob, password=PASSWORD)


@check("USR-USER-10", "a wrong code gives an error with a message, and activates nobody")
async def wrong_code(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    before = await user.shown(email)
    for wrong in ("", "x", code[:-1], code[:-1] + ("a" if code[-1] != "a" else "b"), f"{code}x"):
        kind, result = await user.call("User", "activateUser", {"code": wrong})
        given = kind == "table" and "error" in result and isinstance(result.get("message"), str)
        expect.true("an error with a message", given, f"{kind} {result}", user.last)
    user.same("the user", await user.shown(email), before)


@check("USR-USER-11", "the second time a code is 400")
async def used_code(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    await user.text("activateUser", code=code)
    await user.refused("activateUser", 400, code=code)
    await user.refused("activateUser", 400, code="x" * 40)
    expect.equal("status", (await user.shown(email)).get("status"), 1, user.last)


@check("USR-USER-11", "the code of a user whom updateUser activated is invalid")
async def needless_code(target: Target) -> None:
    user = User(target)
    email, _, code = await user.sign_up()
    id = await user.id_of(email)
    for status in (1, 0):
        await user.table("updateUser", id=id, status=status)
        await user.refused("activateUser", 400, code=code)
        expect.equal("status", (await user.shown(email)).get("status"), status, user.last)


@check("USR-USER-12", "listUsers finds the users that match the filter")
async def listing(target: Target) -> None:
    user, name = User(target), target.identity()
    ids = await create_users(user, f"{name}-1@example.com", f"{name}-2@example.com")
    found = await user.table("listUsers", filter=f"email::like::{name}-")
    expect.equal("users", sorted(each.get("id") for each in found), sorted(ids), user.last)
    expect.equal("the second", await user.id_of(f"{name}-2@example.com"), ids[1], user.last)
    user.same("nobody", await user.table("listUsers", filter=f"email::like::{name}-3"), [])


@check("USR-USER-13", "all fields, all operators, and several filters at once")
async def filters(target: Target) -> None:
    user, name = User(target), target.identity()
    emails = [f"{name}-{number}@example.com" for number in (1, 2)]
    one, two = await create_users(user, *emails)
    at = (await user.shown(emails[0])).get("creation_date")
    mine = f"email::like::{name}-"
    for filter, wanted in (
        (f"id::eq::{one}", [one]),
        (f"id::ne::{one}", [two]),
        (f"id::gt::{one}", [two]),
        (f"id::ge::{one}", [one, two]),
        (f"id::lt::{two}", [one]),
        (f"id::le::{two}", [one, two]),
        (f"id::in::{one},{two}", [one, two]),
        (f"id::in::{two}", [two]),
        (f"email::eq::{emails[1].upper()}", [two]),
        (f"email::in::{emails[0]},{emails[1]}", [one, two]),
        (f"name::eq::{name}-1", [one]),
        (f"name::like::{name}-2", [two]),
        ("status::eq::0", [one, two]),
        ("status::ne::0", []),
        (f"creation_date::ge::{at}", [one, two]),
        (f"creation_date::lt::{at}", []),
    ):
        found = await user.table("listUsers", filter=[mine, filter])
        expect.equal(f"users of {filter}", [each.get("id") for each in found], wanted, user.last)
    found = await user.table("listUsers", filter=[f"id::eq::{one}", mine])
    expect.equal("users in the other order", [each.get("id") for each in found], [one], user.last)


@check("USR-USER-14", "like searches in any letter case, with % and _, exact ones first")
async def like(target: Target) -> None:
    user, name = User(target), target.identity().replace("-", "")
    first, exact = await create_users(user, f"x{name}@example.com", f"{name}@example.com")
    for sought, wanted in (
        (f"{name}@example.com", [exact, first]),
        (f"{name.upper()}@EXAMPLE.com", [exact, first]),
        (name, [first, exact]),
        (f"%{name}@%.com", [first, exact]),
        (f"{name}%", [exact]),
        (f"_{name}@", [first]),
    ):
        found = await user.table("listUsers", filter=f"email::like::{sought}")
        expect.equal(f"users like {sought}", [each.get("id") for each in found], wanted, user.last)


@check("USR-USER-15", "offset and limit cut the list, and without arguments it is everybody's")
async def pages(target: Target) -> None:
    user, name = User(target), target.identity()
    ids = await create_users(user, *(f"{name}-{number}@example.com" for number in range(3)))
    mine = {"filter": f"email::like::{name}-"}
    for page, wanted in (
        ({"limit": 2}, ids[:2]),
        ({"offset": 1}, ids[1:]),
        ({"offset": 1, "limit": 1}, ids[1:2]),
        ({"offset": 3}, []),
    ):
        found = await user.table("listUsers", **mine, **page)
        expect.equal(f"users of {page}", [each.get("id") for each in found], wanted, user.last)
    everybody = await user.table("listUsers")
    expect.true("everybody", 3 <= len(everybody) <= 1000, len(everybody), user.last)
    for page in ({"limit": 0}, {"offset": -1}):
        await user.refused("listUsers", 400, **mine, **page)


@check("USR-USER-16", "an invalid filter is 400")
async def bad_filters(target: Target) -> None:
    user = User(target)
    for filter in ("", "email", "email::like", "password::like::x", "email::is::x", "id::eq::x", ["x"]):
        message = (await user.refused("listUsers", 400, filter=filter))["message"]
        expect.true("the filter is named", "filter" in message, message, user.last)


@check("USR-USER-16", "filters to their bounds: 100 of 10,000 characters each, 20,000 in all")
async def long_filters(target: Target) -> None:
    user = User(target)
    field, number = "email::eq::", f"id::eq::{2**53 - 1}"
    for fitting in (
        [field + "x" * (10_000 - len(field))] * 2,
        [number] * 100,
    ):
        user.same("who is found", await user.table("listUsers", filter=fitting), [])
    for beyond in (
        [field + "x" * (10_001 - len(field))],
        [*[field + "x" * (10_000 - len(field))] * 2, number],
        [number] * 101,
        [f"id::eq::{2**63}"],
        [f"id::eq::{'9' * 21}"],
    ):
        await user.refused("listUsers", 400, filter=beyond)


@check("USR-USER-17", "after a reset the new password counts, and the old one does not")
async def reset(target: Target) -> None:
    user = User(target)
    person = await user.person()
    await user.table("resetUserPassword", id=person.id, password=NEW_PASSWORD)
    await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)
    await user.refused("getUserToken", 401, email=person.email, password=person.password)


@check("USR-USER-18", "a reset that fails gives a status, and the password stays")
async def no_reset(target: Target) -> None:
    user = User(target)
    person = await user.person()
    for wrong in ({"id": NOBODY, "password": NEW_PASSWORD}, {"id": person.id, "password": "12345"}):
        kind, result = await user.call("User", "resetUserPassword", wrong)
        given = kind == "table" and isinstance(result.get("status"), int)
        expect.true("it gives a status", given, f"{kind} {result}", user.last)
    await user.login(person)


@check("USR-USER-19", "a reset gives id, email, name and creation_date alone")
async def reset_result(target: Target) -> None:
    user = User(target)
    email, _, _ = await user.sign_up()
    wanted = await user.shown(email)
    del wanted["status"]
    result = await user.table("resetUserPassword", id=wanted["id"], password=NEW_PASSWORD)
    user.same("the result", result, wanted)


@check("USR-USER-20", "a like with a NUL fits nobody")
async def nul_in_a_filter(target: Target) -> None:
    user = User(target)
    email, _, _ = await user.sign_up()
    for value in ("\0", f"{email}\0", f"{email}\0x", f"\0{email}", "%\0", f"{email[:5]}%\0%"):
        for field in ("email", "name"):
            user.same("who is found", await user.table("listUsers", filter=f"{field}::like::{value}"), [])
    await user.shown(email)


@check("USR-USER-21", "an address of more than 320 characters has no user")
async def long_addresses(target: Target) -> None:
    user = User(target)
    person = await user.person()
    before = person.email.partition("@")[0]
    for email in (
        f"{before}{'x' * 64}@{'y' * 60}.{'z' * 200}.example",
        person.email + "\u0301" * 100_000,
        f"{'a' * 100_000}{person.email}",
    ):
        await user.refused("createUser", 400, email=email, name="Ann", password=PASSWORD)
        await user.refused("getUserToken", 401, email=email, password=PASSWORD)
    for operator in ("eq", "like"):
        found = await user.table("listUsers", filter=f"email::{operator}::{person.email}{'x' * 400}")
        user.same("who is found", found, [])


@check("USR-USER-22", "a filter finds an address in every spelling that a login accepts")
async def forms_of_an_address(target: Target) -> None:
    user, number = User(target), target.identity()
    email = f"j\u00fcrgen{number}@m\u00fcller.example"
    (id,) = await create_users(user, email)
    for form in (
        email.upper(),
        unicodedata.normalize("NFD", email),
        f"J\u00fcrgen{number}@XN--MLLER-KVA.example",
    ):
        for operator in ("eq", "like", "in"):
            found = await user.table("listUsers", filter=f"email::{operator}::{form}")
            user.same(f"who is found by {operator}", [each["id"] for each in found], [id])
        others = await user.table("listUsers", filter=[f"email::ne::{form}", f"id::eq::{id}"])
        user.same("who is another", others, [])


@model_check(
    "USR-USER-1 USR-USER-3 USR-USER-4 USR-USER-6 USR-USER-7 USR-USER-8 USR-USER-9 USR-USER-10 USR-USER-11 "
    "USR-USER-12 USR-USER-13 USR-USER-14 USR-USER-15 USR-USER-16 USR-USER-17 USR-USER-18 USR-USER-21 USR-USER-22 "
    "USR-TOKEN-1 USR-TOKEN-2 USR-TOKEN-3 USR-TOKEN-4 USR-TOKEN-6 USR-TOKEN-7 USR-TOKEN-8 USR-TOKEN-10 USR-TOKEN-14 "
    "USR-TOKEN-11 USR-DATA-1 USR-DATA-2 USR-DATA-3 USR-DATA-4 USR-DATA-5 USR-DATA-6 USR-DATA-7 USR-DATA-8 "
    "USR-DATA-9 USR-CALL-9 USR-CALL-12",
    "users of two solutions who sign up, log in, change and go in any order, as a model has them",
)
def model() -> type[Game]:
    """Return the game of users."""
    from labkit.conformance.user.users.users import Users

    return Users


@check("USR-USER-23", "pages of users, in the field and by the documents", needs={"settings"})
async def pages_with_totals(target: Target) -> None:
    for settings, is_page in (
        ({}, False),
        ({"profile": "field"}, True),
        ({"wire": {"user_pages": True}}, True),
    ):
        await target.in_lab(_pages_with_totals, settings, is_page)


def _pages_with_totals(settings: dict[str, Any], is_page: bool) -> None:
    from labkit.lab.lab import Lab

    with Lab(1, **settings) as lab:
        user = lab.solution("one").User
        for name in ("ann", "bea", "cat", "dan"):
            user.createUser(email=f"{name}@example.com", name=name, password=PASSWORD)
        for offset, limit, names in ((0, 2, ["ann", "bea"]), (1, 100, ["bea", "cat"]), (5, 1, [])):
            given = {"filter": "id::le::3", "offset": offset, "limit": limit}
            found = user.listUsers(**given)
            expect.equal("is it a table?", isinstance(found, dict), is_page)
            items = found["items"] if is_page else found
            expect.equal("names", [each["name"] for each in items], names)
            expect.equal("total", found["total"] if is_page else 3, 3)
            for left_out in ("offset", "limit"):
                expect.true("a list", isinstance(user.listUsers(**{**given, left_out: None}), list), given)


@check("USR-USER-24", "resetUserPassword without a password")
async def made_passwords(target: Target) -> None:
    user = User(target)
    person = await user.person()
    made = [(await user.table("resetUserPassword", id=person.id)).get("password") for _ in range(2)]
    expect.true(
        "two passwords of 8 characters or more", made[0] != made[1] and min(map(len, made)) >= 8, made
    )
    await user.text("getUserToken", email=person.email, password=made[1])
    for password in (made[0], person.password):
        await user.refused("getUserToken", 401, email=person.email, password=password)
    await user.refused("resetUserPassword", 404, id=NOBODY)
