"""What every part of a lab is handed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from labkit.core.activity import Activity
from labkit.core.clock import Clock
from labkit.core.database import Database
from labkit.core.directory import Directory
from labkit.core.events import Events
from labkit.core.holding import Holding
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.core.selects import SelectLimits
from labkit.core.turns import Turns
from labkit.faults import Faults
from labkit.http.address import ServerAddress
from labkit.http.dates import HttpDate
from labkit.http.sites import HostTable
from labkit.settings import LabSettings, SubscriptionSettings, Wire

Configuration = dict[str, dict[str, dict[str, Any]]]  # solution id → service → parameters


class NamedProduct(Protocol):
    """What others need to know of a product."""

    @property
    def id(self) -> str: ...


class NamedSolution(Protocol):
    """What others need to know of a solution."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def products(self) -> Sequence[str]: ...
    @property
    def aliases(self) -> Mapping[str, str]:
        """Names by which its scripts call products."""
        ...

    @property
    def business(self) -> str: ...
    @property
    def subscriptions(self) -> Sequence[SubscriptionSettings]:
        """Those that its settings name."""
        ...

    def warn(self, text: str) -> None:
        """Keep what its author ought to know."""

    def install(self, service: str, scripts: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> None:
        """Have these scripts handle events of a service that have no handler of its own, and no others.

        scripts, names (of the handler's argument): by event. Raises SettingsError where one does not compile.
        """

    def check_script(self, name: str, source: str) -> None:
        """Raises SettingsError, beginning with the name, for a script that does not compile."""


class NamedService(Protocol):
    """What others need to know of a service. name: the module name that scripts use."""

    @property
    def name(self) -> str: ...


class IdentityProvider(Protocol):
    """What the User service needs to know of an identity provider."""

    @property
    def protocol(self) -> str: ...
    def endpoints(self) -> Mapping[str, str]:
        """The URLs of authorize, token, userinfo and, for OAuth 1, request_token."""
        ...


class Postbox(Protocol):
    """Where mail goes."""

    def receive(
        self,
        *,
        solution: str,
        sender: str,
        to: Sequence[str],
        cc: Sequence[str],
        bcc: Sequence[str],
        subject: str,
        text: str,
        html: str,
    ) -> object: ...


class Outbound(Protocol):
    """How the platform itself reaches a server: the lab's own by loopback, others as named."""

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: str | None = None
    ) -> tuple[int, str]:
        """Status and text of the answer; follows no redirects. Raises OSError where there is none."""
        ...


@dataclass(frozen=True)
class Context:
    """What every part of a lab is handed, and nothing of one part's own.

    wire: the profile with its switches; address: where the lab listens; hosts: who answers at which name;
    products, solutions, providers, services: those that there are, filled by whoever adds them; configuration: of
    the services of each solution.
    """

    settings: LabSettings
    wire: Wire
    clock: Clock
    identifiers: Identifiers
    journal: Journal
    database: Database
    activity: Activity
    holding: Holding
    turns: Turns
    faults: Faults
    events: Events
    dates: HttpDate
    address: ServerAddress
    hosts: HostTable
    outbound: Outbound
    mailbox: Postbox
    products: Directory[NamedProduct]
    solutions: Directory[NamedSolution]
    providers: Directory[IdentityProvider]
    services: Directory[NamedService]
    configuration: Configuration

    @classmethod
    def create(
        cls,
        settings: LabSettings,
        *,
        clock: Clock,
        identifiers: Identifiers,
        address: ServerAddress,
        outbound: Outbound,
        mailbox: Postbox,
    ) -> Context:
        """A context with no products, solutions, providers and services in it yet."""
        journal = Journal(
            clock.micros, settings.journal.records, settings.journal.field, settings.journal.per_run
        )
        database = Database(
            settings.data, SelectLimits(settings.guard.sql, settings.guard.sql_size), clock.now
        )
        database.watch(report=partial(journal.record, "warning", "platform"))
        activity = Activity()
        holding = Holding(activity)
        turns = Turns(clock, activity)
        events = Events(journal, activity, turns, holding=holding)
        hosts = HostTable(settings.domain)
        products: Directory[NamedProduct] = Directory("product")
        solutions: Directory[NamedSolution] = Directory("solution")
        faults = Faults(
            settings.faults,
            clock=clock,
            journal=journal,
            holding=holding,
            identifiers=identifiers,
            events=events,
            hosts=hosts,
            products=products,
            solutions=solutions,
        )
        return cls(
            settings=settings,
            wire=settings.wires(),
            clock=clock,
            identifiers=identifiers,
            journal=journal,
            database=database,
            activity=activity,
            holding=holding,
            turns=turns,
            faults=faults,
            events=events,
            dates=HttpDate(),
            address=address,
            hosts=hosts,
            outbound=outbound,
            mailbox=mailbox,
            products=products,
            solutions=solutions,
            providers=Directory("provider"),
            services=Directory("service"),
            configuration={},
        )

    def url(self, host: str, path: str = "") -> str:
        """The URL of a path at a host of this lab."""
        return self.address.url(host, path)
