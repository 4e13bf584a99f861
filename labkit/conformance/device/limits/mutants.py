"""Faults of what a request may measure and how long it may take."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import mutant
from labkit.edge import limits


@mutant("DEV-LIM-1", "labkit.device_api.exchange:Exchange.body")
def no_limit(original: Any) -> Any:
    """a body may have any size"""
    return lambda exchange: exchange.request.read()


@mutant("DEV-LIM-2", "labkit.edge.protocol:EdgeProtocol.__init__")
def heads_of_any_size(original: Any) -> Any:
    """a header may have any size"""

    def broken(protocol: Any, *args: Any, **options: Any) -> None:
        limits.LINE = limits.HEAD = limits.FIELDS = 100_000_000
        original(protocol, *args, **options)

    return broken


@mutant("DEV-LIM-2", "labkit.edge.limits:plain")
def internal_error(original: Any) -> Any:
    """a header that is too long is answered 500"""
    return lambda status, text: original(500 if status == 431 else status, text)


@mutant("DEV-LIM-3", "labkit.edge.protocol:EdgeProtocol.await_head")
def waits_for_ever(original: Any) -> Any:
    """a connection that stops in its header is kept"""
    return lambda protocol: None
