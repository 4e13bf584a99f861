"""The socials of a solution: created, changed, listed, deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.services.user.environment import Environment
from tests.services.user.socials.logins import GITHUB, SECRET, SOCIAL, begun, with_github, with_twitter

OPERATIONS: dict[str, dict[str, Any]] = {
    "updateSocial": {},
    "deleteSocial": {},
    "getSocial": {},
    "getSocialLoginUrl": {},
    "getSocialToken": {"code": "c"},
    "socialRequest": {"token": "t"},
}


async def test_there_is_none_at_first(env: Environment) -> None:
    assert await env.call("socialList") == []


async def test_socials_are_listed_by_name(env: Environment) -> None:
    await with_twitter(env)
    await with_github(env)
    await env.call("createSocial", {**SOCIAL, "consumer": "Google"})
    listed = await env.call("socialList")
    assert [social["consumer"] for social in listed] == ["github", "Google", "twitter"]


async def test_a_consumer_without_a_provider_in_the_lab(env: Environment) -> None:
    error = await env.refused("createSocial", SOCIAL)
    assert (error["status"], error["message"]) == (
        400,
        "The lab has no identity provider for the consumer github.",
    )
    assert await env.call("socialList") == []


async def test_forms_of_scope(env: Environment) -> None:
    env.consumers["github"] = GITHUB
    forms: list[tuple[object, list[str]]] = [
        *(([], []), ({}, []), ("user", ["user"]), (("a", "b"), ["a", "b"]), (["b", "a"], ["b", "a"]))
    ]
    for given, scope in forms:
        assert await env.call("createSocial", {**SOCIAL, "scope": given}) == {**SOCIAL, "scope": scope}
        await env.call("deleteSocial", consumer="github")


async def test_bad_fields_are_refused_and_named(env: Environment) -> None:
    env.consumers["github"] = GITHUB
    bad: list[tuple[str, object]] = [
        ("consumer", ""),
        ("consumer", "a/b"),
        ("consumer", "a b"),
        ("consumer", "x" * 101),
        ("consumer", 7),
        ("scope", 7),
        ("scope", [""]),
        ("scope", [7]),
        ("scope", {"a": "user"}),
        ("redirect", ""),
        ("redirect", "/social/handle"),
        ("redirect", "javascript:alert(1)"),
        ("redirect", "https://"),
        ("redirect", "https://acme.test/#part"),
        ("redirect", "https://acme.test/\r\nSet-Cookie: a=b"),
        ("redirect", "https://acme.test/a b"),
        ("consumer", "github\n"),
        ("client_id", ""),
        ("client_id", None),
        ("client_id", "\udcff"),
        ("client_secret", ""),
        ("client_secret", "\udcff"),
        ("client_secret", ["x"]),
    ]
    for field, value in bad:
        error = await env.refused("createSocial", {**SOCIAL, field: value})
        text = error["message"].split(" validation")[0].split(".")[0]
        assert (error["status"], text) == (400, f"Parameter {field}")
    assert await env.call("socialList") == []
    await env.call("createSocial", SOCIAL)
    for field, value in bad:
        if field != "consumer" and value is not None:
            await env.refused("updateSocial", {"consumer": "github", field: value})
    assert await env.call("getSocial", consumer="github") == SOCIAL


async def test_a_consumer_without_a_social(env: Environment) -> None:
    await with_github(env)
    for operation, given in OPERATIONS.items():
        error = await env.refused(operation, {"consumer": "google", **given})
        assert (error["status"], error["message"]) == (404, "Social google does not exist.")
    assert env.web.requests == []


async def test_solutions_share_no_socials(env: Environment) -> None:
    await with_github(env)
    for operation, given in OPERATIONS.items():
        result = await env.call(operation, {"consumer": "github", **given}, solution="other")
        assert result["status"] == 404
    assert await env.call("socialList", solution="other") == []
    assert await env.call("socialList") == [SOCIAL]


async def test_logins_of_a_deleted_social_are_deleted(env: Environment) -> None:
    await with_github(env)
    state = await begun(env)
    await env.call("deleteSocial", consumer="github")
    assert (await env.refused("getSocial", consumer="github"))["status"] == 404
    await env.call("createSocial", SOCIAL)
    error = await env.refused("getSocialToken", consumer="github", code="c", state=state)
    assert error["status"] == 400


async def test_socials_and_logins_survive_a_restart(tmp_path: Path) -> None:
    first = Environment(data=tmp_path / "lab.db")
    await with_github(first)
    state = await begun(first)
    first.close()
    second = Environment(data=tmp_path / "lab.db")
    second.consumers["github"] = GITHUB
    second.web.answers[GITHUB.token] = (200, '{"access_token": "t"}')
    assert await second.call("getSocial", consumer="github") == SOCIAL
    assert await second.call("getSocialToken", consumer="github", code="c", state=state) == "t"
    second.close()


async def test_a_provider_that_was_removed_from_the_lab(env: Environment) -> None:
    await with_github(env)
    del env.consumers["github"]
    error = await env.refused("getSocialLoginUrl", consumer="github")
    assert (error["status"], "no identity provider" in error["message"]) == (400, True)
    assert await env.call("getSocial", consumer="github") == SOCIAL
    assert await env.call("deleteSocial", consumer="github") is None


async def test_secrets_never_reach_the_journal(env: Environment) -> None:
    await with_github(env)
    await env.call("updateSocial", consumer="github", client_secret="client-secret-2")
    await env.refused("createSocial", {**SOCIAL, "consumer": ""})
    written = env.journal.canonical()
    assert "client-1" in written
    assert SECRET not in written
    assert "client-secret-2" not in written
