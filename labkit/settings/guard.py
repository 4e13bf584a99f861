"""Limits in real time that protect the process."""

from __future__ import annotations

from labkit.settings.values import Model, Seconds


class Guard(Model):
    """Real-time limits, in seconds, that protect the process; never lab time."""

    header: Seconds = 10.0
    body: Seconds = 30.0
    keep_alive: Seconds = 75.0
    handshake: Seconds = 10.0
    shutdown: Seconds = 10.0
    script_cpu: Seconds = 2.0
    way_out: Seconds = 10.0  # for an answer to a request of the platform itself
