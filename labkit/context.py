"""The context of a lab, the object by which its parts find each other; and the interfaces of these parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from labkit.core.directory import Directory
from labkit.core.identifiers import Identifiers
from labkit.core.journal import Journal
from labkit.core.slow import SlowCalls
from labkit.core.whole import WholeLab
from labkit.faults import Faults
from labkit.http.address import ServerAddress
from labkit.http.head import HttpDate
from labkit.http.sites import HostTable
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.events import Events
from labkit.labtime.holding import Holding
from labkit.labtime.inputs import Backlog, Inputs
from labkit.labtime.story_work import StoryRequest
from labkit.labtime.turns import Turns
from labkit.settings import LabSettings, ProductSettings, SubscriptionSettings, Wire
from labkit.storage.database import Database
from labkit.storage.selects import SelectLimits

Configuration = dict[str, dict[str, dict[str, Any]]]  # solution id → service → parameters


class NamedProduct(Protocol):
    """Interface of a product for other parts of the lab."""

    @property
    def id(self) -> str: ...
    @property
    def settings(self) -> ProductSettings: ...
    @property
    def own(self) -> ProductSettings:
        """Settings without those that solutions give."""
        ...

    @property
    def domain(self) -> str: ...
    def adopt_resources(self, resources: Mapping[str, Any]) -> None:
        """Add resources, by alias, to a product whose own settings name none. Raises SettingsError."""

    def adopt(self, solution: str, settings: Mapping[str, Any] | None) -> None:
        """Use settings that a solution gives where the product's own leave them out; None: it gives none any more."""


class NamedSolution(Protocol):
    """Interface of a solution for other parts of the lab."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def products(self) -> Sequence[str]: ...
    @property
    def aliases(self) -> Mapping[str, str]:
        """Names of products in its scripts, by name."""
        ...

    @property
    def business(self) -> str: ...
    @property
    def subscriptions(self) -> Sequence[SubscriptionSettings]:
        """The subscriptions in its settings."""
        ...

    def choose_events(self, types: Sequence[str] | None) -> None:
        """Set the types of devices' events that the handlers get; None: each that has a handler, and the usual ones."""

    def warn(self, text: str) -> None:
        """Store a warning for its author."""

    async def sandbox(self, script: str, parameters: object, cpu: float) -> object:
        """Run a script that reaches nothing of the lab for at most `cpu` seconds. Raises ServiceError 400 or 504."""

    def install(self, service: str, scripts: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> None:
        """Install scripts as handlers of a service's events, replacing the scripts installed by an earlier call.

        Events that the solution handles itself are left out. scripts: source by event; names: name of the handler's
        argument by event. Raises SettingsError if a script does not compile.
        """

    def check_script(self, name: str, source: str) -> None:
        """Raise SettingsError, beginning with the name, for a script that does not compile."""


class NamedService(Protocol):
    """Interface of a service for other parts of the lab. name: the module name that scripts use."""

    @property
    def name(self) -> str: ...


class IdentityProvider(Protocol):
    """Interface of an identity provider for the User service."""

    @property
    def protocol(self) -> str: ...
    def endpoints(self) -> Mapping[str, str]:
        """Return the URLs of authorize, token, userinfo and, for OAuth 1, request_token."""
        ...


class Postbox(Protocol):
    """Receiver of mail."""

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
    ) -> object:
        """Store a mail."""
        ...


class Outbound(Protocol):
    """Client for the platform's own requests: hosts of the lab over loopback, others by their URL."""

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: str | None = None,
        received: dict[str, str] | None = None,
        timeouts: tuple[float, float] | None = None,
    ) -> tuple[int, str]:
        """Send a request, and return status and text of the answer. Follows no redirects.

        received: filled with the headers of the answer, by name in lower case; timeouts: seconds to connect and until
        the next part of the answer. Raises OSError without an answer.
        """
        ...

    def connects_from(self, port: int) -> bool:
        """Return whether it has a connection to the lab's own listener from a local port."""
        ...


@dataclass(frozen=True)
class Context:
    """Shared objects of a lab, available to each of its parts.

    wire: switches of the wire behaviour; address: of the lab's listener; hosts: sites by host name; products,
    solutions, providers, services: registries of the existing ones; configuration: parameters of the services of each
    solution; calls: number of service calls by solution, service and day of UTC.
    """

    settings: LabSettings
    wire: Wire
    clock: Clock
    identifiers: Identifiers
    journal: Journal
    database: Database
    activity: Activity
    inputs: Inputs
    backlog: Backlog
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
    story_requests: dict[int, StoryRequest]
    whole: WholeLab
    slow: SlowCalls
    calls: defaultdict[tuple[str, str, int], int]

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
        """Return a context without products, solutions, providers and services."""
        journal = Journal(
            clock.micros, settings.journal.records, settings.journal.field, settings.journal.per_run
        )
        activity = Activity()
        activity.inputs = inputs = Inputs(activity)
        database = Database(
            settings.data, SelectLimits(settings.guard.sql, settings.guard.sql_size), clock, activity
        )
        database.watch(report=partial(journal.record, "warning", "platform"))
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
            wire=settings.wire_behaviour(),
            clock=clock,
            identifiers=identifiers,
            journal=journal,
            database=database,
            activity=activity,
            inputs=inputs,
            backlog=Backlog(activity),
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
            story_requests={},
            whole=WholeLab(),
            slow=SlowCalls(clock.now),
            calls=defaultdict(int),
        )

    def url(self, host: str, path: str = "") -> str:
        """Return the URL of a path at a host of this lab."""
        return self.address.url(host, path)
