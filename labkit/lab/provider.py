"""The handle of an identity provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from labkit.control.providers import Application, InboxEntry, Person, ProviderInfo
from labkit.core.handle import Handle
from labkit.core.words import counted
from labkit.lab.browser import Browser
from labkit.lab.client import rooted
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, frame_of, table

if TYPE_CHECKING:
    import httpx
    import pandas

ARRIVED = ("time", "method", "path", "parameters", "status", "answer", "fault")


class Provider(Handle):
    """An identity provider of a lab: a real OAuth server at which people sign in."""

    def __init__(self, runtime: Runtime, info: ProviderInfo, browser: Callable[[], Browser]) -> None:
        self._runtime = runtime
        self._control = runtime.control.providers
        self._fixed = info
        self._new_browser = browser
        self.people = People(runtime, info.name)
        self.inbox = ProviderInbox(
            runtime,
            partial(self._control.inbox, info.name),
            partial(self._control.clear_inbox, info.name),
        )

    @property
    def name(self) -> str:
        """Name of the provider."""
        return self._fixed.name

    @property
    def domain(self) -> str:
        """Host name of the provider."""
        return self._fixed.domain

    @property
    def protocol(self) -> str:
        """`oauth1` or `oauth2`."""
        return self._fixed.protocol

    @property
    def applications(self) -> list[Application]:
        """The registered applications."""
        return self._runtime.run(self._control.applications, self.name)

    @property
    def faults(self) -> list[str]:
        """The pending faults: those that have not hit a request yet."""
        return self._runtime.run(self._control.faults, self.name)

    @property
    def endpoints(self) -> dict[str, str]:
        """URLs for OAuth clients: authorize, token, userinfo; for OAuth 1 also request_token."""
        return self._runtime.run(self._control.get, self.name).endpoints

    def url(self, path: str = "") -> str:
        """Return the URL of a path at the provider."""
        return self._fixed.url + (rooted(path) if path else "")

    def register(
        self, redirect: str | Iterable[str], *, name: str = "", scopes: Iterable[str] = ()
    ) -> Application:
        """Register an application and return it with its `client_id` and `client_secret`.

        `app = provider.register(solution.url("/social/handle/google"))`. redirect: one or several URLs to which it
        may redirect people. scopes: scopes that it may request; all if none are given. name: the
        name that people see.
        """
        redirects = [redirect] if isinstance(redirect, str) else list(redirect)
        return self._runtime.run(self._control.register, self.name, redirects, name, list(scopes))

    def consent(self, person: str) -> None:
        """Approve the next application that asks for this person's consent, without showing a form. person: id."""
        self._runtime.run(self._control.consent, self.name, person)

    def fault(self, name: str, step: str | None = None) -> None:
        """Make the next request of a step fail.

        name: deny, wrong state, expired code, slow, down, malformed JSON or server error. step: for the last four
        token (the default), userinfo, request_token, authorize, discovery, certs or revoke.
        """
        self._runtime.run(self._control.fault, self.name, name, step)

    def login(
        self, url: str, as_: str, *, approve: bool = True, browser: Browser | None = None
    ) -> httpx.Response:
        """Sign a person in through a browser, and return the last response.

        url: a solution's loginurl endpoint, or an authorize URL. as_: the person's id. approve: whether the person
        consents. browser: the person's browser, if its cookies matter; a new one by default. The response's `url` is
        where the person ended; if that is no host of the lab, the response is the redirect to it.
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
                "consent": self._runtime.run(self._control.get, self.name).consent,
                "people": ", ".join(person.id for person in self.people) or "none yet",
                "applications": ", ".join(each.title for each in self.applications) or "none yet",
                "arrived": counted(len(self.inbox), "request"),
            },
        )


class People(Handle):
    """The people known to an identity provider, in the order in which they were added."""

    def __init__(self, runtime: Runtime, provider: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.providers
        self._provider = provider

    def add(self, id: str, name: str = "", email: str = "") -> Person:
        """Add a person. Raises LabError if the id is taken or not valid."""
        return self._runtime.run(self._control.add_person, self._provider, id, name, email)

    def get(self, id: str) -> Person:
        """Return the person with this id. Raises UnknownError, listing the known ids, if there is none."""
        return self._runtime.run(self._control.person, self._provider, id)

    def __contains__(self, id: object) -> bool:
        return any(each.id == id for each in self)

    def __iter__(self) -> Iterator[Person]:
        return iter(self._runtime.run(self._control.people, self._provider))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __repr__(self) -> str:
        return f"<people: {', '.join(each.id for each in self) or 'none'}>"

    def _repr_html_(self) -> str:
        return table(
            ("id", "name", "email"), [(each.id, each.name, each.email) for each in self], "no people"
        )


class ProviderInbox(Handle):
    """The requests that a provider received, oldest first."""

    def __init__(
        self,
        runtime: Runtime,
        arrived: Callable[[], Awaitable[list[InboxEntry]]],
        clear: Callable[[], Awaitable[None]],
    ) -> None:
        self._runtime = runtime
        self._arrived = arrived
        self._clear = clear

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame with a row for each request; `time` is a UTC timestamp."""
        return frame_of(self, ARRIVED, status="Int64")

    def clear(self) -> None:
        """Delete all recorded requests."""
        self._runtime.run(self._clear)

    def __iter__(self) -> Iterator[InboxEntry]:
        return iter(self._runtime.run(self._arrived))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, index: int) -> InboxEntry:
        return list(self)[index]

    def __repr__(self) -> str:
        arrived = list(self)
        lines = [f"{each.method} {each.path} → {each.status or 'nothing'} {each.answer}" for each in arrived]
        return "\n".join([f"Inbox with {counted(len(arrived), 'request')}", *lines])

    def _repr_html_(self) -> str:
        frame = self.frame()
        frame["parameters"] = [
            ", ".join(f"{name}={value}" for name, value in each.items()) for each in frame["parameters"]
        ]
        html: str = frame.to_html(index=False, na_rep="")
        return html if len(frame) else "<i>no requests</i>"
