"""Example behaviours, short enough to copy into a notebook cell and change."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.behaviours.bulb import Bulb
from labkit.fleet.behaviours.counter import Counter
from labkit.fleet.behaviours.flaky import Flaky
from labkit.fleet.behaviours.replay import Replay
from labkit.fleet.behaviours.sensor import Sensor
from labkit.fleet.behaviours.thermostat import Thermostat
from labkit.fleet.behaviours.updater import Updater

BEHAVIOURS: Mapping[str, type[Behaviour]] = MappingProxyType(
    {each.__name__.lower(): each for each in (Bulb, Counter, Flaky, Replay, Sensor, Thermostat, Updater)}
)

__all__ = ["BEHAVIOURS", "Bulb", "Counter", "Flaky", "Replay", "Sensor", "Thermostat", "Updater"]
