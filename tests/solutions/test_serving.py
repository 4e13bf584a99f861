"""The way of a request through a solution, over HTTP."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import LabError, SettingsError
from labkit.core.events import Event, EventKind
from labkit.solutions.delivery import Delivery
from labkit.solutions.site import BODY_LIMIT
from tests.cases import cases
from tests.solutions.rig import SolutionRig, solution_rig


def echo(request: Any) -> dict[str, Any]:
    return dict(request.table())


async def test_a_handler_sees_the_request() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.route("POST", "/user/{email}/x", echo)
        answer = await lab.request(
            "POST", "/user/ann%40example.com/x/?a=1&email=b", json={"k": []}, headers={"X-One": "1"}
        )
        seen = await answer.json()
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/json"
        assert seen["uri"] == "https://acme.apps.lab.localhost:8443/user/ann%40example.com/x/?a=1&email=b"
        assert (seen["route"], seen["method"]) == ("/user/{email}/x", "POST")
        assert seen["parameters"] == {"a": "1", "email": "ann@example.com"}
        assert seen["body"] == {"k": []}
        assert (seen["headers"]["x-one"], seen["ip"]) == ("1", "192.0.2.7")
        assert seen["timestamp"] == 1_767_225_600_000_000
        assert len(seen["request_id"]) == 32


async def test_each_request_has_an_id_of_its_own() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.route("GET", "/", lambda request, context: [request.request_id, context["tracking_id"]])
        first, second = [await (await lab.get("/")).json() for _ in range(2)]
        assert first[0] == first[1]
        assert first[0] != second[0]


@cases(
    ("method", "path", "status", "allow", "body"),
    [
        ("GET", "/nothing", 404, None, {"error": "unknown path"}),
        ("PUT", "/a", 405, "GET, HEAD, OPTIONS, POST", {"error": "wrong method for this path"}),
        ("PROPFIND", "/a", 405, "GET, HEAD, OPTIONS, POST", {"error": "wrong method for this path"}),
        ("OPTIONS", "/a", 204, "GET, HEAD, OPTIONS, POST", None),
        ("OPTIONS", "/nothing", 404, None, {"error": "unknown path"}),
        ("GET", "/%FF", 400, None, {"error": "the path is not percent-encoded UTF-8"}),
        ("GET", "/a?x=%FF", 400, None, None),
    ],
)
async def test_what_no_route_answers(
    method: str, path: str, status: int, allow: str | None, body: dict[str, str] | None
) -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        solution.route("GET", "/a", lambda: "x")
        solution.route("POST", "/a", lambda: "x")
        answer = await lab.request(method, path)
        assert (answer.status, answer.headers.get("Allow")) == (status, allow)
        if body is not None:
            assert await answer.json() == body
        assert lab.records("script") == []


async def test_head_has_no_body() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("GET", "/a", lambda: "four")
        answer = await lab.request("HEAD", "/a")
        assert (answer.status, answer.headers["Content-Length"]) == (200, "4")
        assert await answer.read() == b""


async def test_a_body_that_is_not_the_declared_json_never_reaches_the_handler() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("POST", "/a", echo)
        answer = await lab.request("POST", "/a", data=b"{", headers={"Content-Type": "application/json"})
        assert answer.status == 400
        assert (await answer.json())["error"].startswith("body: not JSON")
        assert lab.records("script") == []


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_limit_is_refused_and_ends_the_connection(chunked: bool) -> None:
    async def pieces() -> Any:
        for _ in range(17):
            yield b"x" * 65536

    async with solution_rig() as lab:
        (await lab.add()).route("POST", "/a", echo, content_type="text/plain")
        fits = await lab.request("POST", "/a", data=io.BytesIO(b"x" * BODY_LIMIT))
        assert fits.status == 200
        answer = await lab.request(
            "POST", "/a", data=pieces() if chunked else io.BytesIO(b"x" * (BODY_LIMIT + 1))
        )
        assert answer.status == 413
        assert answer.headers["Connection"] == "close"
        assert await answer.json() == {"error": "the body is larger than 1048576 bytes"}


async def test_a_body_that_does_not_arrive_is_refused() -> None:
    never = asyncio.Event()

    async def stuck() -> Any:
        yield b"x"
        await never.wait()

    async with solution_rig(body=0.02) as lab:
        (await lab.add()).route("POST", "/a", echo, content_type="text/plain")
        answer = await lab.request("POST", "/a", data=stuck())
        assert answer.status == 408
        never.set()


async def test_a_handler_that_raises_is_a_500_with_details_in_the_journal() -> None:
    async with solution_rig() as lab:

        def broken() -> None:
            raise KeyError("colour")

        (await lab.add()).route("GET", "/a", broken)
        answer = await lab.get("/a")
        assert answer.status == 500
        assert await answer.json() == {"error": "KeyError: 'colour'"}
        (script,) = lab.records("script")
        assert script.status == 500
        assert script.detail is not None
        assert script.detail["error"] == "KeyError: 'colour'"
        assert any("broken" in str(line) for line in script.detail["trace"])  # type: ignore[attr-defined]


@cases("code", [99, 600, "x"])
async def test_an_outcome_that_cannot_be_sent_is_a_500(code: Any) -> None:
    async with solution_rig() as lab:

        def odd(response: Any) -> None:
            response.code = code

        (await lab.add()).route("GET", "/a", odd)
        answer = await lab.get("/a")
        assert answer.status == 500
        assert "response.code" in (await answer.json())["error"]


async def test_a_function_sets_the_response() -> None:
    async with solution_rig() as lab:

        def login(response: Any) -> None:
            response.code = 303
            response.headers["Location"] = "/api/session/user"
            response.headers["Set-Cookie"] = ["sid=1; Path=/", "x=2"]

        (await lab.add()).route("GET", "/a", login)
        answer = await lab.get("/a")
        assert (answer.status, answer.headers["Location"]) == (303, "/api/session/user")
        assert answer.headers.getall("Set-Cookie") == ["sid=1; Path=/", "x=2"]
        assert await answer.text() == "OK"


async def test_the_journal_links_request_script_and_call() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("GET", "/a/{b}", lambda services: services.Store.get(key="k"))
        await lab.get("/a/1?secret=x")
        (request,), (script,), (call,) = (lab.records(kind) for kind in ("request", "script", "call"))
        assert (request.actor, request.summary, request.status) == ("acme", "GET /a/1", 200)
        assert request.size == len(b'{"type":"QueryError","error":"no k","status":404}')
        assert (script.actor, script.summary, script.status) == ("acme", "GET /a/{b}", 200)
        assert (script.cause, call.cause) == (request.sequence, script.sequence)
        assert script.detail is not None
        assert "duration" in script.detail
        assert (call.summary, call.status) == ("Store.get", 404)


async def test_cors_and_its_preflight() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("GET", "/a", lambda: "x")
        origin = {"Origin": "http://localhost:3000"}
        answer = await lab.get("/a", headers=origin)
        assert answer.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
        preflight = await lab.request(
            "OPTIONS", "/a", headers={**origin, "Access-Control-Request-Method": "GET"}
        )
        assert preflight.status == 204
        assert "GET" in preflight.headers["Access-Control-Allow-Methods"]
        refused = await lab.get("/nothing", headers=origin)
        assert refused.headers["Access-Control-Allow-Origin"] == "http://localhost:3000"
        other = await lab.get("/a", headers={"Origin": "https://evil.example"})
        assert "Access-Control-Allow-Origin" not in other.headers


async def test_what_a_script_says_of_origins_stays() -> None:
    async with solution_rig() as lab:

        def own(response: Any) -> None:
            response.headers["Access-Control-Allow-Origin"] = "*"

        (await lab.add()).route("GET", "/a", own)
        answer = await lab.get("/a", headers={"Origin": "http://localhost:3000"})
        assert answer.headers.getall("Access-Control-Allow-Origin") == ["*"]


def assets(root: Path) -> Path:
    files = {"index.html": "<p>", "css/a.css": "p{}", "a b.bin": "x", "taken": "asset", ".secret": "x"}
    for name, text in files.items():
        file = root / "assets" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return root


@pytest.mark.parametrize(
    ("method", "path", "status", "kind", "text"),
    [
        ("GET", "/", 200, "text/html; charset=utf-8", "<p>"),
        ("GET", "/index.html", 200, "text/html; charset=utf-8", "<p>"),
        ("GET", "/css/a.css", 200, "text/css; charset=utf-8", "p{}"),
        ("GET", "/a%20b.bin", 200, "application/octet-stream", "x"),
        ("HEAD", "/css/a.css", 200, "text/css; charset=utf-8", ""),
        ("GET", "/taken", 200, "text/plain; charset=utf-8", "route"),
        ("GET", "/.secret", 404, "application/json", None),
        ("GET", "/css/%2e%2e/%2e%2e/secret", 404, "application/json", None),
        ("POST", "/css/a.css", 405, "application/json", None),
    ],
)
async def test_assets(
    tmp_path: Path, method: str, path: str, status: int, kind: str, text: str | None
) -> None:
    (tmp_path / "secret").write_text("s")
    async with solution_rig() as lab:
        solution = await lab.add(path=assets(tmp_path))
        solution.route("GET", "/taken", lambda: "route")
        answer = await lab.request(method, path)
        assert (answer.status, answer.headers["Content-Type"]) == (status, kind)
        if text is not None:
            assert await answer.text() == text


async def test_an_asset_that_is_gone_is_not_found(tmp_path: Path) -> None:
    async with solution_rig() as lab:
        await lab.add(path=assets(tmp_path))
        (tmp_path / "assets/css/a.css").unlink()
        assert (await lab.get("/css/a.css")).status == 404


async def test_websocket_routes_are_loaded_but_not_served() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("WEBSOCKET", "/a", lambda: None)
        answer = await lab.get("/a")
        assert answer.status == 501
        assert "websocket" in (await answer.json())["error"]


async def test_a_route_of_a_cell_is_replaced_when_the_cell_runs_again() -> None:
    async with solution_rig() as lab:
        solution = await lab.add()
        for answer in ("one", "two"):
            solution.route("get", "/a", lambda answer=answer: answer)
        assert await (await lab.get("/a")).text() == "two"


async def test_solutions_are_found_by_id_and_product() -> None:
    async with solution_rig() as lab:
        acme = await lab.add("acme", products=("p1", "p2"))
        other = await lab.add("other", domain="shop.example", products=("p2",))
        assert lab.solutions.get("acme") is acme
        assert [each.id for each in lab.solutions] == ["acme", "other"]
        assert lab.context.hosts.at("other.apps.lab.localhost") is None
        kind = EventKind("device", "datapoint")
        for product, concerned in (("p1", [acme]), ("p2", [acme, other]), ("p3", [])):
            event = Event(kind, "p/d", dict, 0, product)
            assert list(Delivery(lab.directory).concerned(event)) == concerned
        own = Event(kind, "acme/user", dict, 0, solution="other")
        assert list(Delivery(lab.directory).concerned(own)) == [other]


async def test_ids_and_domains_are_unique() -> None:
    async with solution_rig() as lab:
        await lab.add("acme")
        with pytest.raises(SettingsError, match="is there already"):
            await lab.add("acme")
        with pytest.raises(SettingsError, match="is taken"):
            await lab.add("other", domain="acme.apps.lab.localhost")
        with pytest.raises(LabError, match="no solution 'nobody', there are: acme"):
            lab.solutions.get("nobody")


async def test_configuration_comes_from_the_folder_then_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "services").mkdir()
    (tmp_path / "services/store.yaml").write_text("key: file\nvalue: 1\n")
    (tmp_path / "services/unknown.yaml").write_text("a: 1\n")
    async with solution_rig() as lab:
        await lab.add(path=tmp_path, services={"Store": {"key": "settings"}})
        assert lab.configuration["acme"] == {"Store": {"key": "settings", "value": 1}, "unknown": {"a": 1}}


async def test_one_seed_gives_one_journal() -> None:
    async def story() -> str:
        async with solution_rig() as lab:
            solution = await lab.add()
            solution.route("GET", "/a", lambda request: request.request_id)
            solution.route("GET", "/lua", lua="print(math.random()) return {a = math.random()}")
            for _ in range(3):
                await lab.get("/a")
                await lab.get("/lua")
            return lab.journal.canonical()

    assert await story() == await story()


async def serving(lab: SolutionRig) -> None:
    (await lab.add()).route("GET", "/wait", lambda services: services.Store.wait())


async def test_slow_handlers_do_not_hold_up_others() -> None:
    async with solution_rig() as lab:
        await serving(lab)
        lab.solutions.get("acme").route("GET", "/fast", lambda: "fast")
        waiting = asyncio.create_task(lab.get("/wait"))
        assert await (await lab.get("/fast")).text() == "fast"
        assert not waiting.done()
        lab.store.gate.set()
        assert (await waiting).status == 200
