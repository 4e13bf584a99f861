"""The journal: how much it keeps, and what it shows."""

from __future__ import annotations

from labkit.settings.values import Model


class JournalSettings(Model):
    """values: does it show what is kept in the Keystore, and not its lengths alone?"""

    values: bool = False
