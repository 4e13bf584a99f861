"""The handle of an identity provider."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from labkit.lab.browser import Browser
from labkit.lab.portal import Portal
from labkit.lab.show import card
from labkit.providers.social.inbox import Inbox
from labkit.providers.social.parts import Application
from labkit.providers.social.people import People
from labkit.providers.social.provider import Provider as Served

if TYPE_CHECKING:
    import httpx


class Provider:
    """An identity provider of a lab: a real server that signs people in."""

    def __init__(self, portal: Portal, provider: Served, browser: Callable[[], Browser]) -> None:
        self._portal = portal
        self._provider = provider
        self._new_browser = browser

    @property
    def name(self) -> str:
        return self._provider.name

    @property
    def domain(self) -> str:
        """The provider's own host name."""
        return self._provider.host

    @property
    def protocol(self) -> str:
        """`oauth1` or `oauth2`."""
        return self._provider.kind.protocol

    @property
    def people(self) -> People:
        """Who can sign in: `provider.people.add("ann", name="Ann", email="ann@example.com")`."""
        return self._provider.people

    @property
    def applications(self) -> list[Application]:
        """The applications that are registered."""
        return list(self._provider.applications.values())

    @property
    def inbox(self) -> Inbox:
        """What arrived, and what was answered."""
        return self._provider.inbox

    @property
    def faults(self) -> list[str]:
        """The faults that have not hit yet."""
        return self._portal.call(lambda: self._provider.faults.waiting)

    @property
    def endpoints(self) -> dict[str, str]:
        """The URLs that a client needs: authorize, token, userinfo; for OAuth 1 also request_token."""
        return self._portal.call(self._provider.endpoints)

    def url(self, path: str = "") -> str:
        """The URL of a path at the provider."""
        return self._provider.url(path)

    def register(
        self, redirect: str | Iterable[str], *, name: str = "", scopes: Iterable[str] = ()
    ) -> Application:
        """Register an application: `app = provider.register(solution.url("/social/handle/google"))`.

        redirect: where it may have people sent back to, one URL or several. scopes: what it may ask for, all if
        none are named. Gives it with its `client_id` and `client_secret`.
        """
        return self._portal.call(self._provider.register, redirect, name=name, scopes=scopes)

    def consent(self, person: str) -> None:
        """Let this person (by id) say yes, unasked, to the next application that asks."""
        self._portal.call(self._provider.consent, person)

    def fault(self, name: str, step: str | None = None) -> None:
        """Let a fault hit one request, the next of its step.

        deny, wrong state, expired code, slow, down, malformed JSON, server error; the last four at the step
        token (unless you say otherwise), userinfo, request_token or authorize.
        """
        self._portal.call(self._provider.fault, name, step)

    def login(
        self, url: str, as_: str, *, approve: bool = True, browser: Browser | None = None
    ) -> httpx.Response:
        """Play a person who opens a login URL and signs in here; gives the last answer.

        url: a solution's loginurl endpoint, or an authorize URL. as_: the person's id. approve: or say no.
        browser: the person's, where cookies from before or after matter; else a new one. The answer's `url` is
        where the person ended up; where that is no host of the lab, the answer is the redirect to it.
        """
        visitor = browser if browser is not None else self._new_browser()
        answer = visitor.get(url)
        if answer.url.host == self.domain and any(form.name == "authorize" for form in visitor.forms):
            answer = visitor.submit(
                "authorize", person=self.people.get(as_).id, decision="approve" if approve else "deny"
            )
        return answer

    def __repr__(self) -> str:
        return f"<provider {self.name} at {self.domain}>"

    def _repr_html_(self) -> str:
        return card(
            f"provider {self.name}",
            {
                "domain": self.domain,
                "protocol": self.protocol,
                "consent": self._provider.settings.consent,
                "people": ", ".join(person.id for person in self.people) or "none yet",
                "applications": ", ".join(each.title for each in self.applications) or "none yet",
                "arrived": f"{len(self.inbox)} requests",
            },
        )
