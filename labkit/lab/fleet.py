"""The handle of a fleet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from labkit.control.fleets import HandedOut
from labkit.core.certificates import KeyPair
from labkit.core.chance import fresh_seed
from labkit.core.errors import LabError
from labkit.fleet.behaviour import Behaviour, behaviour
from labkit.fleet.cluster_client import local, of_cluster
from labkit.fleet.device import Credentials
from labkit.fleet.faults import DeviceFault, FleetFaults
from labkit.fleet.identities import identity
from labkit.fleet.plan import Member, Plan
from labkit.fleet.shapes import Shape
from labkit.lab.arguments import texts
from labkit.lab.run import Run, Spread
from labkit.lab.runtime import Runtime
from labkit.lab.show import card
from labkit.lab.solution import Solution

if TYPE_CHECKING:
    from labkit.widgets.fleet_dashboard import FleetDashboard

Behaviours = type[Behaviour] | Behaviour | Mapping[Any, int]
INTERVALS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)  # seconds of lab time
TICKS = 300  # of a run, about


class FleetProduct(Protocol):
    """What a fleet needs to know of its product."""

    @property
    def id(self) -> str: ...
    @property
    def domain(self) -> str: ...
    @property
    def settings(self) -> Any: ...


class Fleet:
    """Virtual devices of a product, each with a behaviour."""

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
        self.faults = FleetFaults(seed, faults)
        self._members = list(members)
        self._run: Run | None = None

    def __len__(self) -> int:
        return len(self._members)

    @property
    def product(self) -> str:
        """The id of the product."""
        return self._product.id

    @property
    def identities(self) -> list[str]:
        """Of the devices, in the order of their numbers."""
        return [member.identity for member in self._members]

    @property
    def last(self) -> Run | None:
        """The run that was started last."""
        return self._run

    def run(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        every: float | None = None,
        requests: bool = False,
        devices: Shape | None = None,
        arrivals: Shape | None = None,
        accounts: bool | Solution = False,
        workers: int | None = None,
        cluster: object = None,
        progress: bool | None = None,
    ) -> Run:
        """Let the devices live for so long on lab time, and wait: on a virtual clock at once, and the same again.

        every: seconds of lab time that a row of the frame stands for; requests: keep a row a request; devices: how many
        are online at a time (a shape); arrivals: the rate a second of `device.arrivals()`; accounts: follow what
        devices `count()` to a handler of a solution (`run.losses`): True adds one, or a solution that answers GET
        /accounts; workers: play in so many processes; cluster: on the workers of a dask client, cluster or address of a
        scheduler; progress: show a bar, None for at a terminal and in JupyterLab alone. The run ends early when all
        devices have ended. An interrupt ends it cleanly.
        """
        try:
            return self.start(
                seconds,
                minutes=minutes,
                hours=hours,
                days=days,
                every=every,
                requests=requests,
                devices=devices,
                arrivals=arrivals,
                accounts=accounts,
                workers=workers,
                cluster=cluster,
            ).wait(progress=progress)
        except KeyboardInterrupt:  # also in the moment before the run is waited for
            if self._run is not None:
                self._run.stop()
            raise

    def start(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        hours: float = 0,
        days: float = 0,
        every: float | None = None,
        requests: bool = False,
        devices: Shape | None = None,
        arrivals: Shape | None = None,
        accounts: bool | Solution = False,
        workers: int | None = None,
        cluster: object = None,
    ) -> Run:
        """As `run`, and return at once. Without a time the run lasts until `stop`, on a clock that runs."""
        if self._run is not None and not self._run.done:
            raise LabError("this fleet runs already: wait() for its run, or stop() it first")
        lasting = _seconds(seconds, minutes, hours, days)
        for name, shape in (("devices", devices), ("arrivals", arrivals)):
            if shape is not None and not isinstance(shape, Shape):
                raise LabError(f"{name}: expected a shape such as Flat(5), not {shape!r}")
        if not isinstance(accounts, bool | Solution):
            raise LabError(f"accounts: expected True, False or a solution of the lab, not {accounts!r:.100}")
        state = self._runtime.run(self._runtime.control.clock.state)
        if lasting is None and not state.rate:
            raise LabError("this clock stands still: say for how long, as in run(days=1)")
        plan = Plan(
            product=self._product.id,
            address=self._runtime.address,
            domain=self._product.domain,
            auth=self._product.settings.auth,
            seed=self.seed,
            members=tuple(self._members),
            every=_every(every, lasting, state.rate),
            requests=requests,
            devices=devices,
            arrivals=arrivals,
            faults=self.faults.begin(),
        )
        spread = self._spread(workers, cluster, state.rate)
        self._run = Run(self._runtime, plan, lasting, self._keep, accounts, spread)
        return self._run

    def dashboard(self, **how: Any) -> FleetDashboard:
        """A live view for JupyterLab, which follows each run, and has the controls of one.

        how: the arguments of `start` for runs that its button starts: `dashboard(minutes=10)`.
        """
        from labkit.lab.dashboards import fleet_dashboard

        return fleet_dashboard(self._runtime, self, how)

    def _spread(self, workers: int | None, cluster: object, rate: float) -> Spread | None:
        """Where to play, if not in this process. Raises LabError on a clock that stands still."""
        if workers is None and cluster is None:
            return None
        if workers is not None and cluster is not None:
            raise LabError("give workers= (processes on this machine) or cluster=, not both")
        if not rate:
            name = "workers" if cluster is None else "cluster"
            raise LabError(
                f"{name}=: on a virtual clock one device runs at a time, so that a seed gives the same run again; "
                f"other processes could only wait. Leave it out, or make the lab with speed=1"
            )
        if cluster is None and (type(workers) is not int or workers < 1):
            raise LabError(f"workers: expected a number of processes, not {workers!r}")
        if find_spec("distributed") is None or find_spec("cloudpickle") is None:
            raise LabError("fleets over several processes take distributed: pip install 'labkit[lab]'")
        if workers is None:
            return Spread(*of_cluster(cluster), None)
        return Spread(*local(min(workers, len(self))), workers)

    def repeat(self, *identities: str) -> Fleet:
        """A fleet of these devices alone, to repeat what they did: of the same numbers, behaviours, chance and
        credentials. Raises LabError for one that is not in this fleet.
        """
        known = {member.identity: member for member in self._members}
        if not identities or len(set(identities)) < len(identities):
            raise LabError("repeat: expected one identity or several different ones")
        for each in identities:
            if each not in known:
                raise LabError(f"no device {each!r}, there are {_range(self.identities)}")
        members = [known[each] for each in identities]
        return Fleet(self._runtime, self._product, self.seed, members, self.faults)

    def _keep(self, credentials: Mapping[int, Credentials], epochs: Mapping[int, int]) -> None:
        """What devices hold after a run, for the next one, and their next epochs."""
        self._members = [
            replace(
                each,
                credentials=credentials.get(each.number, each.credentials),
                epoch=epochs.get(each.number, each.epoch - 1) + 1,
            )
            for each in self._members
        ]

    def __repr__(self) -> str:
        return (
            f"<fleet of {len(self)} {self._product.id} devices, {_range(self.identities)}, seed {self.seed}>"
        )

    def _repr_html_(self) -> str:
        counts: dict[str, int] = {}
        for member in self._members:
            counts[repr(member.behaviour)] = counts.get(repr(member.behaviour), 0) + 1
        return card(
            f"fleet of {len(self)} {self._product.id} devices",
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
) -> Fleet:
    """A fleet, provisioned. Raises LabError for arguments that do not fit together."""
    if seed is not None and type(seed) is not int:
        raise LabError(f"fleet: seed: expected a whole number, not {seed!r}")
    lives = _lives(count, given)
    names = _names(product, len(lives), prefix, identities)
    if seed is None:
        seed = runtime.seed if runtime.seed is not None else fresh_seed()
    held = runtime.run(runtime.control.fleets.provision, product.id, names)
    members = [
        Member(number, name, life, _credentials(given))
        for number, (name, life, given) in enumerate(zip(names, lives, held, strict=True), 1)
    ]
    return Fleet(runtime, product, seed, members)


def _credentials(given: HandedOut) -> Credentials:
    pair = None
    if given.certificate is not None and given.key is not None:
        pair = KeyPair.from_pem(given.certificate, given.key)
    return Credentials(given.token, given.password, pair)


def _lives(count: object, given: Behaviours | None) -> list[Behaviour]:
    """The behaviour of each device."""
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
            raise LabError(f"fleet: {count} devices, but the behaviours are for {len(lives)}")
        return lives
    if given is None or count is None:
        raise LabError("fleet: expected a number of devices and a behaviour: fleet(200, Thermostat)")
    assert isinstance(count, int)
    return [behaviour(given)] * count


def _names(
    product: FleetProduct, count: int, prefix: str | None, identities: Iterable[str] | None
) -> list[str]:
    if identities is not None:
        names = texts(identities, "identities such as 't-001'")
        if not len(set(names)) == len(names) == count:
            raise LabError(
                f"fleet: {count} devices need as many different identities, not {len(names)}, "
                f"of which {len(set(names))} differ"
            )
        return names
    format = product.settings.identity_format
    if prefix is None:
        prefix = format.prefix or (f"{product.id[0]}-" if format.type == "opaque" else "")
    upper = format.casing == "upper"
    return [identity(number, format.type, prefix, format.length, upper) for number in range(1, count + 1)]


def _seconds(seconds: float, minutes: float, hours: float, days: float) -> float | None:
    for each in (seconds, minutes, hours, days):
        if not _is_number(each):
            raise LabError(f"a run lasts a number of seconds, minutes, hours or days, not {each!r}")
    lasting = seconds + 60 * minutes + 3600 * hours + 86400 * days
    if lasting < 0:
        raise LabError(f"a run lasts 0 seconds or more, not {lasting:g}")
    return lasting or None


def _every(every: float | None, lasting: float | None, rate: float) -> float:
    """Seconds of lab time of a tick."""
    if every is not None:
        if not _is_number(every) or every <= 0:
            raise LabError(f"every: expected seconds above 0, not {every!r}")
        return float(every)
    if lasting is None:
        return max(rate, 1.0)
    return max(float(next((each for each in INTERVALS if lasting / each <= TICKS), INTERVALS[-1])), rate)


def _is_number(given: Any) -> bool:
    return type(given) is not bool and isinstance(given, int | float) and math.isfinite(given)


def _range(identities: Sequence[str]) -> str:
    if len(identities) < 2:
        return "".join(identities)
    return f"{identities[0]} to {identities[-1]}"
