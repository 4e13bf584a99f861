"""Context for tests of one part of a lab without the other parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import finalize

from labkit.context import Context
from labkit.core.identifiers import Identifiers
from labkit.http.address import ServerAddress
from labkit.labtime.clock import Clock
from labkit.providers.mail import Mailbox
from labkit.settings import LabSettings, ProductSettings, SubscriptionSettings, build
from labkit.storage.schema import metadata


class FakeOutbound:
    """Outbound client that answers from a table: 404 for unknown URLs, OSError where the answer is None."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, str] | None] = {}
        self.requests: list[tuple[str, str, Mapping[str, str], str | None]] = []

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str | None = None,
        received: dict[str, str] | None = None,
        timeouts: tuple[float, float] | None = None,
    ) -> tuple[int, str]:
        self.requests.append((method, url, headers, body))
        answer = self.answers.get(url.partition("?")[0], (404, ""))
        if answer is None:
            raise OSError(f"nobody listens at {url}")
        return answer

    def connects_from(self, port: int) -> bool:
        return False


@dataclass(frozen=True)
class Entry:
    """A solution or a product, as other parts see it."""

    id: str
    products: tuple[str, ...] = ()
    business: str = "labkit"
    subscriptions: tuple[SubscriptionSettings, ...] = ()
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def own(self) -> ProductSettings:
        return self.settings

    @property
    def settings(self) -> ProductSettings:
        return ProductSettings(id=self.id)

    @property
    def domain(self) -> str:
        return f"{self.id}.apps.lab.localhost"

    def warn(self, text: str) -> None:
        raise AssertionError(text)

    def install(self, service: str, scripts: Mapping[str, str], names: object) -> None:
        assert not scripts

    def choose_events(self, types: Sequence[str] | None) -> None:
        """Accept any types of events."""

    async def sandbox(self, script: str, parameters: object, cpu: float) -> object:
        raise AssertionError(script)

    def adopt_resources(self, resources: Mapping[str, object]) -> None:
        """Accept any resources."""

    def adopt(self, solution: str, settings: Mapping[str, object] | None) -> None:
        """Accept any settings."""

    def check_script(self, name: str, source: str) -> None:
        """Accept any script."""


def make_context(
    *solutions: Entry, seed: int | None = 7, clock: Clock | None = None, **settings: Any
) -> Context:
    """Return a context on a virtual clock, which has no listener, claims port 8443, and has no open database yet."""
    clock = clock if clock is not None else Clock(rate=0)
    made = Context.create(
        build(LabSettings, settings, ""),
        clock=clock,
        identifiers=Identifiers(seed),
        address=ServerAddress("127.0.0.1", https_port=8443),
        outbound=FakeOutbound(),
        mailbox=Mailbox(clock.now),
    )
    for solution in solutions:
        made.solutions.add(solution.id, solution)
    return made


def open_database(context: Context) -> None:
    """Open the database, as a platform does when it starts; it is closed when the context is garbage-collected."""
    context.database.start(metadata)
    finalize(context, context.database.close)
    context.identifiers.start = context.database.starts
