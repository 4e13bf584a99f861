"""Code mutants of the configuration of services, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import instead, patch

alike_for_all = patch(
    "SOL-SVC-5",
    "labkit.services.calls:Services.is_configured",
    "a call cached for one solution is reused for another that has configured defaults",
    always(False),
    alone=True,  # the calls stay cached
)


@instead("SOL-SVC-3", "labkit.providers.mail:Mailbox.receive")
def blind_copies_shown(original: Any, self: Any, **given: Any) -> None:
    """recipients of blind copies are shown to all recipients"""
    original(self, **{**given, "cc": (*given["cc"], *given["bcc"]), "bcc": ()})
