"""Which handler an event means, and the names of its argument."""

import pytest

from labkit.solutions.events import arguments, candidates, of_device


@pytest.mark.parametrize(
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


def test_events_of_devices() -> None:
    assert of_device("datapoint") == ("device", "datapoint")
    assert of_device("data_in") == of_device("provisioned") == ("device2", "event")


@pytest.mark.parametrize(
    ("service", "event", "names"),
    [
        ("device", "datapoint", ("data",)),
        ("{product.id}", "datapoint", ("data",)),
        ("device2", "event", ("event",)),
        ("thermostat", "event", ("event",)),
        ("user", "account", ("event",)),
        ("webservice", "request", ("request",)),
        ("websocket", "websocket_info", ("websocketInfo",)),
        ("timer", "timer", ("message", "request")),
        ("interface", "subscriberAdded", ("subscription",)),
        ("interface", "light", ("event", "operation")),
        ("config", "service", ("service",)),
        ("Config", "fallback", ("event",)),
        ("scripts", "anything", ("data",)),
    ],
)
def test_arguments(service: str, event: str, names: tuple[str, ...]) -> None:
    assert arguments(service, event) == names
