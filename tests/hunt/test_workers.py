"""Calls over worker processes: outcomes, errors, processes that die, limits of time, interrupts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError
from labkit.hunt import Draw, play, story
from labkit.hunt.workers.pool import LATER, ItemOutcome, PlayWorkers, plays_over
from labkit.hunt.workers.worker import WorkerError
from tests.rig import ran

FACTOR = 3
SCRIPT = """
from labkit.hunt.workers.pool import plays_over

class Point:
    def __init__(self, x):
        self.x = x

print(sorted(each.result.x for each in plays_over(2, lambda point: Point(point.x + 1), map(Point, range(3)))))
"""


class CustomError(Exception):
    """Error that cannot be unpickled, since its arguments are not those of `__init__`."""

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


def odd(folder: Path, item: object) -> object:
    """Fail in many ways. A first call with `once` kills its process, a later one does not."""
    print("printed", item)  # noqa: T201  is no part of a reply
    if item == "once":
        try:
            (folder / "once").touch(exist_ok=False)
        except FileExistsError:
            return "again"
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "dies":
        os.write(2, b"the last words\n")
        os._exit(7)
    if item == "stuck":
        subprocess.run([sys.executable, "-c", f"import time; time.sleep({600 * FACTOR})"], check=True)
    if item == "error":
        raise ValueError("wrong: é'")
    if item == "own error":
        raise CustomError(1, 2)
    if item == "exit":
        sys.exit("gone")
    if item == "lock":
        return threading.Lock()
    return item


@pytest.mark.sampled
def test_every_item_has_one_outcome(tmp_path: Path) -> None:
    items = [1, "once", "dies", "stuck", "error", "own error", "exit", "lock", {"é'": [1]}, None]
    outcomes = list(plays_over(2, partial(odd, tmp_path), items, within=10))
    assert sorted(map(str, items)) == sorted(str(each.item) for each in outcomes)
    by_item: dict[str, ItemOutcome[object, object]] = {str(each.item): each for each in outcomes}
    for item in (1, {"é'": [1]}, None):
        assert (by_item[str(item)].result, by_item[str(item)].error) == (item, None)
    once, dies, stuck = by_item["once"], by_item["dies"], by_item["stuck"]
    assert (once.result, once.died) == ("again", False)
    assert (str(dies.error), dies.died, dies.late) == (
        "its process ended with exit status 7: the last words",
        True,
        False,
    )
    assert (str(stuck.error), stuck.late, stuck.died) == ("ended after its limit of 10 s", True, False)
    assert isinstance(stuck.error, WorkerError)
    assert (repr(by_item["error"].error), "in odd" in by_item["error"].traceback) == (
        """ValueError("wrong: é'")""",
        True,
    )
    assert str(by_item["own error"].error) == "CustomError: 1 and 2"
    assert isinstance(by_item["exit"].error, SystemExit)
    assert "the result cannot travel to another process" in str(by_item["lock"].error)


@pytest.mark.usefixtures("forks")
def test_a_story_of_a_test_travels_and_replays() -> None:
    @story
    def waits(lab: Lab, draw: Draw, *, pause: float = 1) -> list[object]:
        lab.wait(seconds=pause * FACTOR)
        return [draw.number(0, 10**9), lab.clock.time]

    def plays(seed: int) -> tuple[str, object]:
        played = play(waits, seed, parameters={"pause": 2})
        return played.journal, played.result

    there = {each.item: each.result for each in plays_over(2, plays, range(4))}
    assert there == {seed: plays(seed) for seed in range(4)}


@pytest.mark.usefixtures("forks")
def test_later_items_follow_from_earlier_outcomes() -> None:
    threads: set[int] = set()
    known: list[int] = [0]

    def items() -> Iterator[int]:
        while known and known[-1] < 8:
            threads.add(threading.get_ident())
            yield known[-1]

    for each in plays_over(1, lambda item: item + 1, items()):
        assert each.result == each.item + 1
        known.append(each.result)
    assert (known, threads) == ([*range(9)], {threading.get_ident()})


@pytest.mark.sampled
def test_workers_stay_for_later_items_and_wait_for_outcomes() -> None:
    """Also, nobody gets the outcome of an item that was under way when its caller ended the iterator."""
    begun: list[int] = []

    def items() -> Iterator[Any]:
        for number in range(4):
            while number > 1 + len(begun):
                yield LATER
            yield number

    for count in (0, 2):
        pool: Any = PlayWorkers(count, lambda item: (item, os.getpid()))
        with closing(pool) as workers:
            [first] = islice(workers.plays([*range(10)]), 1)
            pids = {first.result[1]}
            for each in workers.plays(items()):
                begun.append(each.item)
                pids.add(each.result[1])
        assert (sorted(begun), len(pids) <= max(count, 1)) == ([*range(4)], True)
        begun.clear()


@pytest.mark.usefixtures("forks")
def test_closing_kills_what_is_under_way(tmp_path: Path) -> None:
    plays: Any = plays_over(2, partial(odd, tmp_path), ["quick", "stuck", "stuck"])
    assert next(plays).item == "quick"
    began = time.monotonic()
    plays.close()
    assert time.monotonic() - began < 30  # a real second at most, on an idle machine
    assert not any(each.name == "labkit plays" for each in threading.enumerate())


def test_an_interrupt_reaches_the_caller_and_no_worker(tmp_path: Path) -> None:
    plays: Any = plays_over(1, partial(odd, tmp_path), ["first", "stuck"])
    seen = [next(plays).item]
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        seen.append(next(plays).item)
    timer.join()
    assert (seen, list(plays)) == (["first"], [])


@pytest.mark.sampled
def test_a_script_without_a_guard(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ended = ran(sys.executable, script)
    assert (ended.stdout, ended.stderr) == ("[1, 2, 3]\n", "")


def test_this_process() -> None:
    outcomes = list(plays_over(0, lambda item: (1 / item, os.getpid()), [1, 0]))
    assert [each.result for each in outcomes] == [(1, os.getpid()), None]
    assert isinstance(outcomes[1].error, ZeroDivisionError)


def test_no_items() -> None:
    assert list(plays_over(2, str, [])) == []


@pytest.mark.parametrize(
    ("arguments", "options", "text"),
    [
        ((-1, str, [1]), {}, "workers: expected a number of processes, not -1"),
        ((True, str, [1]), {}, "workers: expected a number of processes, not True"),
        ((1, 3, [1]), {}, "expected a function, not 3"),
        ((1, str, [1]), {"within": 0}, "within: expected a number of seconds above 0, not 0"),
        ((1, str, [1]), {"within": "x"}, "within: expected a number, not 'x'"),
        ((0, str, [1]), {"dask": "tcp://127.0.0.1:1"}, "workers: 0 is this process alone"),
        ((1, str, [1]), {"dask": 3}, "expected a dask Client"),
        ((1, threading.Lock().acquire, [1]), {}, "the function cannot travel to another process"),
        ((1, str, [threading.Lock()]), {}, "an item cannot travel to another process"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, ...], options: dict[str, Any], text: str) -> None:
    with pytest.raises(LabError, match=text):
        list(plays_over(*arguments, **options))
