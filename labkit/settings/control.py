"""Settings of control over HTTP: where other processes can control the lab."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from labkit.settings.values import Model, Port


class ControlSettings(Model):
    """Listener of `labkit serve` for control over HTTP: plain on 127.0.0.1 without a host, else TLS by the lab's CA.

    host: IP address or name at which it listens, and by which clients know it; port: its port; 0 is any free one.

    A request is refused (403) unless its Host is that host, localhost, 127.0.0.1 or ::1: so no web page reaches the lab
    by a name of its own. 0.0.0.0 and :: listen at all addresses of the machine, or of a container; clients do not know
    it by them, so that only the loopback names remain. For clients on other machines, set the name that they use.
    """

    host: str | None = None
    port: Port = 0


def _switch(value: Any) -> Any:
    return {True: {}, False: None}[value] if isinstance(value, bool) else value


ControlSwitch = Annotated[
    ControlSettings | None,
    BeforeValidator(_switch, json_schema_input_type=bool | ControlSettings | None),
]
