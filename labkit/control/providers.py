"""Operations on identity providers: people, registered applications, received requests and pending faults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from labkit.control.bounds import Id, Line
from labkit.control.data import Data
from labkit.platform import Platform
from labkit.providers.social.messages import Application as Application
from labkit.providers.social.provider import IdentityProviderSite
from labkit.providers.social.providers import SocialProviders
from labkit.settings import Person as Person
from labkit.settings import SocialSettings


class ProviderInfo(Data):
    """An identity provider.

    title: name that people see; protocol: oauth1 or oauth2; consent: form or automatic; endpoints: the URLs of
    authorize, token, userinfo and, for OAuth 1, request_token.
    """

    name: str
    title: str
    domain: str
    url: str
    protocol: str
    consent: str
    endpoints: dict[str, str]


class InboxEntry(Data):
    """A request that a provider received, without its secrets.

    time: lab time in seconds; status: HTTP status, None without an answer; answer: summary of the answer; fault: name
    of the fault that hit the request, empty without one.
    """

    time: float
    method: str
    path: str
    parameters: dict[str, str]
    status: int | None
    answer: str
    fault: str


class ProvidersControl:
    """Operations on the identity providers of a lab. Each raises LabError for an unknown provider."""

    def __init__(self, platform: Platform) -> None:
        self._social = platform.provider(SocialProviders)

    async def all(self) -> list[ProviderInfo]:
        """Return all identity providers."""
        return [_info(each) for each in self._social]

    async def get(self, name: Id) -> ProviderInfo:
        """Return the provider with this name, in any letter case."""
        return _info(self._of(name))

    async def add(self, settings: SocialSettings) -> ProviderInfo:
        """Add a provider, or add people and applications to an existing one.

        Existing people and applications that are given again unchanged are accepted, so that a cell may run twice.
        Raises SettingsError if an id is in use with other values.
        """
        there = next((each for each in self._social if each.name == settings.name), None)
        if there is not None:
            known = {each.id: each for each in there.people}
            people = tuple(each for each in settings.people if known.get(each.id) != each)
            kept = there.settings.applications
            applications = tuple(each for each in settings.applications if each not in kept)
            settings = settings.model_copy(update={"people": people, "applications": applications})
        return _info(self._social.add(settings))

    async def people(self, name: Id) -> list[Person]:
        """Return the people who can sign in at a provider."""
        return list(self._of(name).people)

    async def add_person(self, name: Id, id: Id, title: Line = "", email: Line = "") -> Person:
        """Add a person, or return an existing one with the same values.

        Raises LabError if the id is invalid, or in use by another person.
        """
        people = self._of(name).people
        if id in people and (there := people.get(id)) == there.model_copy(
            update={"name": title, "email": email}
        ):
            return there
        return people.add(id, title, email)

    async def person(self, name: Id, id: Id) -> Person:
        """Return the person with this id. Raises UnknownError, listing the known ids, if there is none."""
        return self._of(name).people.get(id)

    async def applications(self, name: Id) -> list[Application]:
        """Return the registered applications of a provider."""
        return list(self._of(name).applications.values())

    async def register(
        self, name: Id, redirect: Sequence[Line], title: Line = "", scopes: Sequence[Line] = ()
    ) -> Application:
        """Register an application with a new client id and secret.

        redirect: the redirect URIs that it may use; scopes: the scopes that it may request, any if empty.
        """
        return self._of(name).register(tuple(redirect), name=title, scopes=scopes)

    async def consent(self, name: Id, person: Id) -> None:
        """Let a person, by id, consent to the next authorization request without a form."""
        self._of(name).consent(person)

    async def fault(self, name: Id, fault: Id, step: Id | None = None) -> None:
        """Let a fault hit the next request of its step. Raises UnknownError for an unknown fault or step."""
        self._of(name).fault(fault, step)

    async def faults(self, name: Id) -> list[str]:
        """Return the pending faults, which have not hit a request yet: `slow at token`."""
        return self._of(name).faults.waiting

    async def inbox(self, name: Id) -> list[InboxEntry]:
        """Return the requests that a provider received, oldest first."""
        return [InboxEntry(**asdict(each)) for each in self._of(name).inbox]

    async def clear_inbox(self, name: Id) -> None:
        """Delete the requests that a provider received."""
        self._of(name).inbox.clear()

    def _of(self, name: Id) -> IdentityProviderSite:
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
