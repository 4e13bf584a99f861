"""User operations that the document does not show: getUser, updateUser, deleteUser, and user data."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.probe import WITNESS
from labkit.conformance.target import Target
from labkit.conformance.users import NEW_PASSWORD, NOBODY, PASSWORD, User

DATA = {
    "colour": "red",
    "size": 1.5,
    "on": False,
    "list": [1, "a"],
    "object": {"a": {"b": 1}},
    "two words": "x",
    "empty": "",
    "whole": 2**53,
    "caller": 1,
    "values": 1,
    "é": 1,
}


@check("USR-DATA-1", "getUser gives the user that listUsers lists")
async def get(target: Target) -> None:
    user = User(target)
    email, _, _ = await user.sign_up()
    listed = await user.shown(email)
    user.same("the user", await user.table("getUser", id=listed["id"]), listed)
    await user.refused("getUser", 404, id=NOBODY)


@check("USR-DATA-2", "updateUser changes what is given, and nothing else")
async def update(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    before = await user.table("getUser", id=id)
    active = {**before, "name": "Bea", "status": 1}
    shown = {name: value for name, value in active.items() if name != "status"}
    user.same("with another name", await user.table("updateUser", id=id, name="Bea"), shown)
    user.same("the user", await user.table("getUser", id=id), {**active, "status": 0})
    user.same("with another status", await user.table("updateUser", id=id, status=1), shown)
    for wrong in ({"status": 3}, {"status": -1}, {"name": ""}):
        await user.refused("updateUser", 400, id=id, **{"name": "Cat", "status": 0, **wrong})
    user.same("the user", await user.table("getUser", id=id), active)
    for status in (2, 0, 1):
        user.same("with another status", await user.table("updateUser", id=id, status=status), shown)
        user.same("the user", await user.table("getUser", id=id), {**active, "status": status})


@check("USR-DATA-3", "a new password requires the original one")
async def change_password(target: Target) -> None:
    user = User(target)
    person = await user.person()
    for wrong in ({}, {"original_password": NEW_PASSWORD}):
        await user.refused("updateUser", 400, id=person.id, name="Bea", password=NEW_PASSWORD, **wrong)
    found = await user.table("getUser", id=person.id)
    expect.equal("name", found.get("name"), "Ann", user.last)
    await user.table("updateUser", id=person.id, password=NEW_PASSWORD, original_password=PASSWORD)
    await user.text("getUserToken", email=person.email, password=NEW_PASSWORD)


@check("USR-DATA-3", "of two concurrent changes of a password one succeeds, and its password is valid")
async def change_password_at_once(target: Target) -> None:
    user = User(target)
    person = await user.person()
    passwords = [f"{NEW_PASSWORD} {number}" for number in range(2)]
    given: dict[str, Any] = {"id": person.id, "original_password": person.password}
    found = await asyncio.gather(
        *(User(target).call("User", "updateUser", {**given, "password": each}) for each in passwords)
    )
    statuses = [result.get("status", 0) if "error" in result else None for _, result in found]
    expect.equal("statuses", sorted(statuses, key=str), [400, None])
    for password, status in zip(passwords, statuses, strict=True):
        if status is None:
            await user.text("getUserToken", email=person.email, password=password)
        else:
            await user.refused("getUserToken", 401, email=person.email, password=password)


@check("USR-DATA-4", "deleteUser gives nil; the address is free, and the id is not used again")
async def delete(target: Target) -> None:
    user = User(target)
    email, password, _ = await user.sign_up()
    id = await user.id_of(email)
    await user.nothing("deleteUser", id=id)
    for operation in ("getUser", "deleteUser"):
        await user.refused(operation, 404, id=id)
    await user.text("createUser", email=email, name="Bea", password=password)
    expect.true("the id is new", await user.id_of(email) > id, id, user.last)


@check("USR-DATA-4", "delete is deleteUser with an empty table as its result")
async def delete_by_older_name(target: Target) -> None:
    user, other = User(target), User(target, WITNESS)
    email, password, _ = await user.sign_up()
    id = await user.id_of(email)
    await other.refused("delete", 404, id=NOBODY)
    await user.empty("delete", id=str(id))
    for operation in ("getUser", "delete"):
        await user.refused(operation, 404, id=id)
    await user.text("createUser", email=email, name="Bea", password=password)


@check("USR-DATA-5", "listUserData gives the data that createUserData stored")
async def create(target: Target) -> None:
    user = User(target)
    id, other = [await user.inactive_user() for _ in range(2)]
    user.same("nothing yet", await user.table("listUserData", id=id) or {}, {})
    await user.stores("createUserData", id=id, **DATA)
    await user.stores("createUserData", id=other, colour="blue")
    user.same("the data", await user.table("listUserData", id=id), DATA)


@check("USR-DATA-5", "a user has 1000 values, names of 200 characters, and no more")
async def most(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    names = [f"{number} {'x' * 200}"[:200] for number in range(1000)]
    await user.stores("createUserData", id=id, **dict.fromkeys(names[:999], 1))
    for wrong in ((names[999], "another"), (names[999], "x" * 201), ("",), ()):
        await user.refused("createUserData", 400, id=id, **dict.fromkeys(wrong, 1))
    await user.stores("createUserData", id=id, **{names[999]: 1})
    await user.refused("createUserData", 400, id=id, another=1)
    user.same("the data", await user.table("listUserData", id=id), dict.fromkeys(names, 1))
    user.same("deleted", await user.table("deleteUserData", id=id, keys=names[0]), {names[0]: 1})
    await user.stores("createUserData", id=id, another=1)


@check("USR-DATA-6", "a key that exists is 400, and nothing is kept")
async def exists(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserData", id=id, colour="red")
    await user.refused("createUserData", 400, id=id, another=1, colour="blue")
    user.same("the data", await user.table("listUserData", id=id), {"colour": "red"})


@check("USR-DATA-7", "updateUserData replaces, and is 400 for a key that does not exist")
async def replace(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserData", id=id, colour="red", size=1)
    await user.stores("updateUserData", id=id, colour="blue")
    await user.refused("updateUserData", 400, id=id, size=2, another=1)
    user.same("the data", await user.table("listUserData", id=id), {"colour": "blue", "size": 1})


@check("USR-DATA-8", "getUserData gives one value, or 404")
async def one(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserData", id=id, **DATA)
    expect.equal("text", await user.text("getUserData", id=id, key="colour"), "red", user.last)
    user.same("object", await user.table("getUserData", id=id, key="object"), DATA["object"])
    await user.refused("getUserData", 404, id=id, key="another")


@check("USR-DATA-9", "deleteUserData deletes all of its keys, or none and is 404")
async def forget(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserData", id=id, a=1, b=2, c=3, d=4)
    user.same("deleted", await user.table("deleteUserData", id=id, keys=["a", "b"]), {"a": 1, "b": 2})
    await user.refused("deleteUserData", 404, id=id, keys=["c", "a"])
    user.same("the data", await user.table("listUserData", id=id), {"c": 3, "d": 4})
    user.same("deleted", await user.table("deleteUserData", id=id, keys="c"), {"c": 3})
    user.same("the data", await user.table("listUserData", id=id), {"d": 4})
    await user.empty("deleteUserData", id=id, keys={})
    user.same("the data", await user.table("listUserData", id=id), {"d": 4})
    await user.table("deleteUserData", id=id, keys=["d", "d"])
    user.same("no data", await user.table("listUserData", id=id) or {}, {})


@check("USR-DATA-10", "the older names do the same")
async def older(target: Target) -> None:
    user = User(target)
    id = await user.inactive_user()
    await user.stores("createUserStorage", id=id, **{"key values": {"colour": "red", "size": 1}})
    await user.stores("updateUserStorage", id=id, **{"key values": {"colour": "blue"}})
    user.same("the data", await user.table("listUserData", id=id), {"colour": "blue", "size": 1})
