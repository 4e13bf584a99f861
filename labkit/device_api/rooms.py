"""What the endpoints work with, and what follows from a stored datapoint."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from labkit.core.clock import Clock
from labkit.core.events import Events
from labkit.device_api import emitted
from labkit.device_api.exchange import Connection, Exchange
from labkit.devices.content import Content
from labkit.devices.polls import Polls
from labkit.devices.registry import Device, Registry
from labkit.devices.state import Datapoint, State
from labkit.http.dates import HttpDate

# (product, identity, event, what makes its payload, sequence of the journal record that caused it). Most
# payloads are read by nobody, so they are made when somebody does.
Emit = Callable[[str, str, str, Callable[[], Mapping[str, object]], int], None]


@dataclass(frozen=True)
class Rooms:
    """The rooms of `devices`, handed to each endpoint."""

    clock: Clock
    registry: Registry
    content: Content
    state: State
    polls: Polls
    events: Events
    emit: Emit
    dates: HttpDate
    sequences: defaultdict[tuple[str, str, str], int] = field(default_factory=lambda: defaultdict(int))

    def stored(self, exchange: Exchange, device: Device, points: Sequence[Datapoint], api: str) -> None:
        """Wake who waits for these datapoints, then emit their events. Called once they are stored."""
        live = api == "write"
        product, identity = device.product, device.identity
        # Of recorded points a poll gets the earliest, whatever their order in the request.
        for point in points if live else sorted(points, key=lambda point: point.timestamp):
            self.polls.wake(product, identity, point, live)
        connection, micros = exchange.connection, self.clock.micros()
        cause = exchange.identify(identity).sequence
        payload = partial(emitted.data_in, connection, identity, micros, points, live)
        self.emit(product, identity, "data_in", payload, cause)
        for point in points:
            sequence = self._next(product, identity, point.alias)
            payload = partial(emitted.datapoint, product, connection, identity, micros, point, sequence, api)
            self.emit(product, identity, "datapoint", payload, cause)

    def provisioned(self, product: str, connection: Connection, identity: str, cause: int) -> None:
        """Emit that credentials were given or replaced."""
        payload = partial(emitted.device_data, connection, "provisioned", identity, self.clock.micros())
        self.emit(product, identity, "provisioned", payload, cause)

    def _next(self, *resource: str) -> int:
        product, identity, alias = resource
        self.sequences[product, identity, alias] += 1
        return self.sequences[product, identity, alias]
