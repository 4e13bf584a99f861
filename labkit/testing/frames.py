"""Tracebacks without the frames of labkit and of the libraries that run its code."""

from __future__ import annotations

from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import Any

import pytest

from labkit.core.errors import LabkitError

OURS = "labkit"
HIDDEN = {OURS, "sqlalchemy", "asyncio", "anyio", "concurrent", "greenlet", "uvloop"}
COUNT = pytest.StashKey[int]()  # frames that are hidden in the traceback of a test and perhaps of interest


def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[Any]) -> None:
    """Hide frames before the report of a test is made, after unittest's failures have been found."""
    if call.excinfo is None or not (count := hide_frames(call.excinfo.value)):
        return
    call.excinfo = pytest.ExceptionInfo.from_exception(call.excinfo.value)
    if not isinstance(
        call.excinfo.value, LabkitError | pytest.fail.Exception
    ):  # their text has the whole reason
        item.stash[COUNT] = count


def hide_frames(error: BaseException) -> int:
    """Remove the frames of labkit, SQLAlchemy and asyncio from the tracebacks of an exception and of its causes.

    Returns the number of removed frames: 0 if labkit has no part in the exception. The exception itself keeps its
    traceback if nothing else is in it.
    """
    chain = list(_chain(error))
    traces = [_frames(each.__traceback__) for each in chain]
    if not any(_package(each.tb_frame) == OURS for trace in traces for each in trace):
        return 0
    removed = 0
    for each, trace in zip(chain, traces, strict=True):
        shown = [one for one in trace if _package(one.tb_frame) not in HIDDEN]
        if shown or each is not error:
            removed += len(trace) - len(shown)
            each.__traceback__ = _linked(shown)
    return removed


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception, its causes, its contexts, and the members of groups, each once."""
    found: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        each = waiting.pop()
        if each is not None and id(each) not in found:
            found.add(id(each))
            yield each
            waiting += [each.__cause__, each.__context__]
            if isinstance(each, BaseExceptionGroup):
                waiting += each.exceptions


def _frames(trace: TracebackType | None) -> list[TracebackType]:
    found = []
    while trace is not None:
        found.append(trace)
        trace = trace.tb_next
    return found


def _linked(frames: list[TracebackType]) -> TracebackType | None:
    """Return a traceback of these frames, outermost first."""
    linked: TracebackType | None = None
    for each in reversed(frames):
        linked = TracebackType(linked, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return linked


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
