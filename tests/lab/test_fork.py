"""Futures of a lab in forks: equal to the lab's own future, apart from it, and nothing is left of them."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, TakenError
from labkit.core.forks import AVAILABLE, call_in_forks
from labkit.fleet.behaviours import Sensor
from tests.rig import ran

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="this system cannot fork")
SCRIPT = (
    "local n = (Keystore.get{key = 'n'}.value or 0) + 1 Keystore.set{key = 'n', value = n} "
    "seen = (seen or 0) + 1 return {n = n, seen = seen, name = request.parameters.name}"
)
CONNECTION = re.compile(r'"connection_id": "\w+"')  # a new one after a fork, which ends all connections
NAMES = ("acme", "acme-2")


def with_a_past(**options: Any) -> Lab:
    """Return a lab of two tenants in which something is under way: faults, a late event, a restart, a session."""
    lab = Lab(seed=7, **options)
    for name in NAMES:
        product = lab.product(f"thing-{name}", resources={"temperature": "number", "message": "string"})
        solution = lab.solution(name, products=[product])
        solution.on("device", "datapoint", lua="Keystore.command{key = data.device_sn, command = 'incr'}")
        solution.route("GET", "/count", lua=SCRIPT)
        product.device("t-'1\u00f8").activate().write(temperature=1)
        assert solution.get("/count?name=\u00e9%20%26").json()["n"] == 1
    lab.faults.add("POST /onep:v1/stack/alias", status=503, every=2, name="half")
    lab.faults.add("device datapoint", late=40, first=3, name="late")
    lab.faults.add("Keystore.set", status=500, after=50, seconds=30, name="outage")
    lab.product("thing-acme").device("t-'1\u00f8").write(temperature=2)
    lab.settle()
    return lab


def live(lab: Lab, minutes: float) -> list[object]:
    """Let both tenants live for a while; return what they saw."""
    seen: list[object] = []
    for name in NAMES:
        product, solution = lab.product(f"thing-{name}"), lab.solution(name)
        for number in range(4):
            answer = product.device("t-'1\u00f8").request(
                "POST", "/onep:v1/stack/alias", content=f"temperature={number}"
            )
            seen.append(answer.status_code)
            lab.clock.advance(minutes=minutes / 4)
            seen.append(solution.get("/count").text)
    lab.settle()
    return seen


@pytest.fixture
def lab() -> Iterator[Lab]:
    with with_a_past() as made:
        yield made


def open_files() -> set[str]:
    """Return the open files of this process, except the folder that this lists."""
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            found.add(f"{each.name} {re.sub(r'[0-9]+', '', str(each.readlink()))}")
    return found


def children() -> set[str]:
    """Return the processes that this one has started and not waited for."""
    tasks = Path("/proc/self/task").iterdir()
    return {each for task in tasks for each in (task / "children").read_text().split()}


def test_a_future_is_what_the_lab_itself_would_do(lab: Lab) -> None:
    records = len(lab.journal)
    futures = lab.fork(live, over=[4.0, 8.0, 4.0])
    assert futures[0].journal == futures[2].journal != futures[1].journal
    assert len(lab.journal) == records
    url = lab.solution("acme").url()
    assert live(lab, 4.0) == futures.results[0] == futures.results[2]
    assert lab.journal.canonical(since=records) == futures[0].journal
    with with_a_past() as other:  # one that never forked
        assert live(other, 4.0) == futures.results[0]
        assert CONNECTION.sub("", other.journal.canonical()) == CONNECTION.sub("", lab.journal.canonical())
    assert lab.solution("acme").url() == url


def test_a_future_has_the_handles_and_variables_of_the_past(lab: Lab) -> None:
    device = lab.product("thing-acme").device("t-'1\u00f8")
    session = lab.solution("acme").session()
    token = device.credentials.token

    def future(lab: Lab, value: int) -> tuple[object, ...]:
        device.write({"message": f"\u00e9{value}"})
        return (
            device.read("message"),
            device.credentials.token == token,
            session.get("/count").status_code,
        )

    lab.faults.clear()
    assert lab.fork(future, over=[5]).results == [({"message": "\u00e95"}, True, 200)]
    assert device.read("message") == {}


def test_nothing_is_left_of_futures(lab: Lab) -> None:
    lab.ca_file.read_text()
    lab.fork(live, over=[1.0])
    left = children(), open_files(), threading.active_count()
    lab.fork(lambda lab, value: lab.close(), over=range(3), workers=3)
    lab.fork(lambda lab, value: 1 / value, over=[0, 0], check=False)
    assert (children(), open_files(), threading.active_count()) == left
    assert lab.ca_file.exists()
    assert lab.solution("acme").get("/count").status_code == 200


class TestErrors:
    def test_an_error_is_raised_with_its_cause_once_all_have_ended(self, lab: Lab, tmp_path: Path) -> None:
        def future(lab: Lab, value: int) -> float:
            (tmp_path / str(value)).touch()
            return 1 / value

        with pytest.raises(
            LabError, match=r"^the future of 0 failed: ZeroDivisionError: division by zero"
        ) as raised:
            lab.fork(future, over=[0, 1, 2], workers=1)
        [note] = raised.value.__notes__
        assert "return 1 / value" in note
        assert "forks.py" not in note
        assert {each.name for each in tmp_path.iterdir()} == {"0", "1", "2"}

    def test_errors_can_be_returned(self, lab: Lab) -> None:
        futures = lab.fork(lambda lab, value: 1 / value, over=[0, 2], check=False)
        assert repr(futures) == "<2 futures, 1 failed>"
        assert futures.results == [None, 0.5]
        assert isinstance(futures[0].error, ZeroDivisionError)
        assert list(futures.frame()["error"]) == ["ZeroDivisionError: division by zero", ""]

    def test_a_result_that_cannot_be_sent(self, lab: Lab) -> None:
        with pytest.raises(
            LabError, match=r"a function cannot be sent to the other process .*: return plain data"
        ):
            lab.fork(lambda lab, value: lambda: value, over=[1])

    def test_a_process_that_dies(self, lab: Lab) -> None:
        with pytest.raises(LabError, match=r"the future of 1 failed: its process ended with exit status 3"):
            lab.fork(lambda lab, value: os._exit(3), over=[1])
        with pytest.raises(LabError, match=r"its process ended with signal SIGKILL"):
            lab.fork(lambda lab, value: os.kill(os.getpid(), 9), over=[1])

    def test_one_that_takes_too_long(self, lab: Lab) -> None:
        [future] = lab.fork(lambda lab, value: threading.Event().wait(), over=[1], within=0.3, check=False)
        assert str(future.error) == "was ended after 0.3 s of real time"

    def test_an_error_that_cannot_be_sent_comes_as_its_text(self, lab: Lab) -> None:
        class OwnError(Exception):
            pass

        def future(lab: Lab, value: int) -> None:
            raise OwnError("gone")

        [ended] = lab.fork(future, over=[1], check=False)
        assert (type(ended.error), str(ended.error)) == (LabError, "OwnError: gone")


class TestRefusals:
    def test_an_open_poll(self, lab: Lab) -> None:
        device = lab.product("thing-acme").device("t-'1\u00f8")
        poll = device.start_poll("temperature", timeout=30)
        with pytest.raises(LabError, match=r"^fork: requests or calls of thing-acme/t-'1\u00f8 are waiting"):
            lab.fork(live, over=[1.0])
        lab.faults.clear()
        lab.clock.advance(30)
        assert poll.result() is None
        assert len(lab.fork(live, over=[1.0])) == 1

    def test_a_story(self, lab: Lab) -> None:
        with lab.story(), pytest.raises(LabError, match=r"^fork: the lab is in a story"):
            lab.fork(live, over=[1.0])

    def test_a_fleet_that_runs(self) -> None:
        with Lab(speed=1) as lab:
            fleet = lab.product("thing", resources={"temperature": "number"}).fleet(1, Sensor)
            run = fleet.start()
            with pytest.raises(TakenError, match=r"^fork: a fleet of 'thing' is running: wait"):
                lab.fork(live, over=[1.0])
            run.stop()
            run.wait()
            assert lab.fork(lambda lab, value: value, over=[1.0]).results == [1.0]

    @pytest.mark.parametrize(
        ("wrong", "text"),
        [
            ({"workers": 0}, "workers: expected a whole number above 0, not 0"),
            ({"within": -1}, "within: expected"),
        ],
    )
    def test_wrong_arguments(self, lab: Lab, wrong: Any, text: str) -> None:
        with pytest.raises(LabError, match=text):
            lab.fork(live, over=[1.0], **wrong)


def test_futures_leave_the_data_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "lab.db"
    with with_a_past(data=path) as lab:
        before = path.read_bytes(), Path(f"{path}-wal").read_bytes()

        def future(lab: Lab, value: float) -> tuple[object, int]:
            seen = live(lab, value)
            lab.restart()
            count = len(lab.sql("select * from datapoint"))
            lab.close()
            return seen, count

        futures = lab.fork(future, over=[4.0, 4.0])
        assert (path.read_bytes(), Path(f"{path}-wal").read_bytes()) == before
        assert futures.results[0] == futures.results[1]
        assert live(lab, 4.0) == futures.results[0][0]
        assert len(lab.sql("select * from datapoint")) == futures.results[0][1]
    with sqlite3.connect(path) as raw:
        assert raw.execute("pragma integrity_check").fetchone() == ("ok",)


def test_a_lab_without_power_gets_it_back_in_each_future(lab: Lab) -> None:
    lab.faults.clear()
    lab.restart(down=100)

    def future(lab: Lab, value: float) -> int:
        lab.clock.advance(value)
        return lab.solution("acme").get("/count").status_code

    [early, late] = lab.fork(future, over=[99, 100], check=False)
    assert type(early.error).__name__ == "ConnectError"
    assert late.result == 200
    lab.clock.advance(100)
    assert lab.solution("acme").get("/count").status_code == 200


def test_forks_run_side_by_side_and_come_as_they_end() -> None:
    def call(seconds: float) -> float:
        time.sleep(seconds)
        return seconds

    ended = call_in_forks([lambda: call(0.4), lambda: call(0.0), lambda: call(0.0)], workers=2)
    assert [each.number for each in ended] == [1, 2, 0]


def test_without_addresses_of_its_own_a_future_has_free_ports(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.lifecycle.suspension.can_bind", lambda host, port: False)
    lab.faults.clear()

    def future(lab: Lab, value: float) -> tuple[str, int, list[object]]:
        return lab.address.host, lab.address.https_port, live(lab, value)

    [[host, port, seen]] = lab.fork(future, over=[4.0]).results
    assert (host, port != lab.address.https_port) == ("127.0.0.1", True)
    assert live(lab, 4.0) == seen


FORKED = """
import os, sys
from labkit import Lab, LabError
lab = Lab(seed=7, data=sys.argv[1])
product = lab.product("thing", resources={"n": "number"})
device = product.device("d").activate()
poll = device.start_poll("n", timeout=30)
if not (child := os.fork()):
    calls = [lab.settle, poll.result, lambda: poll.done, lambda: device.write(n=1), lambda: lab.fork(print, over=[1])]
    for call in calls:
        try:
            print(call())
        except LabError as error:
            print(error)
    with Lab(seed=8) as own, lab:
        print(own.product("thing", resources={"n": "number"}).device("d").activate().read("n"), flush=True)
    del lab, product, device, poll, call, calls
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
device.write(n=2)
print(poll.result())
lab.close()
"""


def test_in_a_process_forked_by_others_each_call_says_so_and_the_lab_is_unharmed(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, str(tmp_path / "lab.db")]
    ended = ran(*command)
    assert ended.stderr == ""
    *told, own, status, value = ended.stdout.splitlines()
    [text] = set(told)
    assert text.startswith(
        "this process was forked from the one in which the lab runs: use lab.fork() there "
    )
    assert (len(told), own, status, value) == (5, "{}", "7", "2")
