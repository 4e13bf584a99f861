"""Garbage collection for a process of ours, which keeps much of what it makes."""

from __future__ import annotations

import gc


def serve_for_long() -> None:
    """Set the collector up for a process whose work makes few cycles and keeps many objects (the journal).

    What is there now stays for good and is looked at no more; the rest is looked at less often. This concerns
    the whole process and those that are forked from it, so only a process of ours calls it, never a Lab in somebody's
    notebook.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
