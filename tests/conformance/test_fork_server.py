"""The fork server: isolated processes that start at once, and none of which outlives its server."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit.conformance.fork_server import Ended, ForkServer, Message, ServerError

CALLS = """
import os, signal, subprocess, sys, time

prepared, seen = 0, []

def prepare():
    global prepared
    prepared += 1
    print("ready")

def state(argument, send):
    seen.append(argument)
    send([prepared, seen, os.getpid()])

def talk(argument, send):
    for each in range(argument):
        send({"n": each, "text": "ä\\n" * 50_000})

def read(argument, send):
    print("printed")
    send(sys.stdin.read())

def end(argument, send):
    print("last words", flush=True)
    if argument == "raise":
        raise ValueError("no good")
    if argument == "exit":
        os._exit(3)
    if argument == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)

def tick(argument, send):
    for each in range(argument):
        time.sleep(0.3)
        send(each)

def hang(argument, send):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    send([os.getpid(), child.pid])
    time.sleep(600)
"""


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module with the functions above, which the server can import."""
    (tmp_path / "labkit_calls.py").write_text(CALLS, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return "labkit_calls"


@pytest.fixture
def server(calls: str) -> Iterator[ForkServer]:
    with ForkServer(calls) as server:
        yield server


def test_each_call_has_the_prepared_state_and_nothing_of_other_calls(server: ForkServer, calls: str) -> None:
    events = list(server.run(f"{calls}:state", ["a", "b", "c"]))
    said = [each for each in events if isinstance(each, Message)]
    assert sorted(each.message[:2] for each in said) == [[1, ["a"]], [1, ["b"]], [1, ["c"]]]
    assert [each.message[1] for each in said] == [[each.argument] for each in said]
    assert len({each.message[2] for each in said}) == 3
    for argument in ("a", "b", "c"):  # two run concurrently, so either may end first
        [_, last] = [each for each in events if each.argument == argument]
        assert last == Ended(argument)
    [again, _] = server.run(f"{calls}:state", ["d"])
    assert isinstance(again, Message)
    assert again.message[:2] == [1, ["d"]]


def test_messages_of_calls_arrive_whole_and_in_order(server: ForkServer, calls: str) -> None:
    found: dict[int, list[int]] = {3: [], 5: []}
    for event in server.run(f"{calls}:talk", found):
        if isinstance(event, Message):
            assert event.message["text"] == "ä\n" * 50_000
            found[event.argument].append(event.message["n"])
    assert found == {3: [0, 1, 2], 5: [0, 1, 2, 3, 4]}


def test_input_and_output_of_calls_are_separate_from_the_server(server: ForkServer, calls: str) -> None:
    assert list(server.run(f"{calls}:read", [1])) == [Message(1, ""), Ended(1, "", "printed")]


def test_the_number_of_concurrent_processes_is_limited(server: ForkServer, calls: str) -> None:
    kinds = [type(each) for each in server.run(f"{calls}:state", range(3), processes=1)]
    assert kinds == [Message, Ended] * 3


def test_a_call_that_has_ended_before_the_request_is_sent_out_is_reported(
    server: ForkServer, calls: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def send(connection: socket.socket, *arguments: Any) -> int:
        sent = send_fds(connection, *arguments)
        closed = select.poll()
        closed.register(connection, select.POLLRDHUP)
        assert closed.poll(10_000)
        return sent

    send_fds = socket.send_fds
    monkeypatch.setattr(socket, "send_fds", send)
    assert [type(each) for each in server.run(f"{calls}:state", [1])] == [Message, Ended]


def test_the_end_of_each_call_is_reported_and_the_others_continue(server: ForkServer, calls: str) -> None:
    ended = {each.argument: each for each in server.run(f"{calls}:end", ["raise", "exit", "crash", "well"])}
    assert all(isinstance(each, Ended) for each in ended.values())
    errors = {name: each.error for name, each in ended.items() if isinstance(each, Ended)}
    assert errors == {
        "raise": "exit status 1",
        "exit": "exit status 3",
        "crash": "signal SIGSEGV",
        "well": "",
    }
    printed = {name: each.printed.splitlines() for name, each in ended.items() if isinstance(each, Ended)}
    assert printed["raise"][0] == printed["crash"][0] == "last words"
    assert printed["raise"][-1] == "ValueError: no good"


def test_an_unknown_function_is_reported(server: ForkServer, calls: str) -> None:
    [event] = server.run(f"{calls}:nothing", [1])
    assert isinstance(event, Ended)
    assert event.error == "exit status 1"
    assert "has no attribute 'nothing'" in event.printed


def test_a_call_that_hangs_is_killed_with_its_child_processes(server: ForkServer, calls: str) -> None:
    said, ended = server.run(f"{calls}:hang", ["a"], within=1.0)
    assert ended == Ended("a", "killed after 1 s", "")
    assert isinstance(said, Message)
    until_ended(said.message)
    assert len(list(server.run(f"{calls}:state", ["b"]))) == 2


def test_only_a_call_without_messages_is_killed_for_silence(server: ForkServer, calls: str) -> None:
    said, ended = server.run(f"{calls}:hang", ["a"], silence=1.0)
    assert ended == Ended("a", "killed after 1 s of silence", "")
    assert isinstance(said, Message)
    until_ended(said.message)
    events = list(server.run(f"{calls}:tick", [6], silence=1.0))
    assert [each.message for each in events if isinstance(each, Message)] == [*range(6)]
    assert events[-1] == Ended(6, "", "")


def test_a_closed_server_leaves_no_process_behind(calls: str) -> None:
    with ForkServer(calls) as server:
        said = next(server.run(f"{calls}:hang", ["a"]))
    assert isinstance(said, Message)
    until_ended(said.message)


def test_a_caller_that_stops_leaves_no_process_behind(server: ForkServer, calls: str) -> None:
    events = server.run(f"{calls}:hang", ["a"])
    said = next(events)
    del events
    assert isinstance(said, Message)
    until_ended(said.message)


def test_where_the_server_was_killed_callers_get_an_error(server: ForkServer, calls: str) -> None:
    events = server.run(f"{calls}:hang", ["a", "b", "c"])
    said = [next(events), next(events)]
    server._process.kill()
    with pytest.raises(ServerError, match="signal SIGKILL"):
        list(events)
    for each in said:
        assert isinstance(each, Message)
        until_ended(each.message)


def test_a_server_that_cannot_start_reports_the_reason(calls: str) -> None:
    with ForkServer("labkit.nowhere") as server, pytest.raises(ServerError, match="No module named"):
        list(server.run(f"{calls}:state", ["a"]))


def until_ended(processes: list[int]) -> None:
    """Return once the processes have ended; the time limit of pytest ends a vain wait."""
    for process in processes:
        while _runs(process):
            time.sleep(0.01)


def _runs(process: int) -> Any:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
