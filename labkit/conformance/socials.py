"""Client of social login for checks, at lab.yaml's identity providers: google and github (OAuth 2), twitter (OAuth
1).
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

from labkit.conformance import expect
from labkit.conformance.probe import PROBE, Table
from labkit.conformance.users import User

GOOGLE, TWITTER = "google", "twitter"  # both log their first person in without asking
ANN = {GOOGLE: {"sub": "p-1", "name": "Ann", "email": "ann@example.com"}, TWITTER: {"screen_name": "p-1"}}
SCOPE = {GOOGLE: ["profile", "email"], "github": ["user"]}
MISSING = "a-consumer-without-provider"


class Socials(User):
    """The User service, with the steps that social login checks share."""

    def described(self, consumer: str = GOOGLE, **change: Any) -> Table:
        """Return arguments of createSocial for an application that lab.yaml registers, with changes."""
        application = self._target.application(consumer.lower())
        return {
            "consumer": consumer,
            "scope": SCOPE.get(consumer.lower(), []),
            "redirect": self._target.url(PROBE, "/requests/callback"),
            "client_id": application.client_id,
            "client_secret": application.client_secret.get_secret_value(),
            **change,
        }

    async def delete_social(self, consumer: str) -> None:
        """Delete the social of this consumer, if there is one."""
        await self.call("User", "deleteSocial", {"consumer": consumer})

    async def create_social(self, consumer: str = GOOGLE, **change: Any) -> Table:
        """Create a social and return it."""
        await self.delete_social(consumer)
        social = self.described(consumer, **change)
        self.same("the social", await self.table("createSocial", **social), social)
        return social

    async def url(self, consumer: str, **given: object) -> str:
        """Return the login URL of a consumer, from getSocialLoginUrl."""
        return await self.text("getSocialLoginUrl", consumer=consumer, **given)

    async def callback(self, consumer: str = GOOGLE) -> Table:
        """Log a person in at the provider and return the arguments for getSocialToken."""
        arguments = {"reqToken": await self.url(consumer)} if consumer == TWITTER else {}
        page = await self._target.browser().request("GET", await self.url(consumer, **arguments))
        expect.equal("where the login ends", page.url.path, "/requests/callback", page)
        return {"consumer": consumer, **arguments, **query(str(page.url))}

    async def info(self, consumer: str, token: str) -> Any:
        """Return the person's data that the provider returns for a token."""
        return json.loads(await self.text("socialRequest", consumer=consumer, token=token))

    async def expect_ann(self, consumer: str, token: str) -> None:
        """Raise Mismatch unless the provider returns Ann's data for a token."""
        found = await self.info(consumer, token)
        self.same("who it is", {name: found.get(name) for name in ANN[consumer]}, ANN[consumer])


def query(url: str) -> dict[str, str]:
    """Return the parameters of a URL."""
    return {name: values[-1] for name, values in parse_qs(urlsplit(url).query).items()}
