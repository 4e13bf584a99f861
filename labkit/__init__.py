"""labkit: a laboratory for an IoT platform, in one Python process.

`from labkit import Lab`; names are imported on first use, so that `import labkit` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from labkit.core.clock import Clock
    from labkit.core.errors import LabError, LabkitError, LabWarning, ServiceError, SettingsError
    from labkit.fleet.behaviour import Behaviour
    from labkit.fleet.channel import NoAnswerError
    from labkit.fleet.device import Credentials, DeviceError
    from labkit.lab.lab import Lab
    from labkit.platform import Platform
    from labkit.services.operation import Caller, Service, operation
    from labkit.settings import LabSettings

__version__ = "0.1.0"

_HOMES = {
    "Behaviour": "labkit.fleet.behaviour",
    "Caller": "labkit.services.operation",
    "Clock": "labkit.core.clock",
    "Credentials": "labkit.fleet.device",
    "DeviceError": "labkit.fleet.device",
    "Lab": "labkit.lab.lab",
    "LabError": "labkit.core.errors",
    "LabSettings": "labkit.settings",
    "LabWarning": "labkit.core.errors",
    "LabkitError": "labkit.core.errors",
    "NoAnswerError": "labkit.fleet.channel",
    "Platform": "labkit.platform",
    "Service": "labkit.services.operation",
    "ServiceError": "labkit.core.errors",
    "SettingsError": "labkit.core.errors",
    "operation": "labkit.services.operation",
}

__all__ = [
    "Behaviour",
    "Caller",
    "Clock",
    "Credentials",
    "DeviceError",
    "Lab",
    "LabError",
    "LabSettings",
    "LabWarning",
    "LabkitError",
    "NoAnswerError",
    "Platform",
    "Service",
    "ServiceError",
    "SettingsError",
    "operation",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"labkit has no {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
