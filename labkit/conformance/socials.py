"""What checks ask of social login, at the providers that lab.yaml has: google and github (OAuth 2), twitter (1)."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from labkit.conformance import expect
from labkit.conformance.probe import PROBE, Table
from labkit.conformance.users import User

GOOGLE, TWITTER = "google", "twitter"  # both let the first of their people in, unasked
ANN = {GOOGLE: {"sub": "p-1", "name": "Ann", "email": "ann@example.com"}, TWITTER: {"screen_name": "p-1"}}
SCOPE = {GOOGLE: ["profile", "email"], "github": ["user"]}
MISSING = "a-consumer-without-provider"


class Socials(User):
    """The User service, with what these checks do again and again."""

    def described(self, consumer: str = GOOGLE, **change: Any) -> Table:
        """What createSocial takes for an application that lab.yaml registers."""
        application = self._target.application(consumer.lower())
        return {
            "consumer": consumer,
            "scope": SCOPE.get(consumer.lower(), []),
            "redirect": self._target.url(PROBE, "/requests/callback"),
            "client_id": application.client_id,
            "client_secret": application.client_secret.get_secret_value(),
            **change,
        }

    async def without(self, consumer: str) -> None:
        """Nobody has left a social of this consumer."""
        await self.call("User", "deleteSocial", {"consumer": consumer})

    async def ready(self, consumer: str = GOOGLE, **change: Any) -> Table:
        """A new social."""
        await self.without(consumer)
        social = self.described(consumer, **change)
        self.same("the social", await self.table("createSocial", **social), social)
        return social

    async def url(self, consumer: str, **given: object) -> str:
        return await self.text("getSocialLoginUrl", consumer=consumer, **given)

    async def callback(self, consumer: str = GOOGLE) -> Table:
        """What getSocialToken is given after a person has logged in."""
        arguments = {"reqToken": await self.url(consumer)} if consumer == TWITTER else {}
        page = await self._target.browser().request("GET", await self.url(consumer, **arguments))
        expect.equal("where the login ends", page.url.path, "/requests/callback", page)
        return {"consumer": consumer, **arguments, **query(str(page.url))}

    async def info(self, consumer: str, token: str) -> Any:
        """What the provider tells of the person."""
        return json.loads(await self.text("socialRequest", consumer=consumer, token=token))

    async def knows(self, consumer: str, token: str) -> None:
        """The provider must tell of Ann."""
        found = await self.info(consumer, token)
        self.same("who it is", {name: found.get(name) for name in ANN[consumer]}, ANN[consumer])


def query(url: str) -> dict[str, str]:
    """The parameters of a URL."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
