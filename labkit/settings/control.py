"""Settings of control over HTTP: where other processes can control the lab."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator

from labkit.settings.values import Model, Port


class ControlSettings(Model):
    """Listener for control over HTTP. Without a host it is plain HTTP on 127.0.0.1, with one TLS by the lab's CA.

    host: IP address or name at which it listens, and by which clients know it; port: its port; 0 is any free one.
    """

    host: str | None = None
    port: Port = 0


def _switch(value: Any) -> Any:
    return {True: {}, False: None}[value] if isinstance(value, bool) else value


ControlSwitch = Annotated[
    ControlSettings | None,
    BeforeValidator(_switch, json_schema_input_type=bool | ControlSettings | None),
]
