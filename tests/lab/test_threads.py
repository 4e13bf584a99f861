"""Several threads that use one lab: their calls run on the platform's thread, and each gets its own results."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from types import FrameType
from typing import Any

import pytest

from labkit import Lab
from labkit.core import progress
from labkit.lab.portal import Portal
from labkit.platform import Platform
from labkit.providers.inbox import Inbox
from labkit.providers.mail import Mailbox
from labkit.providers.social.people import PeopleDirectory
from labkit.snapshots import states
from tests.guard import PATIENCE
from tests.sizes import size

RESOURCES = {"message": "string"}


def test_no_other_thread_accesses_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: dict[str, set[str]] = {}

    def watched(owner: type[Any], name: str) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            threads.setdefault(f"{owner.__name__}.{name}", set()).add(threading.current_thread().name)
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, name, method)

    for owner, name in (
        (Mailbox, "find"),
        (Mailbox, "clear"),
        (PeopleDirectory, "add"),
        (PeopleDirectory, "get"),
        (PeopleDirectory, "__iter__"),
        (Inbox, "__iter__"),
    ):
        watched(owner, name)
    with Lab(seed=1) as lab:
        google = lab.provider("google")
        google.people.add("ann", name="Ann")
        assert google.people.get("ann").name == "Ann"
        assert "ann" in google.people
        google.login(f"{google.endpoints['authorize']}?client_id=x", as_="ann")
        assert [len(google.inbox), len(google.people), len(lab.mailbox)] == [1, 1, 0]
        lab.mailbox.clear()
        _ = (repr(lab.mailbox), google.people._repr_html_(), google.inbox.frame())
    assert len(threads) == 6
    assert set().union(*threads.values()) == {"labkit"}


def test_threads_share_two_labs_with_two_products_and_solutions_each() -> None:
    rounds = size(5, 50)
    with Lab(seed=1) as one, Lab(seed=2) as two, ThreadPoolExecutor(8) as pool:
        for lab in (one, two):
            for name in ("a", "b"):
                product = lab.product(name, resources=RESOURCES)
                solution = lab.solution(name, products=product)
                count = 'Keystore.command({key = "n", command = "incr"})'
                solution.on("device", "datapoint", lua=f'print("got") {count}')

        def live(lab: Lab, name: str, number: int) -> None:
            device = lab.product(name).device(f"d-{number}").activate()
            for turn in range(rounds):
                device.write(message=f"{number}/{turn}")
                assert device.read("message") == {"message": f"{number}/{turn}"}
                lab.provider("google").people.add(f"{name}-{number}-{turn}")
                for frame in (lab.journal.frame(), lab.solution(name).logs, lab.product(name).devices()):
                    assert len(frame) > 0

        lives = [pool.submit(live, lab, name, n) for lab in (one, two) for name in ("a", "b") for n in (1, 2)]
        for each in lives:
            each.result()
        for lab in (one, two):
            lab.settle()
            for name in ("a", "b"):
                assert lab.solution(name).Keystore.get(key="n") == {"value": str(2 * rounds)}
                logs = lab.solution(name).logs
                assert (logs["level"] == "print").sum() == 2 * rounds
            assert len(lab.provider("google").people) == 4 * rounds


def test_an_interrupt_ends_an_endless_select() -> None:
    endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) from c"

    selecting: list[threading.Thread] = []

    def interrupt() -> None:
        while not selecting:
            selecting.extend(
                each for each in threading.enumerate() if each.name == "labkit copy" and each.is_alive()
            )
        signal.pthread_kill(main.ident or 0, signal.SIGINT)

    main = threading.current_thread()
    with Lab(seed=1) as lab:
        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            lab.sql(endless)
        interrupting.join()
        selecting[0].join(PATIENCE)
        assert not selecting[0].is_alive()
        assert lab.sql("select 1 one")["one"].tolist() == [1]


def test_a_thread_waits_for_the_end_of_a_restore_by_another(monkeypatch: pytest.MonkeyPatch) -> None:
    empty, begin = states.empty, Portal.begin
    is_empty, asked = threading.Event(), threading.Event()
    platforms: list[Platform] = []

    async def wait_when_empty(platform: Platform) -> None:
        await empty(platform)
        platforms.append(platform)
        if len(platforms) == 2:  # the first one is that of a rehearsal
            is_empty.set()
            await asyncio.to_thread(asked.wait, PATIENCE)

    def ask(self: Portal, *args: Any, **kwargs: Any) -> Any:
        task = begin(self, *args, **kwargs)
        if is_empty.is_set():
            asked.set()
        return task

    with Lab(seed=1) as lab, ThreadPoolExecutor(1) as pool:
        lab.product("thing", resources=RESOURCES).device("d").activate()
        snapshot = lab.snapshot()
        monkeypatch.setattr(Portal, "begin", ask)
        monkeypatch.setattr(states, "empty", wait_when_empty)
        read = pool.submit(lambda: is_empty.wait(PATIENCE) and len(lab.product("thing").devices()))
        lab.restore(snapshot)
        assert read.result() == 1


def test_an_interrupt_anywhere_in_a_wait_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0.001)
    monkeypatch.setattr(progress, "PERIOD", 0.001)

    def interrupted_at(step: int) -> str:
        """Interrupt a wait at one of its steps, and return the name of the function in which it was."""
        place = ""
        steps = count()

        def trace(frame: FrameType, event: str, _: object) -> Callable[..., Any]:
            nonlocal place
            if event != "call" and (now := next(steps)) >= step:
                assert now < step + 500, f"an interrupt in {place} was lost"
                place = place or frame.f_code.co_qualname
                if now == step:
                    signal.raise_signal(signal.SIGINT)
            return trace

        portal = Portal()
        task = portal.begin(asyncio.Event().wait)
        sys.settrace(trace)
        try:
            task.wait()
        except KeyboardInterrupt:
            sys.settrace(None)
            task.cancel()
        closing = threading.Thread(target=portal.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive(), place
        return place

    assert "_Outcome.ended" in {interrupted_at(step) for step in range(60)}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what this is about
def test_an_interrupt_that_python_ignores_ends_a_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "PATIENCE", 0)
    calls = count()

    class Dropped:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def ended(_: float | None) -> bool:
        Dropped()
        return next(calls) > 2

    with pytest.raises(KeyboardInterrupt):
        progress.wait(ended)
