"""Faults of what is configured for services that no row can say."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import always
from labkit.conformance.mutant import instead, patch

alike_for_all = patch(
    "SOL-SVC-5",
    "labkit.services.calls:Services.is_configured",
    "a call that one solution made means the same for another, whatever that has configured",
    always(False),
    alone=True,  # it leaves calls behind that are remembered
)


@instead("SOL-SVC-3", "labkit.providers.mail:Mailbox.receive")
def blind_copies_shown(original: Any, self: Any, **given: Any) -> None:
    """who gets a blind copy of a mail is named to all who get it"""
    original(self, **{**given, "cc": (*given["cc"], *given["bcc"]), "bcc": ()})
