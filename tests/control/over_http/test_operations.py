"""Operations over HTTP: arguments, results and refusals."""

from __future__ import annotations

import asyncio
import base64
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit.control.control import Control
from labkit.control.lab import DatabaseControl
from labkit.control.over_http.listener import control_listener
from labkit.control.over_http.operations import ControlOperation, operations
from labkit.platform import Platform
from labkit.settings import ControlSettings, LabSettings
from labkit.snapshots import states
from tests.cases import cases
from tests.control.over_http.caller import Caller


async def test_a_product_a_solution_and_a_call(caller: Caller) -> None:
    product = await caller.result(
        "products.ensure", settings={"id": "thermostat", "resources": {"temperature": "number"}}
    )
    assert product["domain"] == "thermostat.m2.lab.localhost"
    lua = "--#ENDPOINT GET /a\nreturn Keystore.get({key = 'a'}).value"
    files = {"endpoints/a.lua": lua}
    solution = await caller.result("solutions.ensure", settings={"id": "acme"}, files=files)
    assert solution["id"] == "acme"
    value = "é \u2028 \U0001f600"
    called = {"solution": "acme", "service": "Keystore", "operation": "set"}
    assert (await caller.result("services.call", **called, parameters={"key": "a", "value": value}))[
        "notes"
    ] == []
    [route] = await caller.result("solutions.routes", id="acme")
    assert (route["method"], route["path"]) == ("GET", "/a")
    got = await caller.result(
        "services.call", solution="acme", service="Keystore", operation="get", parameters={"key": "a"}
    )
    assert got["value"] == {"value": value}


async def test_a_script_runs_at_once_with_a_module(caller: Caller) -> None:
    await caller.result("solutions.ensure", settings={"id": "acme"})
    for step in (1, 2):
        await caller.result(
            "solutions.module",
            id="acme",
            name="counters",
            lua=f"return {{add = function(n) return n + {step} end}}",
        )
        lua = "print('at', 1)\nlog.warn('low')\nreturn {n = require('counters').add(1)}"
        assert await caller.result("solutions.run", id="acme", lua=lua) == {
            "value": {"n": 1 + step},
            "printed": ["at\t1", "warn: low"],
            "error": None,
        }
    failed = await caller.result("solutions.run", id="acme", lua="print(1)\nerror('no')", name="cell")
    assert (failed["printed"], failed["error"]) == (["1"], "cell:2: no")
    many = await caller.result("solutions.run", id="acme", lua="for i = 1, 2000 do print(i) end")
    assert many["printed"][999:] == ["1000", "further lines are in the solution's log"]
    for key, arguments, detail in (
        ("solutions.run", {"lua": "\n= 1"}, "script:2: unexpected symbol near '='"),
        ("solutions.module", {"name": "a", "lua": "= 1"}, "modules/a.lua:1: unexpected symbol near '='"),
        ("solutions.module", {"name": "a b", "lua": ""}, "module a b: expected a name such as counters"),
    ):
        status, told = await caller.refused(key, id="acme", **arguments)
        assert (status, told[: len(detail)]) == (400, detail)


async def test_a_solution_sent_as_texts_is_reloaded_and_ensured_again(caller: Caller) -> None:
    first = {"endpoints/a.lua": "--#ENDPOINT GET /a\nreturn 1"}
    second = {"endpoints/b.lua": "--#ENDPOINT GET /b\nreturn 2"}
    await caller.result("solutions.ensure", settings={"id": "acme"}, files=first)
    await caller.result("solutions.ensure", settings={"id": "acme"}, files=second)
    assert [each["path"] for each in await caller.result("solutions.routes", id="acme")] == ["/a"]
    await caller.result("solutions.reload", id="acme", files=second)
    assert [each["path"] for each in await caller.result("solutions.routes", id="acme")] == ["/b"]
    status, detail = await caller.refused(
        "solutions.reload", id="acme", files={"endpoints/b.lua": "--#ENDPOINT"}
    )
    assert status == 400
    assert "endpoints/b.lua" in detail
    assert [each["path"] for each in await caller.result("solutions.routes", id="acme")] == ["/b"]
    await caller.result("solutions.ensure", settings={"id": "acme"}, files=first, replace=True)
    assert [each["path"] for each in await caller.result("solutions.routes", id="acme")] == ["/a"]


async def test_no_file_of_a_solution_leaves_its_folder(caller: Caller) -> None:
    for name in ("../out.lua", "/tmp/out.lua", "a/../../out.lua", "a\\b", ".", "a\0", "x" * 300):
        status, detail = await caller.refused(
            "solutions.add", settings={"id": "acme"}, files={name: "return 1"}
        )
        assert status == 400, name
        assert detail.startswith("files: "), name
    assert (await caller.refused("solutions.add", settings={"id": "b"}, files={"a": "1", "a/b": "2"}))[
        0
    ] == 400


async def test_files_that_are_no_text_come_as_base64(caller: Caller) -> None:
    data = bytes(range(248, 256))
    text = base64.b64encode(data).decode()
    assert set("+/") & set(text)
    files = {"assets/a.bin": {"$bytes": text}, "assets/b.txt": "é"}
    await caller.result("solutions.ensure", settings={"id": "acme"}, files=files)
    for wrong in ({"$bytes": "@"}, {"$bytes": text, "more": 1}, {}, 1):
        answer = await caller.post("solutions.reload", id="acme", files={"assets/a.bin": wrong})
        assert (answer.status_code, answer.json()["arguments"][0]["where"][:2]) == (
            422,
            ["files", "assets/a.bin"],
        )
    content = [{"file": "fw.bin", "data": text}, {"file": "fw.bin", "id": "b", "type": "text/x", "data": ""}]
    await caller.result("products.ensure", settings={"id": "t"}, content=content)
    listed = await caller.result("content.all", product="t")
    assert [(each["id"], each["type"], each["size"]) for each in listed] == [
        ("b", "text/x", 0),
        ("fw.bin", "application/octet-stream", 8),
    ]
    for name in ("../fw.bin", "/tmp/fw.bin", "a/b", ".", "a\\b", "a\0", "", "x" * 256):
        wrong_name = [{"file": name, "data": text}]
        assert (await caller.refused("products.ensure", settings={"id": "u"}, content=wrong_name))[
            0
        ] == 400, name
    assert await caller.result("products.find", id="u") is None


async def test_bytes_are_base64_and_numbers_that_are_not_finite_are_named(caller: Caller) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat"})
    data = bytes(range(256))
    text = base64.b64encode(data).decode()
    info = await caller.result(
        "content.add", product="thermostat", id="fw", data=text, type="application/x-fw"
    )
    assert info["size"] == 256
    table = await caller.result(
        "database.sql", query="select data, 9e999, -9e999, 1.5, 'a' from content_piece"
    )
    [[blob, *rest]] = table["rows"]
    assert base64.b64decode(blob["$bytes"]) == data
    assert rest == [{"$number": "Infinity"}, {"$number": "-Infinity"}, 1.5, "a"]


async def test_errors_have_their_status_and_the_text_of_the_process(caller: Caller) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat"})
    assert await caller.refused("products.get", id="x") == (404, "no product 'x', there are: thermostat")
    assert (await caller.post("products.get", id="x")).json()["error"] == "UnknownError"
    status, detail = await caller.refused(
        "products.ensure", settings={"id": "thermostat", "auth": "password"}
    )
    assert status == 409
    assert detail.startswith("product 'thermostat' is there already with other settings: auth ('token' there")
    assert (await caller.refused("database.sql", query="delete from content")) == (
        400,
        "sql: the data is read-only here, expected a SELECT",
    )


@cases(
    ("key", "arguments", "detail"),
    [
        ("identities.password", {"length": -9}, "length: expected greater than or equal to 1, not -9"),
        ("identities.password", {"length": 2.5}, "length: expected a valid integer, not 2.5"),
        (
            "identities.password",
            {"length": 10**400},
            "length: expected less than or equal to 1024, not a larger number",
        ),
        ("identities.password", {"length": 9, "product": None}, "product: expected a valid string, not null"),
        ("clock.run", {"rate": 0}, "rate: expected greater than 0, not 0"),
        ("clock.run", {"rate": "1"}, "rate: expected a valid number, not '1'"),
        ("clock.advance", {"hour": 1}, "hour: unknown argument; did you mean hours?"),
        (
            "clock.advance_to",
            {"when": []},
            "when: expected a valid number or a valid string or a valid datetime, not a list",
        ),
        ("journal.last", {}, "count: is required"),
        ("journal.last", {"count": True}, "count: expected a valid integer, not true"),
        ("journal.follow", {"kinds": ["log"] * 101}, "kinds: expected at most 100 items, not 101"),
        ("journal.follow", {"kinds": ["x" * 257]}, "kinds[0]: expected at most 256 characters, not 257"),
        ("content.add", {"product": "a", "id": "a", "data": "@"}, "data: expected base64"),
        (
            "products.add",
            {"settings": {"id": "T"}},
            "settings.id: expected lower-case letters, digits and inner hyphens, at most 63, not 'T'",
        ),
        (
            "products.add",
            {"settings": {"id": "t", "resource": {}}},
            "settings.resource: unknown key; did you mean resources?",
        ),
        (
            "products.add",
            {"settings": {"id": "t", "auth": "no"}},
            "settings.auth: expected 'token', 'password' or 'certificate', not 'no'",
        ),
        (
            "faults.add",
            {"fault": {"where": "GET /a", "status": 1}},
            "fault.status: expected greater than or equal to 200, not 1",
        ),
        (
            "faults.add",
            {"fault": {"where": "GET /a", "headers": {}}},
            "fault.headers: expected at least 1 item, not 0",
        ),
        (
            "solutions.add",
            {"settings": {"id": "a"}, "files": {"a.lua": 1}},
            "files.a.lua: expected a valid string or an object, not 1",
        ),
    ],
)
async def test_a_wrong_argument_is_named_with_what_is_expected(
    caller: Caller, key: str, arguments: dict[str, object], detail: str
) -> None:
    complete = {"product": "a", "identity": "b"} if key == "identities.password" else {}
    answer = await caller.post(key, **{**complete, **arguments})
    assert (answer.status_code, answer.json()["detail"]) == (422, detail)
    [wrong] = answer.json()["arguments"]
    assert detail.endswith(wrong["message"])
    assert detail.startswith(str(wrong["where"][0]))


async def test_each_wrong_argument_is_named(caller: Caller) -> None:
    answer = await caller.post("identities.password", product=1, length=0)
    assert [each["where"] for each in answer.json()["arguments"]] == [["product"], ["identity"], ["length"]]


async def test_a_body_without_arguments_is_named_as_the_body(caller: Caller) -> None:
    for body, detail in (
        ("{", "the body: expected JSON: EOF while parsing an object at line 1 column 1"),
        ("[]", "the body: expected an object with the arguments by name"),
    ):
        answer = await caller.client.post("/v1/journal/last", content=body)
        assert (answer.status_code, answer.json()["detail"]) == (422, detail)


async def test_malformed_bodies_are_refused(caller: Caller) -> None:
    for body in (b"{", b"[]", b"1", b'{"seconds": NaN}', b'{"seconds": "1"}', b'"\xff"', b"[" * 100_000):
        answer = await caller.client.post("/v1/clock/advance", content=body)
        assert answer.status_code == 422, body[:20]
        assert answer.headers["Content-Type"] == "application/problem+json"
    packed = {"Content-Encoding": "gzip"}
    assert (await caller.client.post("/v1/clock/state", content=b"", headers=packed)).status_code == 415


async def test_unknown_paths_and_methods(caller: Caller) -> None:
    for path in (
        "/v1",
        "/v1/clock",
        "/v1/clock/_clock",
        "/v1/functions/route",
        "/v1/fleet_runs/run",
        "/v1/x/y",
    ):
        assert (await caller.client.post(path)).status_code == 404, path
    misspelt = (await caller.client.post("/v1/clock/advanc")).json()["detail"]
    assert misspelt == "no operation at '/v1/clock/advanc'; did you mean /v1/clock/advance?"
    assert (await caller.client.post("/v1/clock/advance?hours=1")).status_code == 422
    answer = await caller.client.get("/v1/clock/state")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")
    assert (await caller.client.get("/health")).json() == {"status": "ok"}


async def test_a_route_answers_a_request(caller: Caller) -> None:
    async def request(method: str, path: str, **given: Any) -> Any:
        return await caller.result("solutions.request", id="acme", method=method, path=path, **given)

    await caller.result("solutions.ensure", settings={"id": "acme"})
    lua = "response.headers = {['X-A'] = 'b'} response.message = string.rep('é', request.parameters.n)"
    for method, path, script in (("POST", "/echo", "return request.body"), ("GET", "/long", lua)):
        arguments = {"method": method, "path": path, "lua": script, "content_type": "application/json"}
        await caller.result("solutions.route", id="acme", **arguments)
    echoed = await request("POST", "echo", body='{"a": 1}')
    assert (echoed["status"], echoed["body"], echoed["size"]) == (200, '{"a":1}', 7)
    assert (await request("POST", "/echo", body="a=1"))["status"] == 400
    long = await request("GET", "/long?n=600000")
    assert (long["size"], len(long["body"]), long["headers"]["x-a"]) == (1_200_000, 2**19, "b")
    await caller.result("faults.add", fault={"where": "GET /long", "cut": "before"})
    assert (await request("GET", "/long?n=1"))["status"] is None
    wrong: tuple[dict[str, Any], ...] = (
        {"path": "/a", "headers": {"A": "b\r\nC: d"}},
        {"path": "/a", "headers": {"Content-Length": "5"}},
        {"path": "/\n"},
    )
    for each in wrong:
        status, detail = await caller.refused("solutions.request", id="acme", method="GET", **each)
        assert (status, detail.startswith("GET /")) == (400, True)


async def test_secrets_stay_hidden_and_tokens_stay_out_of_the_journal(
    caller: Caller, platform: Platform
) -> None:
    await caller.result("products.ensure", settings={"id": "thermostat"})
    [given] = await caller.result("fleets.provision", product="thermostat", identities=["t-1"])
    assert len(given["token"]) == 40
    table = await caller.result("database.sql", query="select sid, token from messaging_account")
    assert table["hidden"] == ["messaging_account.token"]
    assert [row[1] for row in table["rows"]] == [None]
    everything = platform.context.journal.canonical() + str(table)
    assert given["token"] not in everything
    assert caller.client.headers["Authorization"].removeprefix("Bearer ") not in everything


async def test_time_stands_still_until_it_is_advanced(caller: Caller) -> None:
    begin = await caller.result("clock.state")
    assert begin["rate"] == 0
    assert (await caller.result("clock.advance", days=7))["time"] == begin["time"] + 7 * 86400
    assert (await caller.result("clock.advance_to", when="2027-01-01"))["time"] == 1798761600
    assert (await caller.refused("clock.advance_to", when="2026-01-01"))[0] == 400
    await caller.result("lab.reset")
    assert await caller.result("clock.state") == begin


async def test_files_are_read_below_the_named_folder_only(platform: Platform, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    (folder / "acme" / "endpoints").mkdir(parents=True)
    (folder / "acme" / "endpoints" / "a.lua").write_text("--#ENDPOINT GET /a\nreturn 1")
    (folder / "out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("secret")
    async with (
        control_listener(platform, ControlSettings(), folder) as address,
        httpx.AsyncClient(
            base_url=address.url, headers={"Authorization": f"Bearer {address.token}"}
        ) as client,
    ):
        caller = Caller(client)
        await caller.result("solutions.add", settings={"id": "acme", "path": "acme"})
        assert [each["path"] for each in await caller.result("solutions.routes", id="acme")] == ["/a"]
        await caller.result("products.ensure", settings={"id": "t"})
        for path in ("../secret", "out/secret", str(tmp_path / "secret"), "/etc/passwd", "a\0b"):
            content = [{"file": path}]
            refused: dict[str, dict[str, object]] = {
                "products.add": {"settings": {"id": "t2", "content": content}},
                "products.change": {"id": "t", "values": {"content": content}},
                "solutions.add": {"settings": {"id": "b", "path": path}},
            }
            for key, arguments in refused.items():
                assert (await caller.refused(key, **arguments))[0] == 403, (key, path)


async def test_without_a_folder_no_path_is_read(caller: Caller) -> None:
    await caller.result("products.ensure", settings={"id": "t"})
    refused: dict[str, dict[str, object]] = {
        "products.add": {"settings": {"id": "t2", "content": [{"file": "notebooks/lab.yaml"}]}},
        "products.change": {"id": "t", "values": {"content": [{"file": "notebooks/lab.yaml"}]}},
        "solutions.add": {"settings": {"id": "b", "path": "notebooks/solutions/metrics"}},
    }
    for key, arguments in refused.items():
        status, detail = await caller.refused(key, **arguments)
        assert (status, "reads no files" in detail) == (403, True), key


async def test_a_lab_elsewhere_has_the_types_of_the_process() -> None:
    """A client in Python sends and gets the same objects as a call in the process."""
    control = await Control.start(LabSettings(https_port=0), seed=7)
    try:
        for key, args in {"clock.advance": (5,), "addresses.listening": (), "providers.all": ()}.items():
            operation = operations()[key]
            given = operation.decode_arguments(operation.encode_arguments(*args))
            subject = getattr(control, operation.subject)
            result = await getattr(subject, operation.name)(**given)
            assert operation.decode_result(await operation.encode_result(result)) == result
    finally:
        await control.stop()


async def test_a_query_that_takes_long_is_ended_and_holds_nobody_up(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert operations()["database.sql"].limit == 10
    monkeypatch.setattr(DatabaseControl.sql, "_labkit_limit", 0.5)
    endless = "with recursive c(n) as (select 1 union all select n + 1 from c) select max(n) from c"
    query = asyncio.create_task(caller.refused("database.sql", query=endless))
    assert await caller.result("clock.state")
    assert not query.done()
    assert await query == (400, "database.sql: it was ended after 0.5 s, the limit over HTTP")
    assert (await caller.result("database.sql", query="select 1"))["rows"] == [[1]]


async def test_a_fault_for_a_time(caller: Caller) -> None:
    fault = {"where": "GET /a", "status": 503, "after": 60, "seconds": 30}
    states = [(await caller.result("faults.add", fault=fault))["state"]]
    for seconds in (60, 30):
        await caller.result("clock.advance", seconds=seconds)
        states.append((await caller.result("faults.get", name="fault 1"))["state"])
    assert states == ["waiting", "active", "ended"]


async def test_draining(caller: Caller) -> None:
    assert await caller.result("lab.drain") == {"seconds": 0, "waited_for": {}}
    refused = await caller.post("lab.drain", within=-1)
    assert (refused.status_code, refused.json()["detail"]) == (
        400,
        "within: expected seconds, 0 or more, not -1.0",
    )


async def test_time_without_power(caller: Caller) -> None:
    assert await caller.result("lab.downtime") == 0
    await caller.result("lab.restart", down=60)
    await caller.result("clock.advance", seconds=20)
    assert await caller.result("lab.downtime") == 40
    await caller.result("clock.advance", seconds=40)
    assert await caller.result("lab.downtime") == 0


async def test_an_operation_waits_for_the_end_of_a_restore(
    platform: Platform, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    await caller.result("products.ensure", settings={"id": "thing"})
    snapshot = await caller.result("lab.snapshot")
    empty, read_arguments = states.empty, ControlOperation.read_arguments
    reading, came = [], asyncio.Event()

    async def ask_when_empty(restored: Platform) -> None:
        await empty(restored)
        if restored is platform:  # and not that of a rehearsal
            reading.append(asyncio.create_task(caller.result("products.all")))
            await came.wait()

    async def arrive(self: ControlOperation, body: bytes) -> dict[str, Any]:
        if reading:
            came.set()
        return await read_arguments(self, body)

    monkeypatch.setattr(states, "empty", ask_when_empty)
    monkeypatch.setattr(ControlOperation, "read_arguments", arrive)
    await caller.result("lab.restore", content=snapshot["content"])
    assert [each["id"] for each in await reading[0]] == ["thing"]
