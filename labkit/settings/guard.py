"""Settings of the section `guard`: limits of time and size that protect the platform's process."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.core.keywords import Doc
from labkit.settings.values import Model, Seconds


class Guard(Model):
    """Limits that protect the platform's process. Times are in seconds of real time, not of lab time.

    header: time until the head of a request is complete, also of the first one. body: time from the end of the head
    until the body is complete. keep_alive: time until the next request on a connection; on a virtual clock it is lab
    time, and virtual devices keep their connections. handshake: time for the TLS handshake. shutdown: time for the
    client's part of closing TLS. reader: time until a client reads the next part of an answer. While programs live on
    lab time, header, body, handshake and reader are lab time, too.
    script_cpu: computing time of a script between two service calls. script_time: time for a whole run of a handler,
    except the time for which it waits for lab time or for its turn. scripts: number of concurrent Lua runs in one
    solution, each with a Lua state of its own; further runs wait.
    sql: time for a SELECT of `lab.sql`. sql_size: bytes of its result in memory.
    grace: time for requests in progress when the lab stops. outbound: time until the answer to a request that the
    platform sends.
    """

    header: Seconds = 10.0
    body: Seconds = 30.0
    keep_alive: Seconds = 75.0
    handshake: Seconds = 10.0
    shutdown: Seconds = 10.0
    reader: Seconds = 60.0
    ping: Annotated[
        Seconds,
        Doc(
            "time of silence on a websocket until the client is pinged, and then until it answers; on a virtual clock "
            "no client is pinged",
            since="1.3",
        ),
    ] = 30.0
    script_cpu: Seconds = 2.0
    script_time: Seconds = 30.0
    scripts: Annotated[int, Field(strict=True, ge=1)] = 64
    sql: Seconds = 30.0
    sql_size: Annotated[int, Field(strict=True, ge=1)] = 2**30
    device_body: Annotated[
        int,
        Field(strict=True, ge=2**16, le=2**24),
        Doc("bytes of the body of a device's request, where `wire.large_values` is on", since="1.4"),
    ] = 2**20
    grace: Seconds = 0.25
    outbound: Seconds = 10.0
    lease: Annotated[Seconds, Doc("time without a request after which a lab on demand ends", since="1.4")] = (
        60.0
    )
