"""Limits that protect the process."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from labkit.settings.values import Model, Seconds


class Guard(Model):
    """Limits that protect the process. Those in seconds are of real time, never lab time.

    header: for a request's head to be whole, also for the first one to come. body: for its body, from the end of
    the head. keep_alive: for the next request. handshake: for TLS to be agreed. shutdown: for the client's side of
    a TLS close. reader: for a client that takes nothing of what it is sent.
    script_cpu: that a script may compute between two service calls. script_time: for a run of a handler as a whole,
    without the time in which it is held for lab time or waits its turn. scripts: runs of Lua under way at once in one
    solution, each with a Lua state of its own; more of them wait until one ends.
    sql: for a SELECT of `lab.sql`. sql_size: bytes of its result in memory.
    """

    header: Seconds = 10.0
    body: Seconds = 30.0
    keep_alive: Seconds = 75.0
    handshake: Seconds = 10.0
    shutdown: Seconds = 10.0
    reader: Seconds = 60.0
    script_cpu: Seconds = 2.0
    script_time: Seconds = 30.0
    scripts: Annotated[int, Field(strict=True, ge=1)] = 64
    sql: Seconds = 30.0
    sql_size: Annotated[int, Field(strict=True, ge=1)] = 2**30
    grace: Seconds = 0.25  # for requests in progress when the lab stops
    outbound: Seconds = 10.0  # for an answer to a request of the platform itself
