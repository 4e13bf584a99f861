"""Reference model of the users of one solution, from the documents and labkit's choices alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from labkit.conformance.models.calls import Refused

INACTIVE, ACTIVE = 0, 1
NUMERIC_FIELDS = ("id", "status", "creation_date")
OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": eq,
    "ne": ne,
    "gt": gt,
    "ge": ge,
    "lt": lt,
    "le": le,
}
CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")

Filter = tuple[str, str, str]  # field, operator, value


def folded(address: str) -> str:
    """Return an address in the form of a login: case-folded, in NFC, its domain not in Punycode."""
    local, _, domain = unicodedata.normalize("NFC", address).casefold().rpartition("@")
    labels = [
        each.removeprefix("xn--").encode().decode("punycode") if each.startswith("xn--") else each
        for each in domain.split(".")
    ]
    return f"{local}@{'.'.join(labels)}"


def check_fields(email: str | None = None, name: str | None = None, password: str | None = None) -> None:
    """Raise Refused for an invalid email, name or password."""
    wrong = "USR-USER-7"
    if name is not None and (not name.strip() or len(name) > 200 or CONTROL.search(name)):
        raise Refused(wrong, 400)
    if password is not None and not 6 <= len(password) <= 1024:
        raise Refused(wrong, 400)
    if email is None:
        return
    if len(email) > 320:
        raise Refused("USR-USER-21", 400)
    if re.fullmatch(r"[^@\s<>]+@([^@.\s<>]+\.)+[^@.\s<>]+", email) is None:
        raise Refused(wrong, 400)


@dataclass(slots=True)
class Token:
    """A login. text: as the target returned it; generation: of the user's password; until: Unix seconds."""

    user: int
    generation: int
    until: Fraction
    text: str | None = None


@dataclass(slots=True)
class User:
    """A user. number: index of the sign-up; id, code: as the target returned them."""

    number: int
    email: str
    name: str
    password: str
    created: int
    id: int | None = None
    code: str | None = None
    status: int = INACTIVE
    code_unused: bool = True
    generation: int = 0
    old: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)
    deleted: bool = False

    def shown(self) -> dict[str, Any]:
        """Return the user as operations show it."""
        return {
            "id": self.id,
            "email": folded(self.email),
            "name": self.name,
            "status": self.status,
            "creation_date": self.created,
        }

    def changed(self) -> dict[str, Any]:
        """Return the user as operations that change it show it."""
        return {name: value for name, value in self.shown().items() if name != "status"}

    def matches(self, given: Filter) -> tuple[bool, bool]:
        """Return whether a filter matches, and whether it matches exactly."""
        name, operator, value = given
        own: Any = self.shown()[name]
        if operator == "like":
            text, part = str(own).casefold(), value.casefold()
            exact = text == (folded(value) if name == "email" else part)
            pattern = part if "%" in part else f"%{part}%"
            found = "".join({"%": ".*", "_": "."}.get(each, re.escape(each)) for each in pattern)
            return exact or re.fullmatch(found, text, re.DOTALL) is not None, exact
        values: list[Any] = [each.strip() for each in value.split(",")] if operator == "in" else [value]
        if name in NUMERIC_FIELDS:
            values = [int(each) for each in values]
        elif name == "email":
            values = [folded(each) for each in values]
        return (own in values if operator == "in" else OPERATORS[operator](own, values[0])), False

    def set_password(self, password: str) -> None:
        """Set a new password, which ends earlier tokens."""
        self.old.append(self.password)
        self.password = password
        self.generation += 1


@dataclass(slots=True)
class People:
    """The users of a solution, in the order of sign-up, also the deleted ones. now: Unix seconds."""

    users: list[User] = field(default_factory=list)
    tokens: list[Token] = field(default_factory=list)
    now: Fraction = Fraction(0)

    def by_email(self, email: str) -> User | None:
        """Return the user with an address in any equivalent spelling, or None."""
        return next((each for each in self.existing() if folded(each.email) == folded(email)), None)

    def existing(self) -> list[User]:
        """Return the users that are not deleted."""
        return [each for each in self.users if not each.deleted]

    def sign_up(self, email: str, name: str, password: str) -> User:
        """Create a user. Raises Refused."""
        check_fields(email, name, password)
        if self.by_email(email):
            raise Refused("USR-USER-8", 400)
        user = User(len(self.users), email, name, password, int(self.now))
        self.users.append(user)
        return user

    def activate(self, user: User | None) -> str:
        """Activate a user. user: the owner of the code, or None for an invalid one."""
        if user is None:
            raise Refused("USR-USER-10", 400, choice="USR-USER-11")
        if user.deleted or not user.code_unused:
            raise Refused("USR-USER-11", 400)
        user.status, user.code_unused = ACTIVE, False
        return "OK"

    def login(self, email: str, password: str, seconds: int) -> Token:
        """Create a token that is valid for `seconds`. Raises Refused."""
        if seconds < 1:
            raise Refused("USR-TOKEN-11", 400)
        user = self.by_email(email)
        if user is None or user.password != password:
            raise Refused("USR-TOKEN-3", 401, choice="USR-TOKEN-4")
        if user.status != ACTIVE:
            raise Refused("USR-TOKEN-1", 400, choice="USR-TOKEN-14")
        token = Token(user.number, user.generation, Fraction(int(self.now) + seconds))
        self.tokens.append(token)
        return token

    def current(self, token: Token) -> dict[str, Any]:
        """Return the user of a token. Raises Refused for an invalid token."""
        user = self.users[token.user]
        if self.now >= token.until:
            raise Refused("USR-TOKEN-10", 401, choice="USR-TOKEN-11")
        if user.deleted or user.status != ACTIVE or user.generation != token.generation:
            raise Refused("USR-TOKEN-8", 401)
        return user.shown()

    def require_existing(self, user: User) -> User:
        """Return the user. Raises Refused if it is deleted."""
        if user.deleted:
            raise Refused("USR-CALL-9", 404)
        return user

    def update(self, user: User, given: Mapping[str, Any]) -> dict[str, Any]:
        """Change a user's fields. Raises Refused."""
        check_fields(name=given.get("name"), password=given.get("password"))
        if given.get("status", ACTIVE) not in (ACTIVE, INACTIVE, 2):
            raise Refused("USR-DATA-2", 400)
        new = given.get("password")
        if new is not None and given.get("original_password") != user.password:
            raise Refused("USR-DATA-3", 400, *([404] if user.deleted else []))
        self.require_existing(user)
        user.name = given.get("name", user.name)
        user.status = given.get("status", user.status)
        if given.get("status") == ACTIVE:
            user.code_unused = False
        if new is not None:
            user.set_password(new)
        return user.changed()

    def reset(self, user: User, password: str) -> dict[str, Any]:
        """Set a password and return the user without status. Raises Refused."""
        try:
            check_fields(password=password)
        except Refused:
            raise Refused("USR-USER-18", 400, 404, choice="USR-USER-7") from None
        if user.deleted:
            raise Refused("USR-USER-18", 404, choice="USR-CALL-9")
        user.set_password(password)
        return user.changed()

    def delete(self, user: User) -> None:
        """Delete a user with its data. Raises Refused."""
        self.require_existing(user).deleted = True
        user.data.clear()

    def listed(self, filters: Sequence[Filter], offset: int, limit: int) -> list[dict[str, Any]]:
        """Return a page of the users that match all filters, exact matches first. Raises Refused."""
        if offset < 0 or limit < 1:
            raise Refused("USR-USER-15", 400)
        for name, operator, value in filters:
            known = name in (*NUMERIC_FIELDS, "email", "name") and operator in (*OPERATORS, "like", "in")
            values = value.split(",") if operator == "in" else [value]
            numbers = name in NUMERIC_FIELDS and operator != "like"
            if not known or (numbers and not all(each.strip().isdigit() for each in values)):
                raise Refused("USR-USER-16", 400)
        found = []
        for user in self.existing():
            fits = [user.matches(each) for each in filters]
            if all(matches for matches, _ in fits):
                likes = [exact for (_, exact), each in zip(fits, filters, strict=True) if each[1] == "like"]
                found.append(([not exact for exact in likes], user.number, user.shown()))
        return [each[-1] for each in sorted(found, key=lambda each: each[:2])][offset : offset + limit]

    # ---- data

    def data(self, user: User, operation: str, given: Mapping[str, Any]) -> Any:
        """Run an operation on a user's data. given: values by key; deletions and reads use only the keys."""
        self.require_existing(user)
        missing = [each for each in given if each not in user.data]
        if operation == "createUserData":
            if not given:
                raise Refused("USR-DATA-5", 400)
            if len(missing) < len(given):
                raise Refused("USR-DATA-6", 400)
            user.data.update(given)
            return dict(given)
        if operation == "updateUserData":
            if missing:
                raise Refused("USR-DATA-7", 400)
            user.data.update(given)
            return dict(given)
        if operation == "listUserData":
            return dict(user.data)
        if missing:
            raise Refused("USR-DATA-8" if operation == "getUserData" else "USR-DATA-9", 404)
        if operation == "getUserData":
            return user.data[next(iter(given))]
        return {each: user.data.pop(each) for each in given}
