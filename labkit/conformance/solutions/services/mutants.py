"""Faults of what is configured for services that no row can say."""

from __future__ import annotations

from labkit.conformance.breaking import always
from labkit.conformance.mutant import patch

alike_for_all = patch(
    "SOL-SVC-5",
    "labkit.services.calls:Services._is_configured",
    "a call that one solution made means the same for another, whatever that has configured",
    always(False),
    alone=True,  # it leaves calls behind that are remembered
)
