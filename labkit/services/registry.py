"""Registry of the platform's services. To add a service, add a folder beside this file and a line here."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from labkit.context import Context
from labkit.services.config import Config
from labkit.services.device import DeviceService
from labkit.services.device2 import Device2
from labkit.services.email import Email
from labkit.services.http import HttpService
from labkit.services.interface.service import Interface
from labkit.services.keystore import Keystore
from labkit.services.notify.service import Notify
from labkit.services.operation import Service
from labkit.services.scripts import ScriptsService
from labkit.services.timer import TimerService
from labkit.services.timeseries.service import Timeseries
from labkit.services.tsdb.service import Tsdb
from labkit.services.user.service import User
from labkit.services.websocket import Websocket

SERVICES: tuple[Callable[[Context], Service], ...] = (
    Keystore,
    User,
    Email,
    Config,
    Device2,
    DeviceService,
    Notify,
    Interface,
    TimerService,
    ScriptsService,
    HttpService,
    Tsdb,
    Timeseries,
    Websocket,
)


@cache
def words() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Return what the files `words.toml` beside the services leave to no docstring, by service, and by `events`.

    Of a service, the meaning of arguments that many operations share, and a value of each argument for examples:
    `argument` holds for all operations, `"operation.argument"` for one; `optional = true` puts an optional argument
    into the example, too. Of its events, by name, when each is raised, and the fields of the handlers' argument.
    """
    found: dict[str, dict[str, Mapping[str, Any]]] = {"events": {}}
    for package in dict.fromkeys(each.__module__.rpartition(".")[0] for each in SERVICES):
        for name, table in tomllib.loads(
            (resources.files(package) / "words.toml").read_text("utf-8")
        ).items():
            found.setdefault(name, {}).update(table)
    return found
