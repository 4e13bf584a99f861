"""Faults of subscribers that no row can express."""

from __future__ import annotations

import asyncio
from typing import Any

from labkit.conformance.breaking import change_result
from labkit.conformance.mutant import patch
from labkit.services.interface.store import Subscriptions

by_id = patch(
    "IFC-SUB-13",
    "labkit.services.interface.store:read_all",
    "after a restart subscribers come in the order of their names",
)(change_result(lambda found: sorted(found, key=lambda each: str(each.subscriber))))


@patch("IFC-SUB-14", "labkit.services.interface.store:Subscriptions.change")
async def last_wins(original: Any, self: Subscriptions, id: str, change: Any) -> Any:
    """a change starts from the values read at its beginning, so that it undoes concurrent changes"""
    seen = self.get(id)
    await asyncio.sleep(0)
    return await original(self, id, lambda found: change(seen or found))


@patch("IFC-SUB-7 IFC-TRIG-12", "labkit.services.interface.store:Subscriptions.find")
def longer_ids(original: Any, self: Subscriptions, publisher: str, subscriber: str) -> Any:
    """a subscriber is also found by its id with one more character at its end"""
    return original(self, publisher, subscriber) or original(self, publisher, subscriber[:-1])
