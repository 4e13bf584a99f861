"""Faults in what a publisher finds of its subscribers, and changes."""

from __future__ import annotations

import itertools
from typing import Any

from labkit.conformance.faults import CALL, failed, gives
from labkit.conformance.mutant import mutant

NIL_ID = "00000000-0000-0000-0000-000000000000"


def _subscribers(original: Any, change: Any) -> Any:
    """Change each subscriber that Interface gives."""

    def changed(operation: str, result: Any) -> Any:
        if failed(result) or operation not in ("getSubscriber", "listSubscribers"):
            return result
        if operation == "getSubscriber":
            return change(result)
        return {**result, "items": [change(each) for each in result["items"]]}

    return gives(original, "Interface", changed)


@mutant("IFC-SUB-1", CALL)
def ids_anew(original: Any) -> Any:
    """a subscriber has another id each time"""
    count = itertools.count(1)
    return _subscribers(original, lambda each: {**each, "id": f"{NIL_ID[:24]}{next(count):012x}"})
