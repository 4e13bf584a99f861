"""Identity providers: who can sign in, which applications are registered, what arrived, what fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from labkit.control.data import Data
from labkit.platform import Platform
from labkit.providers.social.messages import Application as Application
from labkit.providers.social.provider import IdentityProviderSite
from labkit.providers.social.providers import SocialProviders
from labkit.settings import Person as Person
from labkit.settings import SocialSettings


class ProviderInfo(Data):
    """An identity provider.

    protocol: oauth1 or oauth2; endpoints: the URLs of authorize, token, userinfo and, for OAuth 1, request_token.
    """

    name: str
    title: str
    domain: str
    url: str
    protocol: str
    consent: str
    endpoints: dict[str, str]


class Arrived(Data):
    """A request that arrived at a provider, without its secrets.

    time: lab time in seconds; status: None where there was no answer; answer: what it was, in words; fault: the
    name of the one that hit it.
    """

    time: float
    method: str
    path: str
    parameters: dict[str, str]
    status: int | None
    answer: str
    fault: str


class ProvidersControl:
    """The identity providers of a lab. Each operation raises LabError for an unknown one."""

    def __init__(self, platform: Platform) -> None:
        self._social = platform.provider(SocialProviders)

    async def all(self) -> list[ProviderInfo]:
        """All of them."""
        return [_info(each) for each in self._social]

    async def get(self, name: str) -> ProviderInfo:
        """The provider of this name, in any letter case."""
        return _info(self._of(name))

    async def add(self, settings: SocialSettings) -> ProviderInfo:
        """Add a provider, or add to one that is there. Raises SettingsError where something is taken.

        People and applications that are there as they are given stay, so that a cell may run again.
        """
        there = next((each for each in self._social if each.name == settings.name), None)
        if there is not None:
            known = {each.id: each for each in there.people}
            people = tuple(each for each in settings.people if known.get(each.id) != each)
            kept = there.settings.applications
            applications = tuple(each for each in settings.applications if each not in kept)
            settings = settings.model_copy(update={"people": people, "applications": applications})
        return _info(self._social.add(settings))

    async def people(self, name: str) -> list[Person]:
        """Who can sign in."""
        return list(self._of(name).people)

    async def add_person(self, name: str, id: str, title: str = "", email: str = "") -> Person:
        """Add somebody; who is there as given stays. Raises LabError where the id is another's or is none."""
        people = self._of(name).people
        if id in people and (there := people.get(id)) == there.model_copy(
            update={"name": title, "email": email}
        ):
            return there
        return people.add(id, title, email)

    async def person(self, name: str, id: str) -> Person:
        """Raises LabError for an unknown id, naming those that are known."""
        return self._of(name).people.get(id)

    async def applications(self, name: str) -> list[Application]:
        """The applications that are registered."""
        return list(self._of(name).applications.values())

    async def register(
        self, name: str, redirect: Sequence[str], title: str = "", scopes: Sequence[str] = ()
    ) -> Application:
        """Register an application; its id and secret are new.

        redirect: where it may have people sent back to; scopes: what it may ask for, all if none are named.
        """
        return self._of(name).register(tuple(redirect), name=title, scopes=scopes)

    async def consent(self, name: str, person: str) -> None:
        """Let this person (by id) say yes, unasked, to the next application that asks."""
        self._of(name).consent(person)

    async def fault(self, name: str, fault: str, step: str | None = None) -> None:
        """Let a fault hit the next request of its step. Raises LabError for one that there is not."""
        self._of(name).fault(fault, step)

    async def faults(self, name: str) -> list[str]:
        """The faults that have not hit yet: `slow at token`."""
        return self._of(name).faults.waiting

    async def inbox(self, name: str) -> list[Arrived]:
        """What arrived, oldest first."""
        return [Arrived(**asdict(each)) for each in self._of(name).inbox]

    async def clear_inbox(self, name: str) -> None:
        """Forget what arrived."""
        self._of(name).inbox.clear()

    def _of(self, name: str) -> IdentityProviderSite:
        return self._social.get(name)


def _info(provider: IdentityProviderSite) -> ProviderInfo:
    return ProviderInfo(
        name=provider.name,
        title=provider.title,
        domain=provider.host,
        url=provider.url(),
        protocol=provider.kind.protocol,
        consent=provider.settings.consent,
        endpoints=provider.endpoints(),
    )
