"""Exact replay of fleets with a seed: journal and frame, byte for byte, whatever the load of the machine."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from labkit.fleet import transport
from labkit.fleet.connection import DeviceServer
from tests.fleet import story, together
from tests.replays import elsewhere

pytestmark = [pytest.mark.sampled, pytest.mark.timeout(300)]


@contextmanager
def one_core() -> Iterator[None]:
    """Make all threads that this thread starts share one core with it, where the system allows it."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


def test_a_replay_is_exact_in_one_process_and_another_under_load() -> None:
    """First alone; then two at once on one core, each of which is mostly preempted by the other."""
    results = story.story_results()
    assert 0 not in json.loads(results["hits"])  # hits of its faults
    first = story.digests(results)
    with one_core(), elsewhere("tests.fleet.story") as printed:
        again = story.digests(story.story_results())
        assert printed() == first
    assert again == first


def test_concurrent_handlers_of_several_solutions_replay_with_the_same_faults() -> None:
    """Handlers in Lua, in threads and on the loop: the order of their calls does not depend on real time."""
    first = together.story_results()
    assert first["mails"].count("late") >= 2 * 10  # also hits at the subscribers
    with one_core(), elsewhere("tests.fleet.together") as printed:
        again = together.story_results()
        assert printed() == first
    assert again == first


def test_resumption_of_tls_sessions_does_not_change_the_story(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    resumed: list[bool | None] = []

    async def counted(*args: Any) -> ssl.SSLSocket:
        agreed = await transport.secured(*args)
        resumed.append(agreed.session_reused)
        return agreed

    monkeypatch.setattr("labkit.fleet.connection.secured", counted)
    first = story.digests(story.story_results(hours=1))
    assert any(resumed)
    resumed.clear()
    monkeypatch.setattr(DeviceServer, "session_after", lambda *_: None)
    assert story.digests(story.story_results(hours=1)) == first
    assert set(resumed) == {False}


def test_a_story_is_the_same_over_tcp_a_socket_pair_and_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    first = story.digests(story.story_results(hours=1))
    in_memory = story.digests(story.story_results(hours=1, transport="memory"))
    assert in_memory.pop("summary") != first["summary"]  # it names the transport
    assert in_memory == {name: digest for name, digest in first.items() if name != "summary"}
    make = DeviceServer.__init__

    def over_tcp(self: DeviceServer, *args: Any, connect: object, **others: Any) -> None:
        assert connect is not None
        make(self, *args, **others)

    monkeypatch.setattr(DeviceServer, "__init__", over_tcp)
    assert story.digests(story.story_results(hours=1)) == first


@pytest.mark.sampled
def test_another_seed_is_another_story() -> None:
    results = [story.story_results(seed, hours=0.5) for seed in (7, 8)]
    assert all(results[0][name] != results[1][name] for name in ("journal", "frame", "requests", "picture"))


def test_a_device_does_the_same_among_20_or_2000() -> None:
    """Some of the other devices report at the same instants, and all wait in the same order."""
    few, many = (story.life(*others, 17, hours=1.4) for others in ((20, 0), (200, 1800)))
    assert few == many
    assert sum("request" in line for line in few) >= 2
