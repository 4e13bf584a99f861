"""Model game of OAuth: two users and two clients of one solution, and a second solution without them."""

from __future__ import annotations

from typing import Any

from labkit.conformance.models.calls import CallResult
from labkit.conformance.models.commands import Commands, together
from labkit.conformance.models.game import LONG, ScriptGame
from labkit.conformance.probe import PROBE
from labkit.conformance.set_up import SetUpError
from labkit.conformance.user.oauth.client import CALLBACK
from labkit.conformance.user.oauth.model import ACCESS_TTL, REFRESH_TTL, Code, Grants, Tokens

PASSWORD = "correct horse"

HOW = (
    "right",
    "right",
    "right",
    "no secret",
    "wrong secret",
    "no redirect",
    "other client",
    "other solution",
)
SECOND = 1024  # ticks
TICKS = (SECOND, 599 * SECOND, SECOND // 2, 600 * SECOND, 9 * SECOND)
TTLS = together([None, None, 10, 601], [None, None, 10, 601])
TWO = (0, 0, 1)

command = Commands(user=TWO, client=TWO, number=(0, 0, 0, 1, 2), how=HOW, ttls=TTLS)


class OAuth(ScriptGame):
    """One game: two users with a client each, which they approve and whose codes they exchange."""

    default = "USR-OAUTH-1"

    average = LONG

    async def begin(self) -> None:
        """Create users and clients, and some codes and token sets."""
        self._codes: list[str] = []
        self._sets: list[dict[str, Any]] = []
        self._grants = Grants()
        self._diverged = False
        emails = [f"{self._target.identity()}@example.com" for _ in range(2)]
        self._people = [{"email": each, "password": PASSWORD} for each in emails]
        *codes, (one,), (other,) = await self._results(
            *(("createUser", {**each, "name": "Ann"}) for each in self._people),
            *(("listUsers", {"filter": f"email::eq::{each}"}) for each in emails),
        )
        self._users = [one["id"], other["id"]]
        _, _, *found = await self._results(
            *(("activateUser", {"code": each}) for each in codes),
            *(("getUserToken", each) for each in self._people),
            *(
                ("createOauthClient", {"id": each, "name": "Shop", "redirect": CALLBACK})
                for each in self._users
            ),
        )
        self._logins, self._clients = found[:2], found[2:]
        await self.clock.begin()
        for user, owner in ((0, 0), (1, 1), (0, 1), (1, 0)):
            await self.approve(user, owner)
        for number in (3, 2, 1):
            await self.redeem(number, "right", (None, None))

    async def end(self) -> None:
        """Use every access token once more."""
        for number in range(len(self._sets)):
            await self.use(number)
        await self._calls.send()

    async def play(self, command: Any) -> None:
        """Run a command, unless the target's state differs from the model's."""
        if not self._diverged:
            await super().play(command)

    # ---- commands

    @command(2)
    async def approve(self, user: int, client: int) -> None:
        """Have a user approve its own or the other's client."""
        if user in self._grants.inactive:
            return
        approval = {
            "token": self._logins[user],
            "client_id": self._clients[client]["id"],
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": "profile",
        }
        good, now = client not in self._grants.deleted, self.clock.now

        def judge(given: CallResult) -> None:
            found = given.value
            if not self._rules.holds("USR-OAUTH-12", "is a code given?", isinstance(found, str), good, given):
                self._diverged = True
            elif isinstance(found, str):
                self._codes.append(found)
                self._grants.codes.append(Code(client, user, now))

        self._calls.add(0, "User.getOauthAuthorizeApproved", approval, judge)

    @command()
    @command(how=["right"])
    async def redeem(self, number: int, how: str, ttls: tuple[int | None, int | None]) -> None:
        """Exchange a code. how: right, or the mistake in the request."""
        await self._calls.send()
        if not self._codes:
            return
        codes = self._grants.codes
        fresh = [index for index, each in enumerate(codes) if not each.used and not each.uncertain]
        # a mistake shows only with an otherwise valid code
        among = fresh if fresh and how != "right" else range(len(codes))
        family = among[-1 - number % len(among)]  # newest first
        code = codes[family]
        if (
            code.uncertain
            or code.user in self._grants.inactive
            or (code.used and how not in ("right", "no secret", "other solution", "wrong secret"))
        ):
            return
        valid = self._grants.is_code_valid(code, self.clock.now)
        parameters: dict[str, Any] = {
            "grant_type": "authorization_code",
            "code": self._codes[family],
            "redirect_uri": CALLBACK,
        }
        rules = {
            "wrong secret": "USR-OAUTH-26",
            "no redirect": "USR-OAUTH-29",
            "other client": "USR-OAUTH-24",
        }
        rule = rules.get(
            how, "USR-OAUTH-32" if code.used else "USR-OAUTH-37" if valid is False else "USR-OAUTH-1"
        )
        if how == "no redirect":
            del parameters["redirect_uri"]
        good = valid if how in ("right", "no secret") else False
        response = await self._exchange(parameters, code.client, how, ttls)
        if how == "other client":
            code.uncertain = True
        fits = self._judge(rule, response, good, family, ttls)
        if fits and how in ("right", "no secret"):
            if code.used:
                self._grants.end_family(family)
            code.used = code.used or isinstance(result(response).get("access_token"), str)

    @command(how=["right"])
    @command()
    async def refresh(self, number: int, how: str, ttls: tuple[int | None, int | None]) -> None:
        """Exchange a refresh token. how: right, or the mistake in the request."""
        if not self._sets:
            return
        number = -1 - number % len(self._sets)
        tokens = self._grants.sets[number]
        if tokens.user in self._grants.inactive:
            return
        if how == "other client" or how == "no redirect":
            how = "right"
        valid = self._grants.is_refresh_valid(tokens, self.clock.now)
        if tokens.ended and not tokens.refreshed:
            # any other way, the documents do not say whether it counts as a replay
            how = "wrong secret" if how == "wrong secret" else "other solution"
        parameters = {"grant_type": "refresh_token", "refresh_token": self._sets[number]["refresh_token"]}
        good = valid if how in ("right", "no secret") else False
        rule = (
            "USR-OAUTH-26"
            if how == "wrong secret"
            else "USR-OAUTH-33"
            if tokens.refreshed
            else "USR-OAUTH-36"
        )
        rule = "USR-OAUTH-31" if how == "other solution" else rule
        response = await self._exchange(parameters, tokens.client, how, ttls)
        was = tokens.refreshed
        if self._judge(rule, response, good, tokens.family, ttls) and how in ("right", "no secret"):
            if was:
                self._grants.end_family(tokens.family)
            tokens.refreshed = was or isinstance(result(response).get("access_token"), str)

    @command()
    async def refresh_twice(self, number: int) -> None:
        """Exchange a refresh token twice at the same time: at most one exchange may succeed."""
        usable = [
            index
            for index, each in enumerate(self._grants.sets)
            if self._grants.is_refresh_valid(each, self.clock.now) and each.user not in self._grants.inactive
        ]
        if not usable:
            return
        index = usable[number % len(usable)]
        tokens = self._grants.sets[index]
        parameters = {"grant_type": "refresh_token", "refresh_token": self._sets[index]["refresh_token"]}
        exchange = (0, "User.getOauthToken", {**parameters, **self._secrets(tokens.client)})
        found = await self._calls.call_concurrently(exchange, exchange)
        given = [each for each in found if "access_token" in result(each)]
        self._rules.holds("USR-OAUTH-33", "at most one is given", len(given) <= 1, True, found[0])
        tokens.refreshed = True
        self._grants.end_family(tokens.family)  # the replay ends the code's token sets

    @command(number=(0, 1, 2, 3))
    @command()
    async def use(self, number: int) -> None:
        """Ask for the user of an access token, in its solution and in another one."""
        if not self._sets or self._diverged:
            return
        number = -1 - number % len(self._sets)
        tokens = self._grants.sets[number]
        valid = self._grants.is_access_valid(tokens, self.clock.now)
        rule = self._rule(tokens)
        wanted = self._users[tokens.user] if valid else None

        def judge(given: CallResult) -> None:
            seen = result(given).get("id")
            if not self._rules.holds(rule, "user of the access token", seen, wanted, given):
                self._diverged = True

        def judge_elsewhere(given: CallResult) -> None:
            """Check that the other solution does not know the token."""
            seen = result(given).get("id")
            self._rules.holds("USR-OAUTH-38", "user of the token in another solution", seen, None, given)

        token = {"token": self._sets[number]["access_token"]}
        self._calls.add(0, "User.getCurrentUser", token, judge)
        self._calls.add(1, "User.getCurrentUser", token, judge_elsewhere)

    def _rule(self, tokens: Tokens) -> str:
        if tokens.client in self._grants.deleted:
            return "USR-OAUTH-7"
        if tokens.by_password or tokens.user in self._grants.inactive:
            return "USR-TOKEN-8"
        if tokens.ended:
            return "USR-OAUTH-20"
        later = self._grants.sets[self._grants.sets.index(tokens) + 1 :]
        others = any((each.client, each.user) != (tokens.client, tokens.user) for each in later)
        return "USR-OAUTH-21" if others else "USR-OAUTH-35"

    @command()
    async def delete_client(self) -> None:
        """Delete the second client."""
        if 1 not in self._grants.deleted:
            parameters = {"id": self._users[1], "client_id": self._clients[1]["id"]}
            response = await self._call("deleteOauthClient", parameters)
            refused = "error" in result(response)
            self._rules.holds("USR-OAUTH-6", "is it refused?", refused, False, response)
            self._grants.delete(1)

    @command()
    async def change_password(self, user: int) -> None:
        """Change a user's password and log in with it."""
        if user not in self._grants.inactive:
            person = self._people[user]
            person["password"] += "!"
            reset = {"id": self._users[user], "password": person["password"]}
            _, self._logins[user] = await self._results(
                ("resetUserPassword", reset), ("getUserToken", person)
            )
            self._grants.change_password(user)

    @command(status=(0, 1, 1))
    async def set_status(self, user: int, status: int) -> None:
        """Make a user inactive, or active again."""
        await self._results(("updateUser", {"id": self._users[user], "status": status}))
        (self._grants.inactive.discard if status else self._grants.inactive.add)(user)

    @command(ticks=TICKS)
    async def advance(self, ticks: int) -> None:
        """Advance the clock by ticks, if it is exact."""
        if self.clock.exact:
            await self._advance(ticks)
            await self._target.pool(PROBE).close()

    # ---- requests

    def _judge(
        self,
        rule: str,
        response: CallResult,
        good: bool,
        family: int,
        ttls: tuple[int | None, int | None],
    ) -> bool:
        """Compare whether a token set was given, and store it; return whether the model still agrees."""
        found = result(response)
        given = isinstance(found.get("access_token"), str)
        if not self._rules.holds(rule, "is a set given?", given, good, response):
            self._diverged = True
            return False
        if given:
            access, refresh = ttls[0] or ACCESS_TTL, ttls[1] or REFRESH_TTL
            self._rules.holds("USR-OAUTH-34", "expires_in", found.get("expires_in"), access, response)
            self._grants.issue(family, self.clock.now, access, refresh)
            self._sets.append(found)
        return True

    def _secrets(self, client: int) -> dict[str, Any]:
        known = self._clients[client]
        return {"client_id": known["id"], "client_secret": known["secret"]}

    async def _exchange(
        self, parameters: dict[str, Any], client: int, how: str, ttls: tuple[int | None, int | None]
    ) -> CallResult:
        given = {**parameters, **self._secrets(1 - client if how == "other client" else client)}
        if how == "wrong secret":
            given["client_secret"] = given["client_secret"].swapcase()
        elif how == "no secret":
            del given["client_secret"]
        named = zip(("access_token_ttl", "refresh_token_ttl"), ttls, strict=True)
        given |= {name: ttl for name, ttl in named if ttl is not None}
        return await self._call("getOauthToken", given, 1 if how == "other solution" else 0)

    async def _call(self, operation: str, parameters: dict[str, Any], index: int = 0) -> CallResult:
        return await self._calls.call(index, f"User.{operation}", parameters)

    async def _results(self, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
        """Call operations and return their results, none of which may be an error. Raises SetUpError."""
        found: list[CallResult] = []
        for operation, parameters in calls:
            self._calls.add(0, f"User.{operation}", parameters, found.append)
        await self._calls.send()
        wrong = [each.shown() for each in found if isinstance(each.value, dict) and "error" in each.value]
        if wrong or len(found) != len(calls):
            raise SetUpError(f"set-up: {wrong[0] if wrong else 'a script failed'}")
        return [each.value for each in found]


def result(given: CallResult) -> Any:
    """Return the result of an operation; an empty table for nil."""
    return {} if given.value is None else given.value
