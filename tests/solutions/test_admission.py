"""Credentials and rates that routes ask for: addresses, bounds, resets, snapshots, and settings that are wrong."""

from pathlib import Path
from typing import Any

import pytest

from labkit import Lab
from labkit.core.errors import SettingsError
from labkit.http.error import HttpError
from labkit.solutions.folders.scripts import Tags
from labkit.solutions.handlers import Handler
from labkit.solutions.web import admission, web_settings
from labkit.solutions.web.admission import RateLimits, admit, credentials
from labkit.solutions.web.routes import Route
from labkit.solutions.web.web_settings import ApiKeyPlace, WebSettings
from tests.cases import cases
from tests.solutions.rig import solution_rig

LIMITED = "--#ENDPOINT GET /a\n--#RATELIMIT 2\nreturn 1\n"


def settings(**given: Any) -> WebSettings:
    return web_settings.read({"Webservice": given})


@cases(
    ("given", "error"),
    [
        ({"security": "basics"}, "security: expected one of apiKey, basic, bearer, none, not 'basics'"),
        ({"security": ["basic", {"odd é": []}]}, "not 'odd é'"),
        ({"security": 5}, "security: expected a list"),
        ({"rate_limit": -1}, "rate_limit: expected greater than or equal to 0"),
        ({"rate_limit": 1_000_000_001}, "rate_limit: expected less than or equal to 1000000000"),
        ({"rate_limit": "many"}, "rate_limit: expected a valid integer"),
        ({"security_schemes": {"a": {}}}, "security_schemes.a.type: is required"),
        (
            {"security_schemes": [{"type": "basic"}, {"name": "X-D"}]},
            "security_schemes: expected a type in each definition, number 2 has",
        ),
        ({"security_schemes": ["basic"]}, "security_schemes: expected a mapping, not a list"),
        ({"api_info": "The gate"}, "api_info: expected a mapping"),
    ],
)
def test_a_wrong_setting_is_named(given: dict[str, Any], error: str) -> None:
    with pytest.raises(SettingsError) as found:
        settings(**given)
    assert str(found.value).startswith("services.webservice: ")
    assert error in str(found.value)


@cases(
    ("given", "kinds"),
    [
        ({}, ()),
        ({"security": None, "rate_limit": None, "zebra": "red"}, ()),
        ({"security": "basic  bearer"}, ("basic", "bearer")),
        ({"security": [{"basic": []}, "apiKey"]}, ("basic", "apiKey")),
        (
            {
                "security": [{"a": [], "b": []}, "c", "d"],
                "security_schemes": {
                    "a": {"type": "http", "scheme": "Basic"},
                    "b": {"type": "http", "scheme": "bearer"},
                    "c": {"type": "apiKey", "in": "header", "name": "authorization"},
                    "d": {"type": "apiKey", "in": "header", "name": "X-D"},
                },
            },
            ("basic", "bearer", "bearer", "apiKey"),
        ),
    ],
)
def test_kinds_of_credentials(given: dict[str, Any], kinds: tuple[str, ...]) -> None:
    assert settings(**given).kinds == kinds


def test_definitions_may_be_a_list() -> None:
    schemes = [{"type": "bearer"}, {"type": "apiKey", "name": "X-Key é", "in": "query"}]
    found = settings(security_schemes=schemes, security=["apiKey", "bearer"])
    assert found.kinds == ("apiKey", "bearer")
    assert found.api_key == ApiKeyPlace(name="X-Key é", in_query=True)


def test_other_addresses_are_other_clients() -> None:
    handler: Handler = None  # type: ignore[assignment]  # it never runs
    route, rates = Route("GET", "/a", handler, tags=Tags(rate_limit=1)), RateLimits()
    for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1"):
        admit(route, settings(), rates, {}, {}, address, 0.0)
        with pytest.raises(HttpError) as found:
            admit(route, settings(), rates, {}, {}, address, 59.999)
        assert (found.value.status, found.value.headers) == (429, {"Retry-After": "1"})
        admit(route, settings(), rates, {}, {}, address, 60.0)


def test_clients_whose_minute_is_over_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "MOST_CLIENTS", 3)
    rates = RateLimits()
    for second, client in ((0, "a"), (30, "b"), (40, "c"), (61, "d")):
        assert rates.wait("r", client, 1, second) == 0
    assert len(rates.counts) == 3
    assert [rates.wait("r", client, 1, 62) for client in "abcd"] == [0, 28, 38, 59]


def test_a_clock_that_is_set_back_begins_a_new_minute() -> None:
    rates = RateLimits()
    assert [rates.wait("r", "a", 1, second) for second in (1000, 1001, 10, 11)] == [0, 59, 0, 59]


def test_credentials_are_not_kept() -> None:
    rates = RateLimits()
    rates.wait("GET /a", "bearer s3cret \udcff", 1, 0.0)
    [key] = rates.counts
    assert len(key) == 24
    assert "s3cret" not in repr(rates.counts)
    assert (
        credentials({"Authorization": "Bearer " + "x" * 1_000_000}, {}, settings())["bearer"]
        == "x" * 1_000_000
    )


def folder(path: Path, text: str = LIMITED) -> Path:
    (path / "endpoints").mkdir(parents=True, exist_ok=True)
    (path / "endpoints" / "a.lua").write_text(text, encoding="utf-8")
    return path


async def test_a_setting_of_a_cell_counts_at_once_and_a_wrong_one_changes_nothing(tmp_path: Path) -> None:
    async with solution_rig() as lab:
        solution = await lab.add(path=folder(tmp_path))
        assert (await lab.get("/a")).status == 200
        await lab.solutions.configure("acme", "webservice", {"security": "bearer"})
        answer = await lab.get("/a")
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="solution"')
        with pytest.raises(SettingsError, match=r"services\.webservice: rate_limit"):
            await lab.solutions.configure("acme", "webservice", {"rate_limit": "x"})
        assert solution.web.kinds == ("bearer",)
        await lab.solutions.configure("acme", "webservice", {})
        assert (await lab.get("/a")).status == 200


@pytest.mark.parametrize("tag", ["1_000", "٣", "1000000001", "9" * 5000, "-1", "+1", "1.0"])
async def test_a_wrong_rate_is_refused_with_its_place(tmp_path: Path, tag: str) -> None:
    async with solution_rig() as lab:
        with pytest.raises(SettingsError, match=r"endpoints/a.lua:2: --#RATELIMIT: expected a number"):
            await lab.add(path=folder(tmp_path, f"--#ENDPOINT GET /a\n--#RATELIMIT {tag}\nreturn 1"))


def test_a_snapshot_keeps_the_counts_and_a_reset_or_a_restart_forgets_them(tmp_path: Path) -> None:
    with Lab(seed=7) as lab:
        acme, other = (lab.solution(id, path=str(folder(tmp_path / id))) for id in ("acme", "other"))

        def statuses(count: int) -> list[int]:
            return [acme.get("/a").status_code for _ in range(count)]

        assert statuses(1) == [200]
        past = lab.snapshot()
        assert statuses(2) == [200, 429]
        assert other.get("/a").status_code == 200
        lab.restore(past)
        acme = lab.solution("acme")
        assert statuses(2) == [200, 429]
        lab.restart()
        assert statuses(3) == [200, 200, 429]
        lab.reset()
        assert statuses(3) == [200, 200, 429]
        lab.clock.advance(seconds=60)
        assert statuses(1) == [200]


def test_definitions_may_be_a_list_as_in_published_folders() -> None:
    schemes = [{"type": "bearer"}, {"type": "apiKey", "name": "X-KEY", "in": "header"}]
    found = settings(security_schemes=schemes, security=["apiKey"])
    assert (found.kinds, found.api_key.name, found.api_key.in_query) == (("apiKey",), "X-KEY", False)


@pytest.mark.parametrize("key", ["secuirty", "Security", "rate-limit", "security_scheme"])
def test_a_misspelt_key_is_refused_and_never_leaves_routes_open(key: str) -> None:
    with pytest.raises(SettingsError, match=rf"services\.webservice: {key}: unknown key; did you mean"):
        settings(**{key: []})


async def test_headers_of_the_settings_are_in_each_response_without_such_a_header(tmp_path: Path) -> None:
    async with solution_rig() as lab:
        text = "--#ENDPOINT GET /a\nreturn 1\n--#ENDPOINT GET /b\nresponse.headers = {['x-own'] = 'b'}\n"
        await lab.add(path=folder(tmp_path, text))
        given = {"content-security-policy": "default-src 'self'", "X-Own": "a", "Content-Length": 7}
        await lab.solutions.configure("acme", "webservice", {"headers": given})
        for path, own in (("/a", "a"), ("/b", "b"), ("/none", "a"), ("/docs", "a")):
            headers = (await lab.get(path)).headers
            assert (headers["Content-Security-Policy"], headers["X-Own"]) == ("default-src 'self'", own)
        with pytest.raises(SettingsError, match=r"headers: the value of X holds a control character"):
            await lab.solutions.configure("acme", "webservice", {"headers": {"X": "a\r\nb"}})
