"""The handle of a fleet of virtual devices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, Unpack

from labkit.control.fleet_run_data import client_credentials
from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError, TakenError, UnknownError
from labkit.core.extras import needs
from labkit.core.handle import Handle, warn
from labkit.core.keywords import shows_keywords
from labkit.core.words import counted
from labkit.fleet.accounts import ALIAS
from labkit.fleet.behaviour import Behaviour, behaviour
from labkit.fleet.cluster_client import client_of, local_cluster
from labkit.fleet.credential_store import CredentialStore
from labkit.fleet.device import Credentials
from labkit.fleet.faults import FleetFaults
from labkit.fleet.identities import identities as fleet_identities
from labkit.fleet.misuse import real_waits
from labkit.fleet.plan import Member, Plan
from labkit.fleet.run_faults import DeviceFault
from labkit.fleet.shared_faults import FaultsOfAll
from labkit.lab.arguments import shown_duration, text_list
from labkit.lab.run import Run
from labkit.lab.run_options import RunKeywords, RunOptions, Spread
from labkit.lab.runtime import Runtime
from labkit.lab.show import card

if TYPE_CHECKING:
    from labkit.widgets.fleet_dashboard import FleetDashboard

Behaviours = type[Behaviour] | Behaviour | Mapping[Any, int]

LONG = 600.0  # real seconds of a run that is announced


class FleetProduct(Protocol):
    """The attributes of its product that a fleet uses."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def settings(self) -> Any: ...
    @property
    def credential_store(self) -> CredentialStore: ...
    def handle_credentials(self, identity: str) -> Credentials | None:
        """Return the credentials in the handle of a device, None if the device has no handle."""


class Fleet(Handle):
    """Virtual devices of a product, each with a behaviour: run them with `run(hours=1)`."""

    def __init__(
        self,
        runtime: Runtime,
        product: FleetProduct,
        seed: int,
        members: Sequence[Member],
        faults: Iterable[DeviceFault] = (),
    ) -> None:
        self._runtime = runtime
        self._product = product
        self.seed = seed
        self._members = list(members)  # they get their credentials when a run begins
        of_all = FaultsOfAll(runtime.device_faults, product.id, self._now)
        self.faults = FleetFaults(seed, {each.number: each.identity for each in members}, faults, of_all)
        self._run: Run | None = None
        runtime.parts.add_fleet(product.id, has_run=False)

    def __len__(self) -> int:
        return len(self._members)

    @property
    def product(self) -> str:
        """Id of the product."""
        return self._product.id

    @property
    def identities(self) -> list[str]:
        """Identities of the devices, in the order of their numbers."""
        return [member.identity for member in self._members]

    @property
    def last(self) -> Run | None:
        """The run that was started last, None before the first one."""
        return self._run

    @shows_keywords(RunKeywords, RunOptions)
    def run(
        self,
        seconds: float | None = None,
        *,
        progress: bool | None = None,
        check: bool = False,
        **options: Unpack[RunKeywords],
    ) -> Run:
        """Run the devices for a time, wait for the end, and return the run.

        On a virtual clock the run takes no longer than its computation, and the same seed gives the same run. It ends
        early when all devices have ended. An interrupt ends it cleanly. progress: whether to show a progress bar;
        None: only in a terminal and in JupyterLab. check: whether to raise LabError if a device has failed. Raises
        LabError for a wrong argument.

        Dask executes the code of any client that reaches its ports, in its workers and here. Clusters of `workers`
        are protected. The owner of another cluster has to protect it: with distributed's `Security` and certificates
        (pass a Client that has it), without a dashboard, or in a network of trusted hosts.
        """
        try:
            run = self.start(seconds, **options)
            if run.rate and run.lasting is not None and (real := run.lasting / run.rate) > LONG:
                warn(
                    f"this clock runs, so that the run takes {shown_duration(real)} of real time; "
                    "Lab(seed=…) has a virtual clock, on which a day takes moments, Lab(speed=60) runs faster"
                )
            return run.wait(progress=progress, check=check)
        except KeyboardInterrupt as interrupt:  # also between the start of the run and `wait`
            if self._run is not None:
                self._run.stop().tell_interrupt(interrupt, "fleet.last")
            raise

    @shows_keywords(RunKeywords, RunOptions)
    def start(self, seconds: float | None = None, **options: Unpack[RunKeywords]) -> Run:
        """Start a run like `run`, and return it at once.

        Without a time the run lasts until its `stop()`; this needs a clock that runs. Raises LabError while an
        earlier run of the fleet is in progress.
        """
        if self._run is not None and not self._run.done:
            raise TakenError("this fleet runs already: wait() for its run, or stop() it first")
        chosen = RunOptions.of({"seconds": seconds, **options})
        afters = [each.after or 0.0 for each in self.faults.own]
        first = min((min(each) if isinstance(each, tuple) else each for each in afters), default=0.0)
        if chosen.lasting is not None and first >= chosen.lasting:
            ends = f"and the run ends after {shown_duration(chosen.lasting)}"
            self._runtime.warn(f"the first fault of this fleet begins after {shown_duration(first)}, {ends}")
        return self._start(chosen.at_most(self._runtime.fleet_limits.seconds))

    def _start(self, options: RunOptions) -> Run:
        rate = self._runtime.run(self._runtime.control.clock.state).rate
        options.check_clock(rate)
        for run in () if rate else {type(each.behaviour).run: None for each in self._members}:
            for text in real_waits(run):
                self._runtime.warn(text)
        if options.accounts is not False and ALIAS not in self._product.settings.resources:
            raise LabError(
                f"accounts: devices count to a resource {ALIAS!r}, which {self._product.id!r} has not: "
                f"give the product resources={{{ALIAS!r}: 'number'}}"
            )
        if options.transport == "memory" and self._product.settings.auth == "certificate":
            raise LabError(
                f"transport='memory': devices of {self._product.id!r} have certificates, which take TLS: leave it out"
            )
        anew = self._runtime.story is None if options.anew is None else options.anew
        members = self._product.credential_store.begin(self._members, anew=anew)
        try:
            self._run = self._begin(options, rate, members, anew)
        except BaseException:
            self._product.credential_store.end(members, {}, {}, {})
            raise
        self._runtime.parts.add_fleet(self._product.id, has_run=True)
        return self._run

    def _begin(self, options: RunOptions, rate: float, members: Sequence[Member], anew: bool) -> Run:
        plan = Plan(
            product=self._product.id,
            address=self._runtime.address,
            domain=self._product.domain,
            auth=self._product.settings.auth,
            seed=self.seed,
            members=members,
            every=options.interval(rate),
            requests=options.requests,
            devices=options.devices,
            arrivals=options.arrivals,
            faults=self.faults.begin(),
            transport=options.transport,
            anew=anew,
        )
        keep = partial(self._product.credential_store.end, members)
        run = Run(self._runtime, plan, options.lasting, keep, options.accounts, self._spread(options))
        if self._runtime.story is not None:
            self._runtime.story.runs.append(run)
        return run

    @shows_keywords(RunKeywords, RunOptions)
    def dashboard(self, seconds: float | None = None, **options: Unpack[RunKeywords]) -> FleetDashboard:
        """Return a live view for JupyterLab that follows each run of the fleet and can start, pause and stop one.

        The arguments are those of `start`, for the runs that its button starts: `dashboard(minutes=10)`.
        """
        with needs("lab"):
            from labkit.lab.dashboards import fleet_dashboard

        RunOptions.of(
            {"seconds": seconds, **options}
        )  # checked now, since a button starts the run much later
        last, start = lambda: self.last, lambda: self.start(seconds=seconds, **options)
        return fleet_dashboard(self._runtime, self.product, len(self), last, start)

    def _spread(self, options: RunOptions) -> Spread | None:
        """Connect to the workers that are to run the devices; None for a run in this process."""
        if options.workers is not None:
            return Spread(*local_cluster(min(options.workers, len(self))), options.workers)
        return Spread(*client_of(options.cluster), None) if options.spread else None

    def repeat(self, *identities: str) -> Fleet:
        """Return a fleet of these devices alone, to repeat what they did.

        identities: those of the devices. They keep their numbers, behaviours, random seeds and credentials. Raises
        LabError for an identity that is not in this fleet.
        """
        known = {member.identity: member for member in self._members}
        if not identities or len(set(identities)) < len(identities):
            raise LabError("repeat: expected one identity or several different ones")
        for each in identities:
            if each not in known:
                raise UnknownError(f"no device {each!r}, there are {_range(self.identities)}")
        members = [known[each] for each in identities]
        return Fleet(self._runtime, self._product, self.seed, members, self.faults.own)

    def _now(self) -> float:
        return self._runtime.run(self._runtime.control.clock.state).time

    def __repr__(self) -> str:
        return f"<{self._title()}, {_range(self.identities)}, seed {self.seed}>"

    def _title(self) -> str:
        return f"fleet of {counted(len(self), f'{self._product.id} device')}"

    def _repr_html_(self) -> str:
        counts: dict[str, int] = {}
        for member in self._members:
            counts[repr(member.behaviour)] = counts.get(repr(member.behaviour), 0) + 1
        return card(
            self._title(),
            {
                "devices": _range(self.identities),
                "behaviours": "; ".join(f"{count} × {name}" for name, count in counts.items()),
                "seed": self.seed,
                **({"faults": len(self.faults)} if len(self.faults) else {}),
                "last run": "none yet" if self._run is None else self._run.summary,
            },
        )


def make_fleet(
    runtime: Runtime,
    product: FleetProduct,
    count: int | Mapping[Any, int] | None,
    given: Behaviours | None,
    seed: int | None,
    prefix: str | None,
    identities: Iterable[str] | None,
    provisioned: bool = True,
    keep: bool = False,
) -> Fleet:
    """Return a fleet whose devices are provisioned, or only known. keep: except those that have credentials.

    Raises LabError for arguments that do not fit together.
    """
    if seed is not None and type(seed) is not int:
        raise LabError(f"fleet: seed: expected a whole number, not {seed!r}")
    lives = _lives(count, given)
    names = _names(product, len(lives), prefix, identities)
    left = runtime.fleet_limits.members(lives)
    lives, names = [lives[each] for each in left], [names[each] for each in left]
    if seed is None:
        seed = runtime.seed if runtime.seed is not None else fresh_seed()
    product.credential_store.check_idle(names)
    _leave_handles(product, names)
    fresh = [name for name in names if not keep or product.credential_store.get(name) is None]
    if fresh:
        product.credential_store.put(_credentials(runtime, product.id, fresh, provisioned))
    members = [
        Member(place + 1, name, life, Credentials())
        for place, name, life in zip(left, names, lives, strict=True)
    ]
    return Fleet(runtime, product, seed, members)


def _credentials(
    runtime: Runtime, product: str, names: Sequence[str], provisioned: bool
) -> dict[str, Credentials]:
    """Return the credentials of devices, which the platform has given them, or has removed."""
    control = runtime.control
    if provisioned:
        held = runtime.run(control.fleets.provision, product, names)
        return {name: client_credentials(each) for name, each in zip(names, held, strict=True)}
    runtime.run(control.identities.allow, product, names)
    for name in names:
        runtime.run(control.identities.forget_credentials, product, name)
    return {name: Credentials() for name in names}


def _leave_handles(product: FleetProduct, names: Sequence[str]) -> None:
    """Raise LabError if a fleet would replace the credentials in the handle of a device."""
    for name in names:
        held = product.handle_credentials(name)
        if held not in (None, Credentials(), product.credential_store.get(name)):
            raise TakenError(
                f"fleet: device {name!r} belongs to the handle device({name!r}), whose credentials would be replaced: "
                f"make the fleet of other devices, with prefix='{name[:1]}f-' or identities=…"
            )


def _lives(count: object, given: Behaviours | None) -> list[Behaviour]:
    """Return the behaviour of each device."""
    if isinstance(count, Mapping) and given is None:
        count, given = None, count
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise LabError(f"fleet: expected a number of devices, not {count!r}")
    if isinstance(given, Mapping):
        for each, many in given.items():
            if type(many) is not int or many < 0:
                raise LabError(f"fleet: expected a number of devices for {each!r}, not {many!r}")
        lives = [behaviour(each) for each, many in given.items() for _ in range(many)]
        if not lives:
            raise LabError("fleet: no device at all")
        if count is not None and count != len(lives):
            raise LabError(f"fleet: {counted(count, 'device')}, but the behaviours are for {len(lives)}")
        return lives
    if given is None or count is None:
        raise LabError("fleet: expected a number of devices and a behaviour: fleet(200, Thermostat)")
    assert isinstance(count, int)
    return [behaviour(given)] * count


def _names(
    product: FleetProduct, count: int, prefix: str | None, identities: Iterable[str] | None
) -> list[str]:
    if identities is not None:
        names = text_list(identities, "identities such as 't-001'")
        if not len(set(names)) == len(names) == count:
            raise LabError(
                f"fleet: expected {counted(count, 'different identity')}, not {len(names)}, "
                f"of which {len(set(names))} differ"
            )
        return names
    if prefix is not None and not isinstance(prefix, str):
        raise LabError(f"prefix: expected a text such as 't-', not {prefix!r:.100}")
    return fleet_identities(count, product.settings.identity_format, prefix, product.id)


def _range(identities: Sequence[str]) -> str:
    if len(identities) < 2:
        return "".join(identities)
    return f"{identities[0]} to {identities[-1]}"
