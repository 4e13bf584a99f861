"""Judges of the ready promises about scripts, answers, devices and quotas, by the journal of a story."""

from __future__ import annotations

import re
from collections import defaultdict, deque

from labkit.core.record_lines import one_line
from labkit.core.records import Record
from labkit.hunt.promises.filters import Statuses
from labkit.hunt.promises.reading import Evidence, Finding, finding_of

FAILED = 400
LONGEST = 300  # characters of an error in a reason
USED_UP = re.compile(r"^The (daily|monthly) quota of .* is used up", re.DOTALL)


def judge_scripts(evidence: Evidence) -> Finding:
    """Judge whether no run of a script or handler ended with an error. A restart that ends one is no error of it."""
    tested = False
    for record in evidence.journal.iterate("script"):
        tested = tested or record.status is not None
        if record.status is not None and record.status >= FAILED:
            error = one_line(str((record.detail or {}).get("error", "")), LONGEST)
            return finding_of(
                record, f"{record.summary} of {record.actor!r} failed with {record.status}: {error}"
            )
    return Finding("kept" if tested else "untested")


def judge_statuses(evidence: Evidence, allowed: Statuses) -> Finding:
    """Judge whether devices and the clients of routes got no other status, except from a fault."""
    injected: dict[int, list[str]] = defaultdict(list)  # by number of the request: effects of faults
    for record in evidence.journal.iterate("fault"):
        name = (record.detail or {}).get("fault", "")
        injected[record.cause or 0] += record.summary.removeprefix(f"{name}: ").split(", ")
    tested = False
    for record in evidence.journal.iterate("request"):
        if record.status is None or not _is_of_lab(evidence, record):
            continue
        if f"status {record.status}" in injected.get(record.sequence, ()):
            continue
        tested = True
        if record.status not in allowed:
            reason = one_line(str((record.detail or {}).get("reason", "")), LONGEST)
            what = f"{record.actor} got {record.status} for {record.summary}"
            return finding_of(record, f"{what}: {reason}" if reason else what)
    return Finding("kept" if tested else "untested")


def judge_requests(evidence: Evidence, most: int, per: float) -> Finding:
    """Judge whether each device sent at most so many requests in each period of `per` seconds.

    Requests whose device is unknown, as after a lost token, count for the product, which may send as many as all its
    devices together.
    """
    window = int(per * 1_000_000)
    times: dict[str, deque[int]] = defaultdict(deque)
    devices: dict[str, set[str]] = defaultdict(set)
    for actor in evidence.devices:
        devices[actor.partition("/")[0]].add(actor)
    for record in evidence.journal.iterate("request"):
        actor = record.actor
        product, is_device = actor.partition("/")[0], evidence.is_device(actor)
        if is_device:
            devices[product].add(actor)
        elif product not in evidence.products or product in evidence.solutions:
            continue
        recent = times[actor]
        recent.append(record.time)
        while recent[0] <= record.time - window:
            recent.popleft()
        limit = most if is_device else most * max(len(devices[product]), 1)
        if len(recent) > limit:
            return finding_of(
                record, f"{actor} sent {len(recent)} requests within {per:g} s; at most {limit} are allowed"
            )
    return Finding("kept" if times else "untested")


def judge_programs(evidence: Evidence) -> Finding:
    """Judge whether no program of `lab.firmware` ended by itself, unless its end is expected."""
    tested = False
    for record in evidence.journal:
        tested = tested or record.kind == "start"
        detail = record.detail or {}
        if record.kind == "end" and not ("by" in detail or "expected" in detail):
            return finding_of(record, f"{record.actor}: {record.summary}")
    return Finding("kept" if tested else "untested")


def judge_quotas(evidence: Evidence) -> Finding:
    """Judge whether no call of a solution was refused since a quota of its subscription was used up."""
    tested = False
    for record in evidence.journal:
        if record.kind == "event":
            tested = tested or "caller" in (record.detail or {})
        elif record.kind == "call" and record.status == 403:
            error = (record.detail or {}).get("error")
            text = error.get("error", "") if isinstance(error, dict) else ""
            if USED_UP.match(str(text)):
                return finding_of(record, f"{record.actor!r} called {record.summary}: {text}")
    return Finding("kept" if tested else "untested")


def _is_of_lab(evidence: Evidence, record: Record) -> bool:
    """Return whether a request was sent to a product or a solution, and not to a provider."""
    first = record.actor.partition("/")[0]
    return first in evidence.products or record.actor in evidence.solutions
