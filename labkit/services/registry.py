"""Registry of the platform's services. To add a service, add a folder beside this file and a line here."""

from __future__ import annotations

from collections.abc import Callable

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
