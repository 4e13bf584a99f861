"""A laboratory for an IoT platform, in one Python process: `from labkit import Lab`.

A lab and its handles: Lab, Product, Device, Solution, Fleet, Run, Fault, Provider, Browser, Session, PublishedService,
Subscription, OpenWebsocket, HeldPoll, PollWait, PendingCall, LabStory, LiveSettings, FirmwareRun.

Values that they return: Future, Futures, Snapshot, Point, Credentials, KeyPair, LabAddress, Application,
SubscriptionInfo, Tick, Latency, Mark, Failure, Note, OutputLine, ProgramEnd,
SlowCall.

Behaviours of virtual devices, and shapes of load: Behaviour, Bulb, Counter, Flaky, Replay, Sensor, Thermostat,
Updater; Shape, DailyWave, Flat, Herd, Ramp, Steps.

The platform without handles, and services of one's own: Platform, LabSettings, Clock, Service, Caller, operation.

Errors: LabkitError and, below it, LabError, SettingsError, ServiceError, DeviceError, NoAnswerError, StorageError;
below LabError: ArgumentError, FullError, OwnProcessError, TakenError, UnknownError, NoAttributeError, NoEntryError,
FirmwareError, WebsocketError. LabWarning, SlowWarning.

A name is imported when it is used, so that `import labkit` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from labkit.core import __version__ as __version__

if TYPE_CHECKING:
    from labkit.control.interface import SubscriptionInfo
    from labkit.core.certificates import KeyPair
    from labkit.core.errors import (
        ArgumentError,
        FullError,
        LabError,
        LabkitError,
        LabWarning,
        NoAttributeError,
        NoEntryError,
        OwnProcessError,
        ServiceError,
        SettingsError,
        SlowWarning,
        StorageError,
        TakenError,
        UnknownError,
    )
    from labkit.core.marks import Mark
    from labkit.core.slow import SlowCall
    from labkit.firmware.output import OutputLine
    from labkit.firmware.program import FirmwareError, ProgramEnd
    from labkit.fleet.behaviour import Behaviour
    from labkit.fleet.behaviours import Bulb, Counter, Flaky, Replay, Sensor, Thermostat, Updater
    from labkit.fleet.channel import NoAnswerError
    from labkit.fleet.device import Credentials, DeviceError, Point
    from labkit.fleet.flow import LabAddress
    from labkit.fleet.measures import Latency, Tick
    from labkit.fleet.notes import Note
    from labkit.fleet.shapes import DailyWave, Flat, Herd, Ramp, Shape, Steps
    from labkit.fleet.websocket import WebsocketError
    from labkit.lab.browser import Browser
    from labkit.lab.client import Session
    from labkit.lab.delays import PendingCall
    from labkit.lab.device import Device
    from labkit.lab.faults import Fault
    from labkit.lab.firmware import FirmwareRun
    from labkit.lab.fleet import Fleet
    from labkit.lab.futures import Future, Futures
    from labkit.lab.interface import PublishedService, Subscription
    from labkit.lab.lab import Lab
    from labkit.lab.polls import HeldPoll, PollWait
    from labkit.lab.product import LiveSettings, Product
    from labkit.lab.provider import Provider
    from labkit.lab.run import Run
    from labkit.lab.snapshot import Snapshot
    from labkit.lab.solution import Solution
    from labkit.lab.story import LabStory
    from labkit.lab.websocket import OpenWebsocket
    from labkit.labtime.clock import Clock
    from labkit.labtime.device_scheduler import Failure
    from labkit.platform import Platform
    from labkit.providers.social.messages import Application
    from labkit.services.operation import Caller, Service, operation
    from labkit.settings import LabSettings

_HOMES = {
    "labkit.control.interface": "SubscriptionInfo",
    "labkit.core.certificates": "KeyPair",
    "labkit.labtime.clock": "Clock",
    "labkit.core.errors": (
        "ArgumentError FullError LabError LabWarning LabkitError NoAttributeError NoEntryError OwnProcessError "
        "ServiceError SettingsError SlowWarning StorageError TakenError UnknownError"
    ),
    "labkit.core.marks": "Mark",
    "labkit.core.slow": "SlowCall",
    "labkit.fleet.behaviour": "Behaviour",
    "labkit.fleet.behaviours": "Bulb Counter Flaky Replay Sensor Thermostat Updater",
    "labkit.fleet.channel": "NoAnswerError",
    "labkit.fleet.device": "Credentials DeviceError Point",
    "labkit.fleet.flow": "LabAddress",
    "labkit.fleet.measures": "Latency Tick",
    "labkit.fleet.notes": "Note",
    "labkit.labtime.device_scheduler": "Failure",
    "labkit.fleet.shapes": "DailyWave Flat Herd Ramp Shape Steps",
    "labkit.fleet.websocket": "WebsocketError",
    "labkit.lab.browser": "Browser",
    "labkit.lab.client": "Session",
    "labkit.lab.delays": "PendingCall",
    "labkit.lab.device": "Device",
    "labkit.lab.faults": "Fault",
    "labkit.firmware.output": "OutputLine",
    "labkit.firmware.program": "FirmwareError ProgramEnd",
    "labkit.lab.firmware": "FirmwareRun",
    "labkit.lab.fleet": "Fleet",
    "labkit.lab.futures": "Future Futures",
    "labkit.lab.interface": "PublishedService Subscription",
    "labkit.lab.lab": "Lab",
    "labkit.lab.polls": "HeldPoll PollWait",
    "labkit.lab.product": "LiveSettings Product",
    "labkit.lab.provider": "Provider",
    "labkit.lab.run": "Run",
    "labkit.lab.snapshot": "Snapshot",
    "labkit.lab.solution": "Solution",
    "labkit.lab.story": "LabStory",
    "labkit.lab.websocket": "OpenWebsocket",
    "labkit.platform": "Platform",
    "labkit.providers.social.messages": "Application",
    "labkit.services.operation": "Caller Service operation",
    "labkit.settings": "LabSettings",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Application",
    "ArgumentError",
    "Behaviour",
    "Browser",
    "Bulb",
    "Caller",
    "Clock",
    "Counter",
    "Credentials",
    "DailyWave",
    "Device",
    "DeviceError",
    "Failure",
    "Fault",
    "FirmwareError",
    "FirmwareRun",
    "Flaky",
    "Flat",
    "Fleet",
    "FullError",
    "Future",
    "Futures",
    "HeldPoll",
    "Herd",
    "KeyPair",
    "Lab",
    "LabAddress",
    "LabError",
    "LabSettings",
    "LabStory",
    "LabWarning",
    "LabkitError",
    "Latency",
    "LiveSettings",
    "Mark",
    "NoAnswerError",
    "NoAttributeError",
    "NoEntryError",
    "Note",
    "OpenWebsocket",
    "OutputLine",
    "OwnProcessError",
    "PendingCall",
    "Platform",
    "Point",
    "PollWait",
    "Product",
    "ProgramEnd",
    "Provider",
    "PublishedService",
    "Ramp",
    "Replay",
    "Run",
    "Sensor",
    "Service",
    "ServiceError",
    "Session",
    "SettingsError",
    "Shape",
    "SlowCall",
    "SlowWarning",
    "Snapshot",
    "Solution",
    "Steps",
    "StorageError",
    "Subscription",
    "SubscriptionInfo",
    "TakenError",
    "Thermostat",
    "Tick",
    "UnknownError",
    "Updater",
    "WebsocketError",
    "operation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"labkit has no {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def load_ipython_extension(shell: Any) -> None:
    """Define the cell magic `%%lua` in a shell of IPython: `%load_ext labkit`."""
    import_module("labkit.lab.lua_cells").load(shell)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
