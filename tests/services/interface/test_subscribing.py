"""Who subscribes to whom: by settings, folders and cells, over changes."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from labkit.core.errors import SettingsError
from tests.cases import cases
from tests.services.interface.environment import Environment, environment, solution
from tests.services.interface.lights import LIGHTS, subscriber

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ADDED, UPDATED, REMOVED = (f"subscriber{what} to lights" for what in ("Added", "Updated", "Removed"))


@pytest.fixture
async def env() -> AsyncIterator[Environment]:
    async with environment() as made:
        yield made


class TestSettings:
    @cases("order", [("lights", "home"), ("home", "lights")])
    @cases("together", [True, False])
    async def test_the_order_does_not_matter(self, order: tuple[str, ...], together: bool) -> None:
        named = [{"publisher": "lights", "parameters": {"count": 1}, "quota": {"calls_daily": 9}}]
        settings = {"lights": solution("lights", LIGHTS), "home": solution("home", subscriptions=named)}
        wanted = [settings[id] for id in order]
        async with environment(*(wanted if together else ())) as env:
            for each in () if together else wanted:
                await env.solutions.add(each)
            found = await subscriber(env)
            assert UUID.fullmatch(found.pop("id"))
            assert found == {
                "quota": {"calls_daily": 9},
                "triggers": {},
                "parameters": {"region": "north", "count": 1},
                "created_at": "2026-01-01T00:00:00.000Z",
                "updated_at": "2026-01-01T00:00:00.000Z",
                "solution_id": "home",
            }
            assert await env.call("home", "Lights.echo", a=1) == {"a": 1}
            assert env.events() == [ADDED, "echo to lights"]

    async def test_one_that_waits_is_told(self, env: Environment) -> None:
        home = await env.add("home", subscriptions=[{"publisher": "lights"}])
        assert home.warnings == ["subscriptions[0] to 'lights' waits: nobody publishes it yet"]
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.add("lights")  # publishes nothing
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
    async def test_what_cannot_be_is_refused_and_nothing_is_added(
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

    async def test_two_of_one_key_are_refused(self, env: Environment) -> None:
        await env.add("lights", LIGHTS)
        await env.add("lamps", {"default_script_key": "LIGHTS"})
        with pytest.raises(SettingsError, match="script_key: another one is 'LIGHTS'"):
            await env.add("home", subscriptions=[{"publisher": "lights"}, {"publisher": "lamps"}])
        assert list(env.interface.subscriptions) == []

    async def test_a_replaced_subscriber_has_what_its_settings_name_now(self, env: Environment) -> None:
        await env.add("lights", LIGHTS)
        first = {"parameters": {"count": 1, "more": 2}, "quota": {"calls_daily": 5}}
        await env.add("home", subscriptions=[{"publisher": "lights", **first}])
        before = await subscriber(env)
        await env.call("home", "Config.setParameters", service="lights", parameters={"own": True})
        await env.replace("home", subscriptions=[{"publisher": "lights", **first}])
        assert (await subscriber(env))["parameters"] == {
            "region": "north",
            "count": 1,
            "more": 2,
            "own": True,
        }
        second = {"parameters": {"count": 3}, "script_key": "lamps"}
        await env.replace("home", subscriptions=[{"publisher": "lights", **second}])
        after = await subscriber(env)
        assert (after["id"], after["quota"]) == (before["id"], {})
        assert after["parameters"] == {"region": "north", "count": 3, "own": True}
        assert await env.call("home", "Lamps.echo", a=1) == {"a": 1}
        await env.replace("home")
        assert await subscriber(env) is None
        assert (await env.call("home", "Lamps.echo"))["status"] == 404
        assert env.events() == [ADDED, UPDATED, UPDATED, "echo to lights", REMOVED]

    async def test_the_whitelist_names_businesses(self, env: Environment) -> None:
        await env.add("lights", {**LIGHTS, "whitelist": ["acme", "labkit"]})
        await env.add("home", business="acme", subscriptions=[{"publisher": "lights"}])
        await env.add("flat", subscriptions=[{"publisher": "lights"}])
        with pytest.raises(SettingsError, match="'other' of shed is not on the whitelist of lights"):
            await env.add("shed", business="other", subscriptions=[{"publisher": "lights"}])
        assert (await env.call("home", "Config.solution"))["business_id"] == "acme"
        # One that is there before its publisher cannot stop it.
        shed = await env.add("shed", business="other", subscriptions=[{"publisher": "later"}])
        await env.add("later", {"whitelist": ["acme"]})
        assert "is not on the whitelist of later" in shed.warnings[-1]
        assert await subscriber(env, "shed", "later") is None

    @pytest.mark.parametrize("id", ["my-home", "1home"])
    async def test_ids_have_the_form_of_the_document(self, env: Environment, id: str) -> None:
        await env.add("lights", LIGHTS)
        with pytest.raises(
            SettingsError, match="the id of a subscriber has to be lower-case letters and dig"
        ):
            await env.add(id, subscriptions=[{"publisher": "lights"}])
        with pytest.raises(SettingsError, match="the id of a publisher has to be lower-case letters and dig"):
            await env.add(id, LIGHTS)
        assert id not in env.context.solutions


class TestFolders:
    def folder(self, path: Path, **files: str) -> Path:
        (path / "services").mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (path / "services" / f"{name}.yaml").write_text(text)
        return path

    @pytest.mark.parametrize("publisher_first", [True, False])
    async def test_a_file_of_a_publishers_key_subscribes(
        self, env: Environment, tmp_path: Path, publisher_first: bool
    ) -> None:
        folder = self.folder(tmp_path, bulbs="count: 4\n")
        definition = {**LIGHTS, "default_script_key": "Bulbs"}
        if publisher_first:
            await env.add("lights", definition)
        await env.add("home", path=[folder])
        if not publisher_first:
            assert list(env.interface.subscriptions) == []
            await env.add("lights", definition)
        assert (await subscriber(env))["parameters"] == {"region": "north", "count": 4}
        assert await env.call("home", "Bulbs.echo", a=1) == {"a": 1}

    async def test_a_publisher_reads_its_own(self, env: Environment, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, interface="operations: [{name: echo, script: return 1}]\n")
        await env.add("lights", path=[folder])
        await env.add("home", subscriptions=[{"publisher": "lights"}])
        assert await env.call("home", "Lights.echo") == 1
        own = tmp_path / "services" / "interface"
        own.mkdir()
        (tmp_path / "services" / "interface.yaml").rename(own / "interface.yaml")
        await env.solutions.replace(env.solutions.get("lights").settings, keep=True)
        assert await env.call("home", "Lights.echo") == 1

    async def test_a_changed_or_missing_file_is_followed_on_reload(
        self, env: Environment, tmp_path: Path
    ) -> None:
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

    async def test_one_that_cannot_be_is_a_warning(self, env: Environment, tmp_path: Path) -> None:
        await env.add("lights", LIGHTS)
        home = await env.add("home", path=[self.folder(tmp_path, lights="count: none\n")])
        assert home.warnings == ["services/lights.yaml: parameters: count: expected integer, not string"]
        assert await subscriber(env) is None

    async def test_a_file_adds_to_what_settings_name(self, env: Environment, tmp_path: Path) -> None:
        folder = self.folder(tmp_path, lights="count: 4\nregion: east\n")
        await env.add("lights", LIGHTS)
        named = [{"publisher": "lights", "parameters": {"region": "west"}}]
        await env.add("home", path=[folder], subscriptions=named)
        assert (await subscriber(env))["parameters"] == {"region": "west", "count": 4}

    async def test_files_of_other_services_mean_nothing(self, env: Environment, tmp_path: Path) -> None:
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
            made.context.journal.watch(lambda record: None)
            lights = made.solutions.get("lights")
            for what in ("Added", "Updated", "Removed"):
                lights.on("interface", f"subscriber{what}", self.hears(heard, what))
            made.heard = heard  # type: ignore[attr-defined]
            yield made

    def hears(self, heard: list[tuple[str, Any]], what: str) -> Any:
        def handler(subscription: Any) -> None:
            heard.append((what, subscription))

        return handler

    async def test_the_publisher_hears_of_it(self, env: Any) -> None:
        made = await env.interface.subscribe("home", "lights", parameters={"count": 1})
        argument = {"id": made.id, "parameters": {"region": "north", "count": 1}, "solution_id": "home"}
        assert env.heard == [("Added", argument)]
        env.heard.clear()
        await env.clock.advance(1.2345)
        after = await env.interface.update(made, parameters={"count": 2}, quota={"calls_daily": 5})
        argument["parameters"] = {"region": "north", "count": 2}
        assert env.heard == [("Updated", argument)]
        shown = await subscriber(env)
        assert (shown["created_at"], shown["updated_at"]) == (
            "2026-01-01T00:00:00.000Z",
            "2026-01-01T00:00:01.234Z",
        )
        env.heard.clear()
        await env.interface.update(after, parameters={"count": 2})
        assert env.heard == []  # nothing changed
        assert await env.interface.unsubscribe(after)
        assert env.heard == [("Removed", argument)]
        assert not await env.interface.unsubscribe(after)
        assert len(env.heard) == 1
        assert env.events() == [ADDED, UPDATED, REMOVED]

    @pytest.mark.parametrize("what", ["Added", "Updated"])
    async def test_parameters_that_it_returns_are_written_back(self, env: Any, what: str) -> None:
        lights = env.solutions.get("lights")
        script = "return {parameters = {token = 't-' .. subscription.solution_id, count = 8}}"
        lights.on("interface", f"subscriber{what}", lua=script)
        made = await env.interface.subscribe("home", "lights", parameters={"own": 1})
        if what == "Updated":
            assert (await subscriber(env))["parameters"] == {"region": "north", "own": 1}
            await env.interface.update(made, parameters={"own": 2})
        expected = {"region": "north", "own": 1 + (what == "Updated"), "token": "t-home", "count": 8}
        assert (await subscriber(env))["parameters"] == expected
        assert (await env.call("home", "Config.getParameters", service="lights"))["parameters"] == expected

    @pytest.mark.parametrize(("returned", "moves"), [(8, True), (7, False)])
    async def test_what_is_written_back_is_an_update(self, env: Any, returned: int, moves: bool) -> None:
        async def handler(subscription: object) -> object:
            await env.clock.advance(seconds=5)
            return {"parameters": {"count": returned}}

        env.solutions.get("lights").on("interface", "subscriberAdded", handler)
        await env.interface.subscribe("home", "lights", parameters={"count": 7})
        found = await subscriber(env)
        assert (found["updated_at"] > found["created_at"]) is moves

    async def test_the_publisher_may_use_it_at_once(self, env: Any) -> None:
        lights = env.solutions.get("lights")
        script = (
            "return {parameters = {got = Interface.triggerOne{target = 'home', event = 'changed', data = 1}}}"
        )
        lights.on("interface", "subscriberAdded", lua=script)
        await env.interface.subscribe("home", "lights")
        assert (await subscriber(env))["parameters"]["got"] == ["default", 1]

    async def test_what_cannot_be_written_back_is_a_warning(self, env: Any) -> None:
        lights = env.solutions.get("lights")
        lights.on("interface", "subscriberAdded", lua="return {parameters = {count = 'many'}}")
        await env.interface.subscribe("home", "lights")
        assert (await subscriber(env))["parameters"] == {"region": "north"}
        assert "expected integer, not string" in lights.warnings[-1]

    async def test_a_handler_that_fails_stops_nobody(self, env: Any) -> None:
        env.solutions.get("lights").on("interface", "subscriberAdded", lua="error('no')")
        await env.interface.subscribe("home", "lights")
        assert await env.call("home", "Lights.echo", a=1) == {"a": 1}

    async def test_scripts_update_their_own(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        await env.interface.subscribe("other", "lights")
        env.heard.clear()
        answer = await env.call("home", "Config.setParameters", service="Lights", parameters={"count": 5})
        assert answer == {"parameters": {"region": "north", "count": 5}}
        assert [what for what, _ in env.heard] == ["Updated"]
        assert (await subscriber(env, "other"))["parameters"] == {"region": "north"}
        wrong = await env.call("home", "Config.setParameters", service="lights", parameters={"count": "5"})
        assert (wrong["status"], "count: expected integer" in wrong["error"]) == (400, True)
        restricted = await env.call(
            "home", "Config.setParameters", service="lights", parameters={"secret": "x"}
        )
        assert restricted["status"] == 403
        listed = await env.call("home", "Config.listServices", type="interface")
        assert listed == [
            {"id": "home.Lights", "type": "interface", "service": "Lights", "script_key": "lights"}
        ]

    async def test_one_is_enough(self, env: Any) -> None:
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

    async def test_a_removed_one_is_over(self, env: Any) -> None:
        made = await env.interface.subscribe("home", "lights")
        solution_ = env.solutions.get("home")
        assert solution_.find("lights", "changed") is not None  # the default script
        await env.interface.unsubscribe(made)
        assert solution_.find("lights", "changed") is None
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        assert (await env.call("home", "Config.getParameters", service="lights"))["status"] == 404
        again = await env.interface.subscribe("home", "lights")
        assert again.id != made.id

    async def test_removing_a_subscriber_ends_its_subscriptions(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        env.heard.clear()
        await env.solutions.remove("home")
        assert [what for what, _ in env.heard] == ["Removed"]
        assert list(env.interface.subscriptions) == []
        assert await env.call("lights", "Interface.listSubscribers") == {"items": [], "total": 0}
        await env.add("home")
        assert (await env.call("home", "Lights.echo"))["status"] == 404

    async def test_removing_a_publisher_ends_those_to_it(self, env: Any) -> None:
        await env.interface.subscribe("home", "lights")
        await env.solutions.remove("lights")
        assert list(env.interface.subscriptions) == []
        assert (await env.call("home", "Lights.echo"))["status"] == 404
        await env.add("lights", LIGHTS)
        assert (await env.call("home", "Lights.echo"))["status"] == 404

    async def test_a_replaced_subscriber_keeps_what_a_cell_made(self, env: Any) -> None:
        made = await env.interface.subscribe("home", "lights", parameters={"count": 1})
        home = await env.replace("home", environment={"A": "b"})
        assert (await subscriber(env))["id"] == made.id
        assert home.find("lights", "changed") is not None

    async def test_a_service_of_the_same_name_is_refused(self, env: Any) -> None:
        from labkit.services.custom import CustomService

        await env.interface.subscribe("home", "lights")
        with pytest.raises(SettingsError, match="service 'Lights' is there already in solution 'home'"):
            await env.services.add(CustomService("Lights", {"echo": lambda: 1}))
        await env.services.add(CustomService("Lamps", {"echo": lambda: 1}))
        with pytest.raises(SettingsError, match="other has a service 'Lamps' already"):
            await env.interface.subscribe("other", "lights", script_key="lamps")
