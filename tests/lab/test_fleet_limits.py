"""Limits of the fleets of a lab, by which a play is cut down."""

from __future__ import annotations

from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.lab.fleet_limits import FleetLimits
from labkit.lab.observer import LabObserver
from tests.lab.story_parts import Listens, Reports, product_of


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"devics": 1}, "limits: no limit 'devics', there are: devices, seconds; did you mean devices"),
        ({"devices": 0}, "limits: devices: expected a number of devices from 1, not 0"),
        ({"devices": True}, "limits: devices: expected"),
        ({"devices": 1.5}, "limits: devices: expected"),
        ({"seconds": 0}, "limits: seconds: expected a time above 0, not 0"),
        ({"seconds": "1"}, "limits: seconds: expected a number, not '1'"),
    ],
)
def test_wrong_limits(given: dict[str, Any], text: str) -> None:
    with pytest.raises(LabError, match=text):
        FleetLimits.of(given)


def test_limits_as_data_and_text() -> None:
    for data, text in (
        ({}, ""),
        ({"devices": 1}, "1 device of each behaviour"),
        ({"devices": 2, "seconds": 0.5}, "2 devices of each behaviour, 0.5 s of each run"),
    ):
        limits = FleetLimits.of(data)
        assert (limits.data, str(limits)) == (data, text)


def test_of_each_behaviour_the_first_devices_are_left_with_their_names(lab: Lab) -> None:
    whole = product_of(lab, "lamp").fleet({Reports: 3, Listens: 3}, seed=1)
    LabObserver(lab).limit_fleets(FleetLimits(devices=2))
    products = [product_of(lab, name) for name in ("thermostat", "unit")]
    mixed, named = (
        products[0].fleet({Reports: 3, Listens: 3}),
        products[1].fleet(4, Reports, identities=["ä", "b", "c", "d"]),
    )
    assert len(whole.identities) == 6
    assert list(mixed.identities) == ["t-001", "t-002", "t-004", "t-005"]
    assert list(named.identities) == ["ä", "b"]
    assert set(products[0].devices().index) == set(mixed.identities)


def test_the_devices_that_are_left_do_what_they_did() -> None:
    def written(limits: FleetLimits) -> dict[str, list[str]]:
        with Lab(seed=7) as lab:
            LabObserver(lab).limit_fleets(limits)
            product_of(lab).fleet({Reports(30, 60, 90): 3, Listens: 2}).run(minutes=10)
            found: dict[str, list[str]] = {}
            for each in lab.sql("select identity, timestamp, value from datapoint").itertuples():
                found.setdefault(str(each.identity), []).append(f"{each.timestamp} {each.value}")
            return found

    whole = written(FleetLimits())
    some = written(FleetLimits(devices=2, seconds=300))
    assert set(whole) == {"t-001", "t-002", "t-003"}
    assert set(some) == {"t-001", "t-002"}
    for name, values in some.items():
        assert 0 < len(values) < len(whole[name])
        assert values == whole[name][: len(values)]


def test_runs_are_as_short_as_their_limit(lab: Lab) -> None:
    LabObserver(lab).limit_fleets(FleetLimits(seconds=90))
    fleet, began = product_of(lab).fleet(1, Reports), lab.clock.time
    fleet.run(60, minutes=1, hours=1)
    assert lab.clock.time == began + 90
    fleet.run(30)
    assert lab.clock.time == began + 120
    with pytest.raises(LabError, match="this clock stands still"):
        fleet.run()
