"""Plain data of a fleet's run: what another process says of its devices, and what it gets of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from labkit.control.bounds import Id, Values
from labkit.control.data import Data
from labkit.control.json_values import JsonValue
from labkit.core.certificates import KeyPair
from labkit.core.errors import LabError, OwnProcessError
from labkit.core.marks import Mark
from labkit.fleet.accounts import AccountState
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.device import Credentials
from labkit.fleet.fault_kinds import KINDS, is_any
from labkit.fleet.faults import FleetFaults
from labkit.fleet.measures import Latency, Tick
from labkit.fleet.plan import Member, RequestRow
from labkit.fleet.run_faults import DeviceFault, RunFaults
from labkit.labtime.device_scheduler import Failure

MAX_MEMBERS = 10_000
# Not `replay`, which needs a table.
NamedBehaviour = Literal["bulb", "counter", "flaky", "sensor", "thermostat", "updater"]
Seed = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
Credential = Annotated[str, Field(max_length=256)]
Pem = Annotated[bytes, Field(max_length=16_384)]
DeviceFaultValues = Annotated[
    Sequence[Annotated[Mapping[Id, Annotated[Any, JsonValue]], Field(min_length=1)]], Field(max_length=100)
]


class DeviceCredentials(Data):
    """Credentials of a device: a token, a password, or a certificate and its private key (PEM)."""

    token: Credential | None = Field(default=None, repr=False)
    password: Credential | None = Field(default=None, repr=False)
    certificate: Pem | None = Field(default=None, repr=False)
    key: Pem | None = Field(default=None, repr=False)


def client_credentials(given: DeviceCredentials) -> Credentials:
    """Return credentials as virtual devices use them."""
    pair = None
    if given.certificate is not None and given.key is not None:
        pair = KeyPair.from_pem(given.certificate, given.key)
    return Credentials(given.token, given.password, pair)


class DescribedBehaviour(Data):
    """Behaviour that labkit has. settings: its parameters, as in `Thermostat(every=60)`."""

    name: NamedBehaviour
    settings: Values = Field(default={}, max_length=100)


class DescribedDevice(DeviceCredentials):
    """Device of a fleet, with its credentials.

    number: in the fleet, from 1; behaviour: place of its behaviour in the list, from 0; epoch: number of its starts,
    with the one to come.
    """

    number: Annotated[int, Field(ge=1, le=10**9)]
    identity: Id
    behaviour: Annotated[int, Field(ge=0, lt=MAX_MEMBERS)] = 0
    epoch: Annotated[int, Field(ge=1, le=10**6)] = 1

    def credentials(self) -> Credentials:
        """Return the credentials of the device. Raises LabError for a certificate that cannot be read."""
        try:
            return client_credentials(self)
        except ValueError as error:
            raise LabError(f"members: certificate of {self.identity!r}: {error}") from None


Behaviours = Annotated[Sequence[DescribedBehaviour], Field(min_length=1, max_length=1_000)]
Members = Annotated[Sequence[DescribedDevice], Field(min_length=1, max_length=MAX_MEMBERS)]


class FleetRunBegun(Data):
    """Beginning of a run. run: its id; time: lab time."""

    run: str
    time: float


class FleetRunInterval(Data):
    """Interval of a run.

    time: lab time at its end; devices: number by state; requests: number that ended; errors: number by kind; latency:
    pairs of microseconds of lab time, the lower bound of a bucket, and a count; lag: longest wait of an event for its
    handler; rows: of the requests since the interval before, if the run keeps them; failures, marks: since then.
    """

    time: float
    devices: dict[str, int]
    requests: int
    errors: dict[str, int]
    latency: list[tuple[int, int]]
    lag: float | None
    rows: list[RequestRow]
    failures: list[Failure]
    marks: list[Mark]

    @classmethod
    def of(
        cls,
        tick: Tick,
        rows: Sequence[RequestRow] = (),
        failures: Sequence[Failure] = (),
        marks: Sequence[Mark] = (),
    ) -> FleetRunInterval:
        """Return the data of a tick."""
        return cls(
            time=tick.time,
            devices=dict(tick.devices),
            requests=tick.requests,
            errors=dict(tick.errors),
            latency=tick.latency.pairs(),
            lag=tick.lag,
            rows=list(rows),
            failures=list(failures),
            marks=list(marks),
        )

    def tick(self) -> Tick:
        """Return the tick of this data."""
        latency = Latency.of_pairs(self.latency)
        return Tick(self.time, self.devices, self.requests, self.errors, latency, self.lag)


class DeviceState(Data):
    """Device of a run that has begun. notes: the values that its behaviour noted; credentials: its current ones."""

    number: int
    state: str
    epoch: int
    notes: dict[str, Annotated[Any, JsonValue]]
    credentials: DeviceCredentials


class FaultCount(Data):
    """Requests of a device that a fault could have hit (seen), and that it hit. device: its number."""

    fault: str
    device: int
    seen: int
    hits: int


class FleetRunState(Data):
    """State of a run, its result once it is over.

    rate: seconds of lab time per real second, None if it changed; error: message of what ended the run early, kind: its
    class; written: a last value of each alias that devices wrote; real, cpu: seconds; sending: latency from the
    sending of requests in real time, as in FleetRunInterval.
    """

    run: str
    product: str
    count: int
    over: bool
    paused: bool
    began: float
    rate: float | None
    error: str | None
    kind: str | None
    failures: list[Failure]
    marks: list[Mark]
    written: dict[str, Annotated[Any, JsonValue]]
    devices: list[DeviceState]
    accounts: list[AccountState]
    faults: list[FaultCount]
    real: float
    cpu: float
    sending: list[tuple[int, int]]


def described_behaviour(behaviour: Behaviour) -> DescribedBehaviour:
    """Return a behaviour that labkit has as plain data. Raises OwnProcessError for any other."""
    kind = type(behaviour)
    name = kind.__name__.lower()
    if BEHAVIOURS.get(name) is not kind:
        raise OwnProcessError(
            f"{kind.__name__}: a behaviour of your own needs the lab's own process: on a virtual clock the devices of "
            f"a lab elsewhere run there, where your class is missing. Make the lab here with Lab(…), or use one of "
            f"labkit's behaviours, such as Thermostat"
        )
    if name == "replay":
        raise OwnProcessError("Replay: its table needs the lab's own process: make the lab here with Lab(…)")
    values = {each: getattr(behaviour, each) for each in kind.parameters()}
    return DescribedBehaviour.model_validate({"name": name, "settings": values})


def behaviours_of(given: Sequence[DescribedBehaviour]) -> list[Behaviour]:
    """Return the described behaviours. Raises LabError for wrong parameters."""
    return [BEHAVIOURS[each.name](**each.settings) for each in given]


def described_devices(members: Sequence[Member]) -> tuple[list[DescribedBehaviour], list[DescribedDevice]]:
    """Return the behaviours and the devices of a fleet as plain data. Raises OwnProcessError as above."""
    places: dict[int, int] = {}  # of behaviours, by the id of the object that devices share
    behaviours: list[DescribedBehaviour] = []
    devices = []
    for each in members:
        place = places.get(id(each.behaviour))
        if place is None:
            place = places[id(each.behaviour)] = len(behaviours)
            behaviours.append(described_behaviour(each.behaviour))
        given = described_credentials(each.credentials).model_dump(exclude_none=True)
        devices.append(
            DescribedDevice(
                number=each.number, identity=each.identity, behaviour=place, epoch=each.epoch, **given
            )
        )
    return behaviours, devices


def members_of(behaviours: Sequence[DescribedBehaviour], devices: Sequence[DescribedDevice]) -> list[Member]:
    """Return the members of a fleet. Raises LabError for wrong parameters, and for two devices of one number."""
    lives = behaviours_of(behaviours)
    if any(each.behaviour >= len(lives) for each in devices):
        raise LabError(f"members: behaviour: expected a place in the list of {len(lives)} behaviours")
    for what in ("number", "identity"):
        if len({getattr(each, what) for each in devices}) < len(devices):
            raise LabError(f"members: {what}: two devices have the same one")
    return [
        Member(each.number, each.identity, lives[each.behaviour], each.credentials(), each.epoch)
        for each in devices
    ]


def described_credentials(held: Credentials) -> DeviceCredentials:
    """Return the credentials of a virtual device as plain data."""
    pair = held.certificate
    return DeviceCredentials(
        token=held.token,
        password=held.password,
        certificate=None if pair is None else pair.certificate_pem,
        key=None if pair is None else pair.key_pem,
    )


def described_faults(faults: RunFaults | None, members: Sequence[Member]) -> list[dict[str, Any]]:
    """Return the faults of a run as arguments of `FleetFaults.add`, without those that can hit none of its devices."""
    names = {each.number: each.identity for each in members}
    found = []
    for each in () if faults is None else faults:
        whom = None if each.devices is None else [one for one in each.devices if is_any(one, names)]
        if whom != []:
            found.append(_described_fault(each, whom))
    return found


def _described_fault(fault: DeviceFault, devices: list[str | int] | None) -> dict[str, Any]:
    given = {**vars(fault), "devices": devices}
    if KINDS[fault.does].seconds is None:
        del given["seconds"]
    return {name: value for name, value in given.items() if value is not None}


def device_faults(seed: int, members: Sequence[Member], given: DeviceFaultValues) -> FleetFaults:
    """Return the faults of a fleet. Raises LabError for a wrong argument."""
    faults = FleetFaults(seed, {each.number: each.identity for each in members})
    for each in given:
        try:
            faults.add(**each)
        except TypeError as error:
            raise LabError(f"faults: {str(error).removeprefix('FleetFaults.add() ')}") from None
    return faults
