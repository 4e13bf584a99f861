"""Subscriptions by settings, folders and cells, and their changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from tests.services.interface.environment import Environment, environment, solution
from tests.services.interface.lights import LIGHTS, subscriber


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    async with environment() as made:
        yield made


class TestSettings:
    async def test_a_waiting_subscription_is_reported(self, env: Environment) -> None:
        home = await env.add("home", subscriptions=[{"publisher": "lights"}])
        assert home.warnings == ["subscriptions[0] to 'lights' waits: nobody publishes it yet"]
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.add("lights")  # it publishes nothing
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.solutions.configure("lights", "Interface", LIGHTS)
        assert await env.call("home", "Lights.echo") == {}

    @pytest.mark.parametrize(
        ("named", "problem"),
        [
            ({"parameters": {"count": "1"}}, "parameters: count: expected integer, not string"),
            ({"script_key": "keystore"}, "home has a service 'Keystore' already"),
            ({"script_key": "scripts"}, "home has a service 'Scripts' already"),
            ({"script_key": "INTERFACE"}, "home has a service 'INTERFACE' already"),
            ({"script_key": "1a"}, "script_key: expected 2 to 63 letters and digits"),
            ({"script_key": "a-b"}, "script_key: expected 2 to 63 letters and digits"),
            ({"triggers": {"changed": 1}}, "triggers.changed: expected an event"),
        ],
    )
    async def test_an_impossible_subscription_is_refused_and_nothing_is_added(
        self, env: Environment, named: dict[str, Any], problem: str
    ) -> None:
        await env.add("lights", LIGHTS)
        with pytest.raises(SettingsError, match=re.escape(problem)):
            await env.add("home", subscriptions=[{"publisher": "lights", **named}])
        assert "home" not in env.context.solutions
        assert list(env.interface.subscriptions) == []
        await env.add("home", subscriptions=[{"publisher": "lights"}])
        with pytest.raises(SettingsError, match=re.escape(problem)):
            await env.replace("home", subscriptions=[{"publisher": "lights", **named}])
        assert await env.call("home", "Lights.echo", a=1) == {"a": 1}

    async def test_two_subscriptions_with_one_key_are_refused(self, env: Environment) -> None:
        await env.add("lights", LIGHTS)
        await env.add("lamps", {"default_script_key": "LIGHTS"})
        with pytest.raises(SettingsError, match="script_key: another one is 'LIGHTS'"):
            await env.add("home", subscriptions=[{"publisher": "lights"}, {"publisher": "lamps"}])
        assert list(env.interface.subscriptions) == []

    async def test_a_waiting_subscriber_that_is_not_whitelisted_does_not_stop_its_publisher(
        self, env: Environment
    ) -> None:
        shed = await env.add("shed", business="other", subscriptions=[{"publisher": "later"}])
        await env.add("later", {"whitelist": ["acme"]})
        assert "is not on the whitelist of later" in shed.warnings[-1]
        assert await subscriber(env, "shed", "later") is None


class TestFolders:
    def folder(self, path: Path, **files: str) -> Path:
        (path / "services").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / "services" / f"{name}.yaml").write_text(text)
        return path

    async def test_a_reload_follows_changed_and_missing_files(self, env: Environment, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, lights="count: 4\n")
        await env.add("lights", LIGHTS)
        home = await env.add("home", path=[folder])
        id = (await subscriber(env))["id"]
        self.folder(tmp_path, lights="count: 5\nmore: x\n")
        await env.solutions.replace(home.settings, keep=True)
        assert (await subscriber(env))["id"] == id
        assert (await subscriber(env))["parameters"] == {"region": "north", "count": 5, "more": "x"}
        (tmp_path / "services" / "lights.yaml").unlink()
        await env.solutions.replace(home.settings, keep=True)
        assert await subscriber(env) is None

    async def test_an_impossible_file_is_a_warning(self, env: Environment, tmp_path: Path) -> None:
        await env.add("lights", LIGHTS)
        home = await env.add("home", path=[self.folder(tmp_path, lights="count: none\n")])
        assert home.warnings == ["services/lights.yaml: parameters: count: expected integer, not string"]
        assert await subscriber(env) is None

    async def test_files_of_other_services_are_ignored(self, env: Environment, tmp_path: Path) -> None:
        home = await env.add("home", path=[self.folder(tmp_path, twilio="a: 1\n", keystore="")])
        await env.add("lights", LIGHTS)
        assert (list(env.interface.subscriptions), home.warnings) == ([], [])


class TestWhileItRuns:
    @pytest.fixture
    async def env(self) -> AsyncIterator[Environment]:
        async with environment(
            solution("lights", LIGHTS), solution("home"), solution("other", business="else")
        ) as made:
            heard: list[tuple[str, Any]] = []
            lights = made.solutions.get("lights")
            for what in ("Added", "Updated", "Removed"):
                lights.on("interface", f"subscriber{what}", self.hears(heard, what))
            made.heard = heard  # type: ignore[attr-defined]
            yield made

    def hears(self, heard: list[tuple[str, Any]], what: str) -> Any:
        def handler(subscription: Any) -> None:
            heard.append((what, subscription))

        return handler

    async def test_the_publisher_may_use_the_subscription_at_once(self, env: Any) -> None:
        lights = env.solutions.get("lights")
        script = (
            "return {parameters = {got = Interface.triggerOne{target = 'home', event = 'changed', data = 1}}}"
        )
        lights.on("interface", "subscriberAdded", lua=script, replace=True)
        await env.interface.subscribe("home", "lights")
        assert (await subscriber(env))["parameters"]["got"] == ["default", 1]

    async def test_invalid_parameters_written_back_are_a_warning(self, env: Any) -> None:
        lights = env.solutions.get("lights")
        lights.on("interface", "subscriberAdded", lua="return {parameters = {count = 'many'}}", replace=True)
        await env.interface.subscribe("home", "lights")
        assert (await subscriber(env))["parameters"] == {"region": "north"}
        assert "expected integer, not string" in lights.warnings[-1]

    async def test_a_repeated_subscription_is_the_same(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        with pytest.raises(SettingsError, match="home is subscribed to lights already"):
            await env.interface.subscribe("home", "lights", script_key="lamps")
        with pytest.raises(SettingsError, match="lights cannot subscribe to itself"):
            await env.interface.subscribe("lights", "lights", script_key="own")
        with pytest.raises(SettingsError, match="no solution 'nobody', there are: lights, home, other"):
            await env.interface.subscribe("home", "nobody")
        with pytest.raises(SettingsError, match="solution 'other' publishes nothing"):
            await env.interface.subscribe("home", "other")
        assert len(list(env.interface.subscriptions)) == 1

    async def test_removing_a_subscriber_ends_its_subscriptions(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        env.heard.clear()
        await env.solutions.remove("home")
        assert [what for what, _ in env.heard] == ["Removed"]
        assert list(env.interface.subscriptions) == []
        assert await env.call("lights", "Interface.listSubscribers") == {"items": [], "total": 0}
        await env.add("home")
        assert (await env.call("home", "Lights.echo"))["status"] == 404

    async def test_removing_a_publisher_ends_its_subscriptions(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        await env.solutions.remove("lights")
        assert list(env.interface.subscriptions) == []
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.add("lights", LIGHTS)
        assert (await env.call("home", "Lights.echo"))["status"] == 404

    async def test_a_service_of_the_same_name_is_refused(self, env: Any) -> None:
        from labkit.services.custom import FunctionService

        await env.interface.subscribe("home", "lights")
        with pytest.raises(SettingsError, match="service 'Lights' is there already in solution 'home'"):
            await env.services.add(FunctionService("Lights", {"echo": lambda: 1}))
        await env.services.add(FunctionService("Lamps", {"echo": lambda: 1}))
        with pytest.raises(SettingsError, match="other has a service 'Lamps' already"):
            await env.interface.subscribe("other", "lights", script_key="lamps")
