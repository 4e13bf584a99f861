"""Model game of users: users with the same addresses and names in two solutions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from labkit.conformance.models.calls import Calls, Refused
from labkit.conformance.models.game_clock import GameClock
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.target import Target
from labkit.conformance.user.users.model import Filter, People, Token, User, folded

SOLUTIONS = (PROBE, WITNESS)
FIRST = "First é password "
NAMES = ("Anna", "Ann", "xa_bx")
CODE = re.compile("[A-Za-z0-9]{40}")
LONG = 7200  # seconds: default lifetime of a token
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


class Users:
    """One game: users with addresses of its own."""

    default = "USR-USER-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self._calls = Calls(target, rules, self.default, SOLUTIONS)
        self._prefix = f"{target.identity()}-"
        self.clock = GameClock(target)
        self.people = [People(), People()]
        self._ids: list[list[int]] = [[], []]

    async def begin(self) -> None:
        """Create users, tokens and data in both solutions."""
        await self.clock.begin()
        for index, emails in ((0, EMAILS[0:5:2]), (1, EMAILS[0:3:2])):
            for email, name in zip(emails, NAMES, strict=False):
                await self._sign_up(index, email, name, FIRST)
        await self._calls.send()
        for index in (0, 1):
            await self.activate(index, 0, "own")
            await self.login(index, 0, 0, "current", LONG)
        await self.login(0, 0, 0, "current", 2)
        await self.activate(0, 1, "own")
        await self.change_data(0, 0, "createUserData", {"k": "x"})

    async def end(self) -> None:
        """Compare all users, their data, and the validity of all tokens and codes."""
        for index, people in enumerate(self.people):
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

    async def close(self) -> None:
        """Delete the remaining users, since lists of all users would grow with every game."""
        left = Calls(self._target, self._rules, self.default, SOLUTIONS)
        for index, people in enumerate(self.people):
            for user in people.existing():
                left.add(index, "User.deleteUser", {"id": user.id})
        await left.send()

    async def play(self, command: Any) -> None:
        """Run a command."""
        await command(self)

    async def pause(self) -> None:
        """Finish pending calls before the platform restarts."""
        await self._calls.send()

    # ---- commands

    async def sign_up(self, index: int, email: str, name: str, password: str) -> None:
        """Call createUser and read the new user's id."""
        await self._sign_up(index, email, name, password)
        await self._calls.send()

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
            lambda: self.people[index].activate(user if code == "own" else None),
        )

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
            seconds = LONG
        body: dict[str, Any] = {"email": email, "password": given}
        if seconds != LONG:
            body["time_to_live"] = seconds
        tokens = self.people[index].tokens
        made: list[Token] = []

        def login() -> str:
            made.append(self.people[index].login(email, given, seconds))
            return "a text"

        def see(value: object) -> object:
            if isinstance(value, str) and made:
                if any(value == each.text for each in tokens):
                    return "the same token again"
                made[0].text = value
                return "a text"
            return value

        self._compare(index, "USR-TOKEN-2", "getUserToken", body, login, see)

    async def current(self, index: int, number: int, change: str) -> None:
        """Call getCurrentUser. change: alteration of the token, or `other solution`: call in the other solution."""
        tokens = self.people[index].tokens
        if not tokens:
            return
        token = tokens[number % len(tokens)]
        if token.text is None:
            await self._calls.send()
        text, people = token.text or "", self.people[index]
        text = {"cut": text[:-1], "padded": f"{text}=", "case": text.swapcase()}.get(change, text)

        def current() -> object:
            if change == "other solution":
                raise Refused("USR-CALL-12", 401)
            if change != "as it is":
                raise Refused("USR-TOKEN-7", 401, choice="USR-TOKEN-8")
            return people.current(token)

        asked = 1 - index if change == "other solution" else index
        self._compare(asked, "USR-TOKEN-6", "getCurrentUser", {"token": text}, current, comparable)

    async def get(self, index: int, number: int, text: bool) -> None:
        """Call getUser. text: pass the id as text."""
        user = self._user(index, number)
        id: object = str(user.id) if text else user.id
        self._compare(
            index,
            "USR-DATA-1",
            "getUser",
            {"id": id},
            lambda: self.people[index].require_existing(user).shown(),
            comparable,
        )

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
            lambda: self.people[index].update(user, given),
            comparable,
        )

    async def reset(self, index: int, number: int, password: str) -> None:
        """Call resetUserPassword."""
        user = self._user(index, number)
        self._compare(
            index,
            "USR-USER-17",
            "resetUserPassword",
            {"id": user.id, "password": password},
            lambda: self.people[index].reset(user, password),
            comparable,
        )

    async def delete(self, index: int, number: int) -> None:
        """Call deleteUser."""
        user = self._user(index, number)
        self._compare(
            index, "USR-DATA-4", "deleteUser", {"id": user.id}, lambda: self.people[index].delete(user)
        )

    async def replace_newest(self, index: int) -> None:
        """Delete the newest user and sign up its address again."""
        user = self.people[index].users[-1]
        await self.delete(index, user.number)
        await self._sign_up(index, user.email, user.name, FIRST)
        await self._calls.send()

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
            lambda: self.people[index].listed([first, *own], offset, limit),
            see,
        )

    async def change_data(self, index: int, number: int, operation: str, given: Mapping[str, Any]) -> None:
        """Call an operation on a user's data."""
        self._compare_data(index, self._user(index, number), operation, given)

    async def advance(self, ticks: int) -> None:
        """Advance the clock after all pending calls, and use the tokens that expire about then."""
        await self._calls.send()
        await self.clock.advance(ticks)
        for index, people in enumerate(self.people):
            for number, token in enumerate(people.tokens):
                if abs(token.until - self.clock.now) <= 1:  # it expires about now
                    await self.current(index, number, "as it is")

    # ---- comparing

    async def _sign_up(self, index: int, email: str, name: str, password: str) -> None:
        people, email = self.people[index], self._with_prefix(email)
        people.now = self.clock.now
        made: list[User] = []

        def sign_up() -> str:
            made.append(people.sign_up(email, name, password))
            return "a code"

        def code(value: object) -> object:
            if isinstance(value, str) and made:
                known = {each.code for both in self.people for each in both.users}
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

            def shown() -> Any:
                return wanted

            def filled(value: Any) -> Any:
                value = found(value)
                wanted[0].update(id=user.id, creation_date=user.created)
                return value

            query = {"filter": f"email::eq::{email}"}
            self._compare(index, "USR-USER-3", "listUsers", query, shown, filled)

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
        self._compare(index, rule, operation, body, lambda: self.people[index].data(user, operation, given))

    def _compare(
        self,
        index: int,
        rule: str,
        operation: str,
        body: Mapping[str, Any],
        change: Callable[[], object],
        see: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.people[index].now = self.people[1 - index].now = self.clock.now
        self._calls.compare(index, f"User.{operation}", body, rule, change, see)

    def _user(self, index: int, number: int) -> User:
        users = self.people[index].users
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
