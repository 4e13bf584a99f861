"""The socials of a solution: bytes of a script in them, a restart, and providers that are removed."""

from __future__ import annotations

from pathlib import Path

from tests.services.user.environment import Environment
from tests.services.user.socials.logins import GITHUB, SOCIAL, begun, with_github


async def test_bytes_that_are_no_utf_8_are_refused(env: Environment) -> None:
    env.consumers["github"] = GITHUB
    for field in ("client_id", "client_secret"):
        error = await env.refused("createSocial", {**SOCIAL, field: "\udcff"})
        assert (error["status"], error["message"].startswith(f"Parameter {field}")) == (400, True)
    assert await env.call("socialList") == []


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
