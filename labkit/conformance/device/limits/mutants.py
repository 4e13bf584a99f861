"""Faults of the limits on the size and the duration of requests."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always, change_arguments
from labkit.conformance.mutant import patch
from labkit.edge import limits

BODY = "labkit.device_api.exchange:Exchange.body"
PROTOCOL = "labkit.edge.protocol:EdgeProtocol"

no_limit = patch("DEV-LIM-1", BODY, "a body may have any size")(
    lambda original, self, guard: self.request.read()
)
internal_error = patch("DEV-LIM-2", "labkit.edge.limits:plain", "a header that is too long is answered 500")(
    change_arguments(status=lambda status: 500 if status == 431 else status)
)
waits_for_ever = patch(
    "DEV-LIM-3", f"{PROTOCOL}.await_head", "a connection that stops in its header is kept"
)(always(None))


@patch("DEV-LIM-2", f"{PROTOCOL}.__init__", alone=True)
def heads_of_any_size(original: Any, protocol: Any, *arguments: Any, **options: Any) -> None:
    """a header may have any size"""
    limits.LINE = limits.HEAD = limits.FIELDS = 100_000_000
    original(protocol, *arguments, **options)
