"""Model game of users: users with the same addresses and names in two solutions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import Refused
from labkit.conformance.models.commands import Commands, dicts, one_of, optional, several, together
from labkit.conformance.models.game import LONG, TenantGame
from labkit.conformance.user.users.model import Filter, People, Token, User, folded

FIRST = "First é password "
FIRST_NAMES = ("Anna", "Ann", "xa_bx")
CODE = re.compile("[A-Za-z0-9]{40}")
LONG_LIFE = 7200  # seconds: default lifetime of a token
EMAILS = (
    "~a@example.com",
    "~A@EXAMPLE.com",
    "~b@b\u00fccher.example",
    "~B@xn--bcher-kva.example",
    "~\u00e9.x_y%z+1@example.com",
    "~E\u0301.x_y%z+1@example.com",
    "~c@sub.example.com",
    "~stra\u00dfe@example.com",
    "~STRASSE@example.com",
)
WRONG_EMAILS = ("", "~", "~@", "~ a@example.com", "Ann <~a@example.com>", "~a@example..com", "~!@example.com")

NAMES = (
    "Ann",
    "ann",
    "\u00c9va 100%",
    "\u00e9VA 100_",
    "a_b",
    "axb",
    "n" * 200,
    "\u0130\u00df \U0001f600",
    " Bob, Jr. ",
)
TOO_LONG = WRONG_EMAILS[-1]
WRONG_NAMES = ("", " ", "n" * 201, "a\nb", "a\x7fb", "a\x85b", "a\0b")
PASSWORDS = (
    "second password",
    FIRST.swapcase(),
    FIRST.strip(),
    "123456",
    "p" * 1024,
    "\u00e9" * 6,
    "e\u0301" * 3,
)
WRONG_PASSWORDS = ("", "12345", "\u00e9" * 5, "p" * 1025)
VALUES: tuple[object, ...] = (
    "x",
    "",
    5,
    2.5,
    True,
    [],
    [1, "a"],
    {"a": {"b": True}},
    "\u00e9\0\U0001f600",
    "5",
)
KEYS = ("k", "K", "k e\u0301y", "\u00e9", "%", "x" * 200)
LIKES = ("an", "AN", "%n", "a%", "a_b", "_n_", "100%", "100_", "%", "", "\u00e9va", "\u00df", "_", "%_B%")
EXAMPLES = (
    "~a",
    "~A@",
    "%@example.com",
    "~_@%",
    "B\u00dcCHER",
    "xn--bcher",
    "~\u00e9",
    "~e\u0301",
    "%z+1@%",
    "@0",
    "@2",
)
AT = ("@0", "@0", "@1", "@2")
NUMBERS = ("eq", "ne", "gt", "ge", "lt", "le", "in")
TWO_EMAILS = f"{EMAILS[0]}, {EMAILS[3]}"
FILTERS = one_of(
    together(["name"], ["like"], (*LIKES, "@0", "@1")),
    together(["email"], ["like"], EXAMPLES),
    together(["email"], ("eq", "ne", "in"), (*EMAILS, "@0", TWO_EMAILS)),
    together(["email"], ("gt", "le"), EMAILS),
    together(["name"], ("eq", "ne", "gt", "le", "in"), (*NAMES[:6], "Ann, a_b", "@0")),
    together(["id"], NUMBERS, AT),
    together(["status"], ("eq", "ne", "in", "like"), ("0", "1", "0,1", "2")),
    together(["creation_date"], NUMBERS, AT),
    together(("id", "password", "Name", "code", "status"), ("eq", "has", "LIKE"), ["x"]),
)
NAMED = one_of(
    together(["name"], ["like"], LIKES),
    together(["name"], ["in"], ("Ann, Anna", "Anna,ann", "a_b , xa_bx")),
    together(["email"], ["in"], ("@0", TWO_EMAILS)),
)
CHANGES = one_of(
    optional(name=NAMES, status=(0, 1, 1, 2, -1)),
    optional({"status": (0, 1)}),
    optional({"password": (*PASSWORDS, *WRONG_PASSWORDS)}, name=NAMES),
    optional({"name": (*NAMES, *WRONG_NAMES)}, password=PASSWORDS),
)
LOGINS = ("current", "current", "current", "old", "old", "case", "cut", "other")
DATA = ("createUserData", "createUserData", "updateUserData", "getUserData", "listUserData", "deleteUserData")
CHANGED = ("other solution", "cut", "padded", "case")

command = Commands(
    index=(0, 0, 1),
    number=(0, 0, 0, 1, 1, 2, 3),
    email=EMAILS,
    name=NAMES,
    password=PASSWORDS,
    given=CHANGES,
    original=["current"],
)


class Users(TenantGame[People]):
    """One game: users with addresses of its own."""

    default = "USR-USER-1"

    average = LONG
    service = "User"
    model = People

    async def begin(self) -> None:
        """Create users, tokens and data in both solutions."""
        self._ids: list[list[int]] = [[], []]
        await self.clock.begin()
        for index, emails in ((0, EMAILS[0:5:2]), (1, EMAILS[0:3:2])):
            for email, name in zip(emails, FIRST_NAMES, strict=False):
                await self._sign_up(index, email, name, FIRST)
        await self._calls.send()
        for index in (0, 1):
            await self.activate(index, 0, "own")
            await self.login(index, 0, 0, "current", LONG_LIFE)
        await self.login(0, 0, 0, "current", 2)
        await self.activate(0, 1, "own")
        await self.change_data(0, 0, "createUserData", {"k": "x"})

    async def end(self) -> None:
        """Compare all users, their data, and the validity of all tokens and codes."""
        for index, people in enumerate(self.models):
            await self.list(index, (), 0, 1000)
            await self.list(index, (), 1, 2)
            await self.list(index, (("name", "like", "_n"),), 0, 1000)
            for user in people.users:
                self._compare_data(index, user, "listUserData", {})
                await self.list(index, (("name", "like", user.name.upper()),), 0, 1000)
            for number in range(len(people.tokens)):
                await self.current(index, number, "as it is")
            for user in people.users:  # used and obsolete codes must be refused
                await self.activate(index, user.number, "own")
        await self._calls.send()

    def clean_up(self) -> None:
        """Delete the remaining users, since lists of all users would grow with every game."""
        for index, people in enumerate(self.models):
            for user in people.existing():
                self._calls.add(index, "User.deleteUser", {"id": user.id})

    # ---- commands

    @command(email=(*EMAILS, TOO_LONG, TOO_LONG), name=["Ann"], password=(*PASSWORDS[:2], *WRONG_PASSWORDS))
    @command(email=(*EMAILS, *WRONG_EMAILS), name=(*NAMES, *WRONG_NAMES))
    @command()
    async def sign_up(self, index: int, email: str, name: str, password: str) -> None:
        """Call createUser and read the new user's id."""
        await self._sign_up(index, email, name, password)
        await self._calls.send()

    @command(code=["own"])
    @command(code=("own", "own", "own", "case", "cut", "other solution"))
    async def activate(self, index: int, number: int, code: str) -> None:
        """Call activateUser. code: the user's own, altered, or that of the other solution."""
        user = self._user(index, number)
        other = self._user(1 - index, number)
        given = user.code or ""
        if code == "case":
            given = given.swapcase()
        elif code == "cut":
            given = given[:-1]
        elif code == "other solution":
            given = other.code or ""
        self._compare(
            index,
            "USR-USER-9",
            "activateUser",
            {"code": given},
            lambda people: people.activate(user if code == "own" else None),
        )

    @command(2, style=range(4), password=LOGINS, seconds=(LONG_LIFE, LONG_LIFE, 1, 2, 3, 0))
    async def login(self, index: int, number: int, style: int, password: str, seconds: int) -> None:
        """Call getUserToken. style: spelling of the address; password: the current, an old or a wrong one."""
        user = self._user(index, number)
        email = self._respelled(user.email, style)
        given = {
            "old": user.old[-1] if user.old else "nothing old",
            "case": user.password.swapcase(),
            "cut": user.password[:-1],
            "other": self._user(index, number + 1).password,
        }.get(password, user.password)
        if not self.clock.exact and seconds > 0:
            seconds = LONG_LIFE
        body: dict[str, Any] = {"email": email, "password": given}
        if seconds != LONG_LIFE:
            body["time_to_live"] = seconds
        tokens = self.models[index].tokens
        made: list[Token] = []

        def login(people: People) -> str:
            made.append(people.login(email, given, seconds))
            return "a text"

        def see(value: object) -> object:
            if isinstance(value, str) and made:
                if any(value == each.text for each in tokens):
                    return "the same token again"
                made[0].text = value
                return "a text"
            return value

        self._compare(index, "USR-TOKEN-2", "getUserToken", body, login, see)

    @command(number=range(6), change=CHANGED)
    @command(2, number=range(6), change=["as it is"])
    async def current(self, index: int, number: int, change: str) -> None:
        """Call getCurrentUser. change: alteration of the token, or `other solution`: call in the other solution."""
        tokens = self.models[index].tokens
        if not tokens:
            return
        token = tokens[number % len(tokens)]
        if token.text is None:
            await self._calls.send()
        text = token.text or ""
        text = {"cut": text[:-1], "padded": f"{text}=", "case": text.swapcase()}.get(change, text)

        def current(people: People) -> object:
            if change == "other solution":
                raise Refused("USR-CALL-12", 401)
            if change != "as it is":
                raise Refused("USR-TOKEN-7", 401, choice="USR-TOKEN-8")
            return people.current(token)

        asked = 1 - index if change == "other solution" else index
        self._compare(asked, "USR-TOKEN-6", "getCurrentUser", {"token": text}, current, comparable)

    @command(text=bool)
    async def get(self, index: int, number: int, text: bool) -> None:
        """Call getUser. text: pass the id as text."""
        user = self._user(index, number)
        id: object = str(user.id) if text else user.id
        self._compare(
            index,
            "USR-DATA-1",
            "getUser",
            {"id": id},
            lambda people: people.require_existing(user).shown(),
            comparable,
        )

    @command(given=optional({"password": PASSWORDS}), original=("wrong", "none", "current"))
    @command()
    @command(original=("current", "current", "wrong", "none"))
    async def update(self, index: int, number: int, given: Mapping[str, Any], original: str) -> None:
        """Call updateUser. original: the original_password sent with a new one."""
        user, given = self._user(index, number), dict(given)
        if "password" in given and original != "none":
            given["original_password"] = user.password if original == "current" else "battery staple"
        self._compare(
            index,
            "USR-DATA-2",
            "updateUser",
            {"id": user.id, **given},
            lambda people: people.update(user, given),
            comparable,
        )

    @command(password=(*PASSWORDS, *WRONG_PASSWORDS))
    async def reset(self, index: int, number: int, password: str) -> None:
        """Call resetUserPassword."""
        user = self._user(index, number)
        self._compare(
            index,
            "USR-USER-17",
            "resetUserPassword",
            {"id": user.id, "password": password},
            lambda people: people.reset(user, password),
            comparable,
        )

    @command()
    async def delete(self, index: int, number: int) -> None:
        """Call deleteUser."""
        user = self._user(index, number)
        self._compare(index, "USR-DATA-4", "deleteUser", {"id": user.id}, lambda people: people.delete(user))

    @command()
    async def replace_newest(self, index: int) -> None:
        """Delete the newest user and sign up its address again."""
        user = self.models[index].users[-1]
        await self.delete(index, user.number)
        await self._sign_up(index, user.email, user.name, FIRST)
        await self._calls.send()

    @command(filters=together(NAMED), offset=[0], limit=(1000, 1000, 1))
    @command(filters=several(FILTERS, 2, 1), offset=(0, 0, 0, 1, 2, -1), limit=(1000, 1000, 1, 2, 0))
    async def list(self, index: int, filters: Sequence[Filter], offset: int, limit: int) -> None:
        """Call listUsers for users of this game. A value `@1` is the field's value of that user."""
        own = [self._resolved(index, each) for each in filters]
        first: Filter = ("email", "like", self._prefix)
        given = ["::".join(each) for each in (first, *own)]
        body: dict[str, Any] = {"filter": given, "offset": offset, "limit": limit}
        rule = {"like": "USR-USER-14"}.get(own[-1][1] if own else "", "USR-USER-13" if own else "USR-USER-12")
        if own and own[-1][0] == "email":
            rule = "USR-USER-22"

        def see(found: Any) -> Any:
            return [comparable(each) for each in found] if isinstance(found, list) else found

        self._compare(
            index,
            rule,
            "listUsers",
            body,
            lambda people: people.listed([first, *own], offset, limit),
            see,
        )

    @command(2, operation=DATA, given=dicts(("k", "k", *KEYS), VALUES, 3, 1))
    async def change_data(self, index: int, number: int, operation: str, given: Mapping[str, Any]) -> None:
        """Call an operation on a user's data."""
        self._compare_data(index, self._user(index, number), operation, given)

    @command(ticks=(1024, 1024, 512, 128, 896, 2048))
    async def advance(self, ticks: int) -> None:
        """Advance the clock after all pending calls, and use the tokens that expire about then."""
        await self._calls.send()
        await self.clock.advance(ticks)
        for index, people in enumerate(self.models):
            for number, token in enumerate(people.tokens):
                if abs(token.until - self.clock.now) <= 1:  # it expires about now
                    await self.current(index, number, "as it is")

    # ---- comparing

    async def _sign_up(self, index: int, email: str, name: str, password: str) -> None:
        people, email = self.models[index], self._with_prefix(email)
        people.now = self.clock.now
        made: list[User] = []

        def sign_up(people: People) -> str:
            made.append(people.sign_up(email, name, password))
            return "a code"

        def code(value: object) -> object:
            if isinstance(value, str) and made:
                known = {each.code for both in self.models for each in both.users}
                made[0].code = value
                fits = CODE.fullmatch(value) is not None and value not in known
                self._rules.holds("USR-USER-6", "a new code of 40 letters and digits", fits, True)
                return "a code"
            return value

        body = {"email": email, "name": name, "password": password}
        self._compare(index, "USR-USER-4", "createUser", body, sign_up, code)

        def found(value: Any) -> Any:
            if made and isinstance(value, list) and len(value) == 1 and isinstance(value[0].get("id"), int):
                [user] = value
                fresh = all(user["id"] > each for each in self._ids[index])
                self._rules.holds("USR-USER-3", "does the id grow?", fresh, True)
                self._ids[index].append(user["id"])
                made[0].id = user["id"]
                if not self.clock.exact:
                    made[0].created = user["creation_date"]
                return [comparable(user)]
            return value

        if made:  # the model takes over the id and the date
            user = made[0]
            wanted = [user.shown()]

            def filled(value: Any) -> Any:
                value = found(value)
                wanted[0].update(id=user.id, creation_date=user.created)
                return value

            query = {"filter": f"email::eq::{email}"}
            self._compare(index, "USR-USER-3", "listUsers", query, lambda _: wanted, filled)

    def _compare_data(self, index: int, user: User, operation: str, given: Mapping[str, Any]) -> None:
        rules = {"createUserData": "USR-DATA-5", "listUserData": "USR-DATA-5", "updateUserData": "USR-DATA-7"}
        rule = rules.get(operation, "USR-DATA-8" if operation == "getUserData" else "USR-DATA-9")
        body: dict[str, Any] = {"id": user.id}
        if operation in ("createUserData", "updateUserData"):
            body |= given
        elif operation == "getUserData":
            given = dict(list(given.items())[:1])
            body["key"] = next(iter(given))
        elif operation == "deleteUserData":
            body["keys"] = list(given)
        self._compare(index, rule, operation, body, lambda people: people.data(user, operation, given))

    def _compare(self, *call: Any, **more: Any) -> None:
        for each in self.models:
            each.now = self.clock.now
        super()._compare(*call, **more)

    def _user(self, index: int, number: int) -> User:
        users = self.models[index].users
        return users[number % len(users)]

    def _with_prefix(self, text: str) -> str:
        """Replace ~ by this game's prefix and ! by too many characters."""
        return text.replace("~", self._prefix).replace("!", "x" * 320)

    def _respelled(self, email: str, style: int) -> str:
        """Return an equivalent spelling of an address."""
        local, _, domain = email.partition("@")
        if style == 1:
            return email.upper()
        if style == 2:
            return f"{local}@{domain.encode('idna').decode()}"
        if style == 3:
            return f"{local.swapcase()}@{domain.capitalize()}"
        return email

    def _resolved(self, index: int, given: Filter) -> Filter:
        name, operator, value = given
        if value.startswith("@"):
            user = self._user(index, int(value[1:]))
            shown: Any = user.shown().get(name, "x")
            return name, operator, user.email if name == "email" else str(shown)
        return name, operator, self._with_prefix(value)


def comparable(found: Any) -> Any:
    """Return a user record with its address in the form of a login."""
    if not isinstance(found, dict) or not isinstance(found.get("email"), str):
        return found
    return {**found, "email": folded(found["email"])}
