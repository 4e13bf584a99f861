"""Playing the model of OAuth: two users and two clients of one solution, and another solution that knows neither."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from labkit.conformance.models.moments import Moments
from labkit.conformance.models.rules import Rules
from labkit.conformance.probe import PROBE, WITNESS
from labkit.conformance.set_up import SetUpError
from labkit.conformance.target import Target
from labkit.conformance.user.oauth.client import CALLBACK
from labkit.conformance.user.oauth.model import ACCESS_TTL, REFRESH_TTL, Code, Grants, Tokens

if TYPE_CHECKING:
    import httpx

PASSWORD = "correct horse"
SOLUTIONS = (PROBE, WITNESS)


class OAuth:
    """One game: two users, each with a client, who approve and exchange."""

    default = "USR-OAUTH-1"

    def __init__(self, target: Target, rules: Rules) -> None:
        self._target = target
        self._rules = rules
        self.moments = Moments(target)
        self._users: list[int] = []
        self._logins: list[str] = []
        self._people: list[dict[str, str]] = []
        self._clients: list[dict[str, Any]] = []
        self._codes: list[str] = []
        self._sets: list[dict[str, Any]] = []
        self._grants = Grants()
        self._lost = False

    async def begin(self) -> None:
        for _ in range(2):
            email = f"{self._target.identity()}@example.com"
            person = {"email": email, "password": PASSWORD}
            code = await self._made("createUser", {**person, "name": "Ann"})
            await self._made("activateUser", {"code": code})
            id = (await self._made("listUsers", {"filter": f"email::eq::{email}"}))[0]["id"]
            self._users.append(id)
            self._logins.append(await self._made("getUserToken", person))
            self._people.append(person)
            client = {"id": id, "name": "Shop", "redirect": CALLBACK}
            self._clients.append(await self._made("createOauthClient", client))
        await self.moments.begin()
        for user, owner in ((0, 0), (1, 1), (0, 1)):
            await self.approve(user, owner)
            await self.redeem(0, "right", (None, None))
        await self.approve(1, 0)

    async def end(self) -> None:
        """Every set is asked for once more."""
        for number in range(len(self._sets)):
            await self.use(number)

    async def close(self) -> None:
        """Nothing is under way; users and clients stay, as people do."""

    async def play(self, command: Any) -> None:
        if not self._lost:
            await command(self)

    # ---- what commands do

    async def approve(self, user: int, client: int) -> None:
        """A user approves a client, the own one or another's."""
        if user in self._grants.inactive:
            return
        approval = {
            "token": self._logins[user],
            "client_id": self._clients[client]["id"],
            "redirect_uri": CALLBACK,
            "response_type": "code",
            "scope": "profile",
        }
        response = await self._call("getOauthAuthorizeApproved", approval)
        found = result(response)
        good = client not in self._grants.deleted
        if not self._rules.holds("USR-OAUTH-12", "is a code given?", isinstance(found, str), good, response):
            self._lost = True
        elif isinstance(found, str):
            self._codes.append(found)
            self._grants.codes.append(Code(client, user, self.moments.now))

    async def redeem(self, number: int, how: str, ttls: tuple[int | None, int | None]) -> None:
        """Exchange a code. how: right, or what is wrong about it."""
        if not self._codes:
            return
        codes = self._grants.codes
        fresh = [index for index, each in enumerate(codes) if not each.used and not each.unsure]
        among = (
            fresh if fresh and how != "right" else range(len(codes))
        )  # what is wrong shows where nothing else is
        family = among[-1 - number % len(among)]  # the newest ones first
        code = codes[family]
        if (
            code.unsure
            or code.user in self._grants.inactive
            or (code.used and how not in ("right", "no secret", "abroad", "wrong secret"))
        ):
            return
        counts = self._grants.code_counts(code, self.moments.now)
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
            how, "USR-OAUTH-32" if code.used else "USR-OAUTH-37" if counts is False else "USR-OAUTH-1"
        )
        if how == "no redirect":
            del parameters["redirect_uri"]
        good = counts if how in ("right", "no secret") else False
        response = await self._exchange(parameters, code.client, how, ttls)
        if how == "other client":
            code.unsure = True
        fits = self._judge(rule, response, good, family, ttls)
        if fits and how in ("right", "no secret"):
            if code.used:
                self._grants.end_family(family)
            code.used = code.used or isinstance(result(response).get("access_token"), str)

    async def refresh(self, number: int, how: str, ttls: tuple[int | None, int | None]) -> None:
        """Exchange a refresh token."""
        if not self._sets:
            return
        number = -1 - number % len(self._sets)
        tokens = self._grants.sets[number]
        if tokens.user in self._grants.inactive:
            return
        if how == "other client" or how == "no redirect":
            how = "right"
        counts = self._grants.refresh_counts(tokens, self.moments.now)
        if tokens.ended and not tokens.refreshed:
            how = "wrong secret" if how == "wrong secret" else "abroad"  # else it may count as stolen, or not
        parameters = {"grant_type": "refresh_token", "refresh_token": self._sets[number]["refresh_token"]}
        good = counts if how in ("right", "no secret") else False
        rule = (
            "USR-OAUTH-26"
            if how == "wrong secret"
            else "USR-OAUTH-33"
            if tokens.refreshed
            else "USR-OAUTH-36"
        )
        rule = "USR-OAUTH-31" if how == "abroad" else rule
        response = await self._exchange(parameters, tokens.client, how, ttls)
        was = tokens.refreshed
        if self._judge(rule, response, good, tokens.family, ttls) and how in ("right", "no secret"):
            if was:
                self._grants.end_family(tokens.family)
            tokens.refreshed = was or isinstance(result(response).get("access_token"), str)

    async def twice(self, number: int) -> None:
        """Exchange a refresh token twice at the same time: at most one succeeds; then nobody asks for it again."""
        usable = [
            index
            for index, each in enumerate(self._grants.sets)
            if self._grants.refresh_counts(each, self.moments.now) and each.user not in self._grants.inactive
        ]
        if not usable:
            return
        index = usable[number % len(usable)]
        tokens = self._grants.sets[index]
        parameters = {"grant_type": "refresh_token", "refresh_token": self._sets[index]["refresh_token"]}
        found = await asyncio.gather(
            *(self._exchange(parameters, tokens.client, "right", (None, None)) for _ in range(2))
        )
        given = [each for each in found if "access_token" in result(each)]
        self._rules.holds("USR-OAUTH-33", "at most one is given", len(given) <= 1, True, found[0])
        tokens.refreshed = True
        self._grants.end_family(tokens.family)  # the second use ends what came from it

    async def use(self, number: int) -> None:
        """Ask who a token set speaks for."""
        if not self._sets or self._lost:
            return
        number = -1 - number % len(self._sets)
        tokens = self._grants.sets[number]
        counts = self._grants.access_counts(tokens, self.moments.now)
        response = await self._call("getCurrentUser", {"token": self._sets[number]["access_token"]})
        found = result(response)
        seen = found.get("id")
        if counts is not None:
            wanted = self._users[tokens.user] if counts else None
            if not self._rules.holds(self._rule(tokens), "user of the access token", seen, wanted, response):
                self._lost = True
        response = await self._call("getCurrentUser", {"token": self._sets[number]["access_token"]}, 1)
        seen = result(response).get("id")
        self._rules.holds("USR-OAUTH-38", "user of the token in another solution", seen, None, response)

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

    async def delete(self) -> None:
        """Delete the second client."""
        if 1 not in self._grants.deleted:
            parameters = {"id": self._users[1], "client_id": self._clients[1]["id"]}
            response = await self._call("deleteOauthClient", parameters)
            refused = "error" in result(response)
            self._rules.holds("USR-OAUTH-6", "is it refused?", refused, False, response)
            self._grants.delete(1)

    async def password(self, user: int) -> None:
        """A user gets another password, and logs in by it."""
        if user not in self._grants.inactive:
            person = self._people[user]
            person["password"] += "!"
            await self._made("resetUserPassword", {"id": self._users[user], "password": person["password"]})
            self._grants.change_password(user)
            self._logins[user] = await self._made("getUserToken", person)

    async def status(self, user: int, status: int) -> None:
        """A user is made inactive, or active again."""
        await self._made("updateUser", {"id": self._users[user], "status": status})
        (self._grants.inactive.discard if status else self._grants.inactive.add)(user)

    async def advance(self, ticks: int) -> None:
        """Let time pass."""
        if self.moments.exact:
            await self.moments.advance(ticks)

    # ---- requests

    def _judge(
        self,
        rule: str,
        response: httpx.Response,
        good: bool | None,
        family: int,
        ttls: tuple[int | None, int | None],
    ) -> bool:
        """Was a set given where it should be? Keeps it."""
        found = result(response)
        given = isinstance(found.get("access_token"), str)
        if good is not None and not self._rules.holds(rule, "is a set given?", given, good, response):
            self._lost = True
            return False
        if given:
            access, refresh = ttls[0] or ACCESS_TTL, ttls[1] or REFRESH_TTL
            self._rules.holds("USR-OAUTH-34", "expires_in", found.get("expires_in"), access, response)
            self._grants.give(family, self.moments.now, access, refresh)
            self._sets.append(found)
        return True

    async def _exchange(
        self, parameters: dict[str, Any], client: int, how: str, ttls: tuple[int | None, int | None]
    ) -> httpx.Response:
        owner = self._clients[1 - client if how == "other client" else client]
        given = {**parameters, "client_id": owner["id"], "client_secret": owner["secret"]}
        if how == "wrong secret":
            given["client_secret"] = owner["secret"].swapcase()
        elif how == "no secret":
            del given["client_secret"]
        named = zip(("access_token_ttl", "refresh_token_ttl"), ttls, strict=True)
        given |= {name: ttl for name, ttl in named if ttl is not None}
        return await self._call("getOauthToken", given, 1 if how == "abroad" else 0)

    async def _call(self, operation: str, parameters: dict[str, Any], index: int = 0) -> httpx.Response:
        client = self._target.shared_client(SOLUTIONS[index])
        response = await client.request("POST", f"/call/User/{operation}", json=parameters)
        self._rules.holds("USR-OAUTH-1", f"status of {operation}", response.status_code, 200, response)
        return response

    async def _made(self, operation: str, parameters: dict[str, Any]) -> Any:
        response = await self._call(operation, parameters)
        found = response.json().get("result")
        if isinstance(found, dict) and "error" in found:
            raise SetUpError(f"set-up: {operation}: {found.get('status')}")
        return found


def result(response: httpx.Response) -> Any:
    """What an operation gave; an empty table where that was nothing."""
    found = response.json().get("result")
    return {} if found is None else found
