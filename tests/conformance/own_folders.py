"""Two folders of checks of one's own: what they are, and what comes of them at the lab."""

from __future__ import annotations

from pathlib import Path

OWN = Path(__file__).parent / "own"
ACME, RULES = OWN / "acme", OWN / "rules"
OUTCOMES = {"acme/ten-digits": "passed", "acme/header": "warned", "rules/since-2020": "failed"}
SENTENCES = {
    "ACME-CLOCK-1": "The time is a number of ten digits.",
    "ACME-CLOCK-7": "The time comes with the header X-Acme.",
    "RULES-2": "The time is the number of seconds since 2020.",
}
