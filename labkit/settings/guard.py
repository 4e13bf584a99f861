"""Limits in real time that protect the process."""

from __future__ import annotations

from labkit.settings.values import Model, Seconds


class Guard(Model):
    """Real-time limits, in seconds, that protect the process; never lab time.

    header: for a request's head to be whole, also for the first one to come. body: for its body, from the end of
    the head. keep_alive: for the next request. handshake: for TLS to be agreed. shutdown: for the client's side of
    a TLS close. reader: for a client that takes nothing of what it is sent.
    """

    header: Seconds = 10.0
    body: Seconds = 30.0
    keep_alive: Seconds = 75.0
    handshake: Seconds = 10.0
    shutdown: Seconds = 10.0
    reader: Seconds = 60.0
    script_cpu: Seconds = 2.0
    grace: Seconds = 0.25  # for requests in progress when the lab stops
    outbound: Seconds = 10.0  # for an answer to a request of the platform itself
