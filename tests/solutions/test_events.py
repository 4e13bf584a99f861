"""Selection of the handler of an event, and the names of its argument."""

from labkit.core.journal import Journal
from labkit.device_api.emitted import EVENTS as DEVICE_EVENTS
from labkit.labtime.activity import Activity
from labkit.labtime.clock import Clock
from labkit.labtime.events import Events
from labkit.labtime.turns import Turns
from labkit.services.config import Config
from labkit.services.interface.service import Interface
from labkit.services.scripts import ScriptsService
from labkit.services.timer import TimerService
from labkit.services.user.service import User
from labkit.solutions.events import EVENTS, arguments, candidates
from tests.cases import cases


@cases(
    ("service", "event", "product", "keys"),
    [
        (
            "device",
            "datapoint",
            "p1",
            [
                ("p1", "datapoint"),
                ("{product.id}", "datapoint"),
                ("device", "datapoint"),
                ("device2", "datapoint"),
            ],
        ),
        (
            "device2",
            "event",
            "p1",
            [("p1", "event"), ("{product.id}", "event"), ("device2", "event"), ("device", "event")],
        ),
        ("device2", "event", None, [("{product.id}", "event"), ("device2", "event"), ("device", "event")]),
        ("user", "account", None, [("user", "account")]),
        ("User", "account", "p1", [("user", "account")]),
    ],
)
def test_candidates(service: str, event: str, product: str | None, keys: list[tuple[str, str]]) -> None:
    assert list(candidates(service, event, product)) == keys


@cases(
    ("service", "event", "names"),
    [
        ("device", "datapoint", ("data",)),
        ("{product.id}", "datapoint", ("data",)),
        ("device2", "event", ("event",)),
        ("thermostat", "event", ("event",)),
        ("user", "account", ("event",)),
        ("webservice", "request", ("request",)),
        ("websocket", "websocket_info", ("websocketInfo", "websocket_info", "response")),
        ("timer", "timer", ("request", "message")),
        ("interface", "subscriberAdded", ("subscription",)),
        ("interface", "light", ("event", "operation")),
        ("config", "service", ("service",)),
        ("Config", "fallback", ("event",)),
        ("scripts", "anything", ("data",)),
    ],
)
def test_arguments(service: str, event: str, names: tuple[str, ...]) -> None:
    clock, activity = Clock(0), Activity()
    events = Events(Journal(clock.micros), activity, Turns(clock, activity))
    events.declare(
        [
            *EVENTS,
            *DEVICE_EVENTS,
            *User.events,
            *Interface.events,
            *TimerService.events,
            *ScriptsService.events,
            *Config.events,
        ]
    )
    assert arguments(events, service, event) == names
