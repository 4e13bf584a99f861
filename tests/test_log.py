"""The log of `labkit serve`."""

from __future__ import annotations

import io
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from labkit.core.journal import Journal
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.log import LONGEST, WAITING, Amount, Log
from labkit.providers.mail import Mailbox
from tests import forked_starts
from tests.guard import PATIENCE

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from
LAB_YAML = """
https_port: 0
products: [{id: thermostat, self_registration: false}]
solutions: [{id: acme, path: acme}]
"""
MAIL = """--#ENDPOINT POST /mail
Email.send{to = "ann@example.com", subject = "Hello", text = "see https://acme.example/verify/1 please"}
--#ENDPOINT GET /bad
local x = 1
return x.y.z
--#ENDPOINT GET /own
response.code = 404
Keystor.set{key = "n", value = "1"}
Keystore.get{ky = "n"}
Keystore.get{key = "n"}
User.getUser{id = 9}
"""


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[tuple[LabAddress, list[str]]]:
    """Provide a served lab, and a list that has the lines of its log once it has ended."""
    (folder / "acme" / "endpoints").mkdir(parents=True)
    (folder / "acme" / "endpoints" / "all.lua").write_text(MAIL)
    (folder / "acme" / "assets").mkdir()
    (folder / "acme" / "broken.yaml").write_text("a: [")
    (folder / "lab.yaml").write_text(LAB_YAML)
    lines: list[str] = []
    with forked_starts.serving("--config", folder / "lab.yaml", *options) as (process, ready):
        yield LabAddress("127.0.0.1", ready["https_port"], Path(ready["ca_file"]).read_text()), lines
        process.terminate()
        lines += process.communicate()[1].splitlines()
    assert process.returncode == 0


async def play(address: LabAddress) -> None:
    """Cause refusals, failures, requests without a problem, and a mail."""
    device = FlowClient(address, "thermostat.m2.lab.localhost")
    await device.request("GET", "/timestamp")
    await device.request("POST", "/provision/activate", content="id=t-1")
    await device.request("GET", "/nothing%0Ahere", headers={"X-Platform-CIK": "0" * 40})
    await device.close()
    solution = FlowClient(address, "acme.apps.lab.localhost")
    for method, path in (("POST", "/mail"), ("GET", "/bad"), ("GET", "/own"), ("GET", "/unknown")):
        await solution.request(method, path)
    await solution.close()
    context = address.context()
    context.check_hostname = False
    with (
        socket.create_connection((address.host, address.https_port)) as connection,
        pytest.raises(ssl.SSLError, match=r"SSL|EOF"),
    ):
        context.wrap_socket(connection, server_hostname="elsewhere.example")


async def test_it_has_each_refusal_failed_script_warning_and_mail(tmp_path: Path) -> None:
    with serving(tmp_path) as (address, lines):
        await play(address)
    patterns = [
        "warning acme broken.yaml: ",
        "warning acme endpoints/all.lua:8: no service has the name 'Keystor'; did you mean Keystore?",
        "warning acme endpoints/all.lua:9: Keystore.get: Parameter key is required",
        "404 thermostat/t-1 POST /provision/activate: unknown identity",
        "404 thermostat GET /nothing",
        "mail acme to ann@example.com: Hello https://acme.example/verify/1",
        "script 500 acme GET /bad: ",
        "404 acme GET /unknown: ",
        "call 404 acme Keystor.set in GET /own (endpoints/all.lua:8): there is no service 'Keystor'; did you mean",
        "call 400 acme Keystore.get in GET /own (endpoints/all.lua:9, endpoints/all.lua:10): Parameter key is re",
        "refused edge unknown server name: the server name (SNI) 'elsewhere.example' is not served here",
    ]
    found = [next((each for each in lines if pattern in each), None) for pattern in patterns]
    assert None not in found, lines
    assert len(lines) == len(patterns), lines
    assert "all.lua:5:" in str(found[6])
    assert "0" * 40 not in "".join(lines)


async def test_requests_and_nothing_are_logged_on_request(tmp_path: Path) -> None:
    with serving(tmp_path / "a", "--log", "requests") as (address, lines):
        await play(address)
    assert [each for each in lines if each.endswith("200 thermostat GET /timestamp")]
    assert [each for each in lines if each.endswith("404 acme GET /own")]
    assert not [each for each in lines if " call " in each and "did you mean" not in each]
    with serving(tmp_path / "b", "--log", "none") as (address, lines):
        await play(address)
    assert lines == []
    with serving(tmp_path / "c", "--log", "all") as (address, lines):
        await play(address)
    assert [each for each in lines if "call 200 acme Email.send" in each]


# ---- the writer


class Stuck(io.StringIO):
    """A stream whose reader blocks until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.free = threading.Event()

    def write(self, text: str) -> int:
        self.free.wait(PATIENCE)
        return super().write(text)


def logged(stream: io.StringIO, amount: Amount = "problems") -> tuple[Log, Journal]:
    journal = Journal(lambda: 1_767_225_600_000_000)
    return Log(stream, amount).follow(journal, Mailbox(time.monotonic)), journal


def test_a_line_is_escaped_and_limited() -> None:
    stream = io.StringIO()
    log, journal = logged(stream)
    with log:
        journal.record_refusal("wrong host", "Host 'a\r\n2026 refused\x1b[2J\u2028'" + "x" * 10_000)
    [lines] = stream.getvalue().splitlines()
    assert lines.startswith("2026-01-01 00:00:00 refused edge wrong host: Host 'a 2026 refused [2J '")
    assert len(lines) < LONGEST + 40


def test_a_failing_operation_is_a_problem_and_a_refusing_one_is_none() -> None:
    stream = io.StringIO()
    log, journal = logged(stream)
    with log:
        refusal: dict[str, object] = {"error": {"type": "QueryError", "error": "no such key", "status": 404}}
        journal.record("call", "acme", "Shop.sell", status=404, detail=refusal)
        broken: dict[str, object] = {
            "error": {"error": "Shop.sell: KeyError: 'x'"},
            "trace": ["shop.py:1 in sell"],
        }
        journal.record("call", "acme", "Shop.sell", status=500, detail=broken)
    assert stream.getvalue() == "2026-01-01 00:00:00 call 500 acme Shop.sell: Shop.sell: KeyError: 'x'\n"


async def test_a_call_of_a_missing_service_has_its_place_and_repetitions_are_counted(tmp_path: Path) -> None:
    with serving(tmp_path) as (address, lines):
        client = FlowClient(address, "acme.apps.lab.localhost")
        for _ in range(25):
            await client.request("GET", "/own")
        await client.close()
    found = [each.partition(" call ")[2] for each in lines if "Keystor.set" in each and " call " in each]
    where = "404 acme Keystor.set in GET /own (endpoints/all.lua:8)"
    assert found == [
        f"{where}: there is no service 'Keystor'; did you mean Keystore?",
        f"{where}: the same for the 10th time",
    ]


@pytest.mark.parametrize(("amount", "said"), [("problems", [1, 10, 100]), ("all", [*range(1, 101)])])
def test_calls_with_a_mistake_are_counted_for_each_handler(amount: Amount, said: list[int]) -> None:
    stream = io.StringIO()
    log, journal = logged(stream, amount)
    detail: dict[str, object] = {"error": {"error": "Service X Not Found"}, "hint": "there is no service 'X'"}
    with log:
        runs = [journal.record("script", actor, "GET /a: b") for actor in ("acme", "other")]
        for number in range(100):
            for run, actor in zip(runs, ("acme", "other"), strict=True):
                journal.record("call", actor, "X.y", status=404, cause=run, detail={**detail, "n": number})
    calls = [each for each in stream.getvalue().splitlines() if " call " in each]
    assert len(calls) == 2 * len(said)
    assert calls[0].endswith("call 404 acme X.y in GET /a: b: there is no service 'X'")
    assert calls[1].endswith("call 404 other X.y in GET /a: b: there is no service 'X'")


def test_messages_to_handsets_are_logged() -> None:
    stream = io.StringIO()
    log, journal = logged(stream)
    with log:
        journal.record("delivery", "handset/+15550001", "sms delivered")
    assert stream.getvalue() == "2026-01-01 00:00:00 delivery handset/+15550001 sms delivered\n"


def test_a_blocked_reader_delays_nothing_and_dropped_lines_are_counted() -> None:
    stream = Stuck()
    log, journal = logged(stream)
    with log:
        for number in range(WAITING + 500):
            journal.record_refusal("wrong host", str(number))
        stream.free.set()
        while "lines left out" not in stream.getvalue():
            journal.record_refusal("wrong host", "later")
            time.sleep(0.01)
    lines = stream.getvalue().splitlines()
    left_out = sum(int(each.split()[1]) for each in lines if each.startswith("…"))
    first = [each for each in lines if each.rpartition(" ")[2].isdecimal()]
    assert len(first) + left_out >= WAITING + 500
    assert left_out >= 498


def test_a_closed_stream_ends_only_the_log() -> None:
    stream = io.StringIO()
    log, journal = logged(stream)
    with log:
        stream.close()
        journal.record_refusal("wrong host", "x")
    journal.record_refusal("wrong host", "nobody hears this")


def test_a_record_is_logged_once_it_is_complete() -> None:
    stream = io.StringIO()
    log, journal = logged(stream)
    with log:
        entry = journal.open("request", "thermostat/t-1", "GET /x")
        entry.status, entry.detail = 401, {"reason": "no credentials"}
        journal.end(entry)
    assert stream.getvalue() == "2026-01-01 00:00:00 401 thermostat/t-1 GET /x: no credentials\n"
