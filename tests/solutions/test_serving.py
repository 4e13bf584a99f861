"""Requests to solutions over HTTP, from the routes to the journal."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import LabError, SettingsError
from labkit.labtime.events import Event, EventKind
from labkit.solutions.delivery import Delivery
from labkit.solutions.site import BODY_LIMIT
from tests.cases import cases
from tests.solutions.rig import SolutionRig, solution_rig


def echo(request: Any) -> dict[str, Any]:
    return dict(request.table())


async def test_each_request_has_its_own_id() -> None:
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
async def test_requests_without_a_route(
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


async def test_the_journal_links_request_script_and_call() -> None:
    async with solution_rig() as lab:
        (await lab.add()).route("GET", "/a/{b}", lambda services: services.Store.get(key="k"))
        await lab.get("/a/1?secret=x")
        (request,), (script,), (call,) = (lab.records(kind) for kind in ("request", "script", "call"))
        assert (request.actor, request.summary, request.status) == ("acme", "GET /a/1", 200)
        assert request.size == len(b'{"type":"QueryError","error":"no k","status":404,"status_code":404}')
        assert (script.actor, script.summary, script.status) == ("acme", "GET /a/{b}", 200)
        assert (script.cause, call.cause) == (request.sequence, script.sequence)
        assert script.detail is not None
        assert "duration" in script.detail
        assert (call.summary, call.status) == ("Store.get", 404)


async def test_cors_headers_of_a_script_are_kept() -> None:
    async with solution_rig() as lab:

        def own(response: Any) -> None:
            response.headers["Access-Control-Allow-Origin"] = "*"

        (await lab.add()).route("GET", "/a", own)
        answer = await lab.get("/a", headers={"Origin": "http://localhost:3000"})
        assert answer.headers.getall("Access-Control-Allow-Origin") == ["*"]


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
        assert lab.context.hosts.find("other.apps.lab.localhost") is None
        for solution in (acme, other):
            solution.on("device", "datapoint", lambda: None)
        kind = EventKind("device", "datapoint")
        for product, receivers in (("p1", ["acme"]), ("p2", ["acme", "other"]), ("p3", [])):
            event = Event(kind, "p/d", dict, 0, product)
            assert [id for id, _ in Delivery(lab.directory).receivers(event)] == receivers
        own = Event(kind, "acme/user", dict, 0, solution="other")
        assert [id for id, _ in Delivery(lab.directory).receivers(own)] == ["other"]


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
