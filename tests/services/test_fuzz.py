"""Random calls of every operation: no answer is a 5xx that is not meant, and a refused call changes nothing."""

from __future__ import annotations

import copy
import re
import shutil
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Connection

from labkit import Lab, Solution
from labkit.core.records import Record
from labkit.reference import services
from labkit.services.operation import Operation
from labkit.storage.database import driver, execute
from labkit.storage.schema import metadata
from tests.lab.data.whole_lab import PASSWORD, fill, whole_lab
from tests.sizes import size

OPERATIONS = [each for service in services.platform().services for each in service.operations.values()]
TOGETHER = 100  # calls of one lab: after more of them little is left that others could reach
MEANT = re.compile(
    "Websocket [0-9a-f]+ has ended"  # SOL-WS-5
    "|^Drawn.take: "  # the test's own, whose result may be too deep
    "|cannot be reached|did not answer in time"  # Http: the other server's fault
)
UNSEEN = {"lab_state", "signing_key"}  # the time of the last commit; keys, which are made when first needed
CHANGES = {"User.getOauthToken"}  # also when refused: the second use of a code ends its tokens
DEEP: list[Any] = []
for _ in range(200):
    DEEP = [DEEP]
TEXTS = [
    *("", " ", "0", "-1", "1e9", "a" * 70_000, "é", "e\u0301", "\ud800", "\udcff", "\0", "\x1b[0m", "\ufeff"),
    *("%s{}", "';--", '"', "\\", "*", "[", "(", "..", "a/b?c#d", "\U0001f600", "a\r\nb: c", "null", "\u2028"),
]
ODD: list[Any] = [
    *(None, True, False, 0, -1, 1, 0.5, -0.0, 2**31, 2**53 + 1, -(2**63), 2**64, 10**400, 1e308, 1e-320),
    *(float("nan"), float("inf"), b"\xff", b"a", [], {}, [[]], [None], DEEP, [1, "a"] * 11_000),
    *({"": 1}, {"a": None}, {"a": {"b": []}}, {"a.b": "\0"}, *TEXTS),
]
ITEMS = ["list", "last", "set", "hash", 0, 1, -1, "LIMIT", "COUNT", "EX", "a", "(1", "-", "+"]
ROLE = {"role_id": "keeper", "parameters": [{"name": "sn", "value": "t001"}]}
PROCEDURES = "create drop map activate lookup listing info read write writegroup record recordbatch flush"
CHILD = [{"alias": "t-001"}, {"alias": "x"}]
KNOWN: dict[str, list[Any]] = {  # arguments by name that reach what the lab has
    "id": [1, 1, 2, "1"],
    "identity": ["t-001", "t-002", "t-900"],
    "pid": ["thermostat", "thermostat", "lamp"],
    "calls": [[{"id": 1, "procedure": each, "arguments": CHILD}] for each in PROCEDURES.split()],
    "email": ["ann@example.com"],
    "password": [PASSWORD],
    "role_id": ["keeper"],
    "roles": [[ROLE]],
    "perm_id": ["GET/devices/{sn}"],
    "end_point": ["devices/{sn}"],
    "parameters": [["sn::t001"]],
    "parameter_value": ["t001"],
    "timer_id": ["weekly", "other"],
    "key": ["last", "list", "colour"],
    "keys": [["colour"], ["last", "list"]],
    "event": ["report", "changed"],
    "service": ["scripts", "Keystore", "Timer"],
    "subscriber_id": ["acme"],
    "target": ["acme"],
    "BindingType": ["sms"],
    "Address": ["+15005550001"],
    "args": [[], [0, -1], ["a"], ["a", 1, "b"]],
}


def choices(hint: Any) -> Iterator[Any]:
    """Yield the values of each Literal in a type."""
    if typing.get_origin(hint) is typing.Literal:
        yield from typing.get_args(hint)
    else:
        for each in typing.get_args(hint):
            yield from choices(each)


def spots(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each container within a value with each key or index of it."""
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(each, dict | list):
            yield from spots(each)


def draw(pick: Random, known: dict[str, list[Any]]) -> tuple[Operation, dict[str, Any]]:
    """Return an operation, and arguments that are valid but for a few changes."""
    operation = pick.choice(OPERATIONS)
    given = copy.deepcopy(dict(services.example(operation)))
    for name, hint in operation.types.items():
        names = operation.choices[name].names if name in operation.choices else ()
        if (usual := [*known.get(name, ()), *choices(hint), *names]) and pick.random() < 0.7:
            given[name] = copy.deepcopy(pick.choice(usual))
    for _ in range(pick.choice([0, 0, 1, 1, 1, 2, 3])):
        change(pick, operation, given)
    return operation, given


def change(pick: Random, operation: Operation, given: dict[str, Any]) -> None:
    """Remove, replace or spoil an argument, or a part of one."""
    inside, key = pick.choice([*spots(given), (given, pick.choice([*operation.attributes, "extra"]))])
    value = inside[key] if inside is not given or key in given else None
    kind = pick.random()
    if kind < 0.1 and value is not None:
        del inside[key]
    elif kind < 0.4 and isinstance(value, str) and value:
        at = pick.randrange(len(value))
        inside[key] = value[:at] + pick.choice([*TEXTS, value]) + value[at + pick.randrange(3) :]
    else:
        inside[key] = copy.deepcopy(pick.choice([*ODD, *ITEMS, [value], {"a": value}, str(value)]))


def called(solution: Solution, name: str, given: object) -> Any:
    service, _, operation = name.partition(".")
    return solution.call(service, operation, given)


class Fuzzed:
    """A lab with something in each of its parts. failed: what went wrong in it; seen: statuses of the calls."""

    def __init__(self, data: Path, kept: dict[str, Any], seed: int, seen: set[int | None]) -> None:
        self.lab, _, acme = whole_lab(data, http_hosts=["acme.apps.lab.localhost"])
        weather = self.lab.solution("weather")
        weather.publish(operations=[{"name": "report"}], events=[{"name": "changed"}])
        acme.on("weather", "changed", lua="return 1")
        acme.on("scripts", "report", lua="return {data}")
        acme.route("POST", "/x", lua="return request.body")
        acme.route("WEBSOCKET", "/live", lua="websocketInfo = websocketInfo")
        self.sockets = [acme.websocket("/live") for _ in range(2)]
        self.lab.service("Drawn", take=lambda: {"arguments": self.given})
        self.pick, self.solutions, self.seen = Random(seed), [acme, acme, acme, weather], seen
        self.known = KNOWN | {name: [each] for name, each in kept["code"].items()}
        self.known |= {"token": [kept["token"]], "url": [acme.url("/x")], "socket_id": acme.Websocket.list()}
        self.known["BindingSid"] = [each["sid"] for each in acme.Notify.listBinding()["bindings"]]
        self.given: dict[str, Any] = {}
        self.failed: list[str] = []
        self.changes, self.contents = -1, 0
        self.context = self.lab._runtime.control._platform.context  # type: ignore[attr-defined]
        self.context.journal.watch(self.note)

    def note(self, record: Record) -> None:
        if record.kind == "call":
            self.seen.add(record.status)
        is_error = record.kind == "error" or (record.kind == "call" and (record.status or 0) >= 500)
        if is_error and not MEANT.search(text := f"{record.summary}: {record.detail}"):
            self.failed.append(text)

    def state(self) -> int:
        """Return a digest of the data file, which is read again once a statement has changed anything."""

        def read(connection: Connection) -> int:
            if (changes := driver(connection).total_changes) != self.changes:
                select = [f"SELECT * FROM {each}" for each in metadata.tables.keys() - UNSEEN]
                rows = [execute(connection, each).fetchall() for each in select]
                self.changes, self.contents = changes, hash(repr(rows))
            return self.contents

        digest: int = self.lab._runtime.run(self.context.database.read, read)
        return digest

    def play(self) -> None:
        """Make a call from Python or in a script. Raises AssertionError if something failed."""
        operation, self.given = draw(self.pick, self.known)
        name, solution = f"{operation.service}.{operation.name}", self.pick.choice(self.solutions)
        self.lab.settle()
        before = self.state()
        if self.pick.random() < 0.5:
            result = solution.run(f"return {name}(Drawn.take().arguments)")
        else:
            result = called(solution, name, self.given)
        refused = isinstance(result, dict) and result.get("type") in ("QueryError", "ServerError")
        if refused and self.state() != before and name not in CHANGES:
            self.failed.append("a refused call has changed something")
        assert self.failed == [], f"{name}({self.given!r:.2000})"


@pytest.mark.timeout(size(300, 3000))
@pytest.mark.filterwarnings("ignore")
def test_each_call_gets_its_result_or_a_refusal_that_changes_nothing(tmp_path: Path) -> None:
    data, seen = tmp_path / "lab.db", set[int | None]()
    parts = whole_lab(tmp_path / "filled.db")
    with parts[0]:
        kept = fill(*parts)
    for seed in range(size(4, 100)):
        shutil.copy(tmp_path / "filled.db", data)
        fuzzed = Fuzzed(data, kept, seed, seen)
        with fuzzed.lab:
            for _ in range(TOGETHER):
                fuzzed.play()
            fuzzed.lab.clock.advance(seconds=10)
            assert len(fuzzed.lab.journal.frame()) > TOGETHER
        assert fuzzed.failed == []
        with Lab(seed=7, data=str(data)) as again:  # what was stored can be read
            again.solution("acme")
            again.clock.advance(seconds=10)
            assert again.journal.select("error") == []
    assert {200, 400, 401, 403, 404, 409} <= seen


HUGE = 10**5000  # more digits than Python writes
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("Tsdb.query", {"metrics": 10**400}),
    ("Tsdb.listTags", {"limit": HUGE}),
    ("Tsdb.query", {"metrics": "a", "fill": 10**400}),
    ("Device2.listIdentities", {"pid": "lamp", "offset": 2**63}),
    ("Device2.setIdentityState", {"pid": "lamp", "identity": "l-1", "level": HUGE}),
    ("Device2.addGatewayResource", {"pid": "lamp", "alias": "a", "allowed": [b"a"]}),
    ("Keystore.set", {"key": "a", "value": HUGE}),
    ("Config.setParameters", {"service": "Tsdb", "parameters": {"a": b"a"}}),
    ("Config.setParameters", {"service": "Tsdb", "parameters": {"a": DEEP}}),
]


@pytest.fixture(scope="module")
def acme() -> Iterator[Solution]:
    with Lab(seed=7) as lab:
        settable = [("level", "number"), ("name", "string")]
        lamp = lab.product(
            "lamp", resources={name: {"format": of, "settable": True} for name, of in settable}
        )
        lamp.allow("l-1")
        acme = lab.solution("acme", products=lamp)
        acme.User.createUser(email="ann@example.com", name="Ann", password=PASSWORD)
        yield acme
        assert len(lab.journal.frame())  # which has the arguments, too


@pytest.mark.parametrize(("name", "given"), REFUSED, ids=[name for name, _ in REFUSED])
def test_values_beyond_what_is_stored_are_refused(acme: Solution, name: str, given: dict[str, Any]) -> None:
    assert dict(called(acme, name, given))["status"] == 400


LAMP = {"pid": "lamp", "identity": "l-1"}
TAG, TAGS = {"name": "a", "value": "b"}, ("Device2.getIdentityTag", LAMP)
HASH = {"key": "hash", "command": "hgetall"}
POINT = {"metrics": {"a": 1}, "tags": {"b": "c"}}
TRIPS: list[tuple[str, Callable[[str], dict[str, Any]], str, dict[str, Any]]] = [
    ("Keystore.set", lambda text: {"key": "a", "value": text}, "Keystore.get", {"key": "a"}),
    ("Keystore.set", lambda text: {"key": text, "value": 1}, "Keystore.list", {}),
    ("Keystore.command", lambda text: HASH | {"command": "hset", "args": [text, 1]}, "Keystore.command", HASH),
    ("User.createUserData", lambda text: {"id": 1, "a": text}, "User.listUserData", {"id": 1}),
    ("Tsdb.write", lambda text: POINT | {"metrics": {"a": text}}, "Tsdb.recent", {**POINT, "metrics": "a"}),
    ("Tsdb.write", lambda text: POINT | {"tags": {"of": text}}, "Tsdb.listTags", {}),
    ("Timer.sendAfter", lambda text: {"duration": 1, "message": {"a": text}}, "Timer.list", {}),
    ("Timer.sendAfter", lambda text: {"duration": 1, "timer_id": text}, "Timer.list", {}),
    (*("Device2.addIdentityTag", lambda text: LAMP | {"tags": TAG | {"name": text}}), *TAGS),
    (*("Device2.addIdentityTag", lambda text: LAMP | {"tags": TAG | {"value": text}}), *TAGS),
    ("Device2.setIdentityState", lambda text: LAMP | {"name": text}, "Device2.getIdentityState", LAMP),
]  # fmt: skip


@pytest.mark.parametrize(("write", "given", "read", "of"), TRIPS, ids=[each[0] for each in TRIPS])
def test_a_text_is_read_as_it_was_written_or_refused(
    acme: Solution, write: str, given: Callable[[str], dict[str, Any]], read: str, of: dict[str, Any]
) -> None:
    for text in TEXTS:
        result = called(acme, write, given(text))
        if isinstance(result, dict) and "error" in result:
            assert result["status"] == 400, result
            continue
        found = [each for inside, key in spots(called(acme, read, of)) for each in (key, inside[key])]
        # bytes that are not UTF-8 are U+FFFD in all answers of Keystore
        assert (text.replace("\udcff", "\ufffd") if read.startswith("Keystore") else text) in found
