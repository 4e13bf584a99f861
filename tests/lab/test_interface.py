"""Handles of published and subscribed services, as a cell uses them."""

from __future__ import annotations

import inspect
import pydoc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabWarning
from labkit.core.errors import LabError, SettingsError
from labkit.lab.solution import Solution

LAMP = {
    "title": "lamp",
    "type": "object",
    "properties": {"level": {"type": "integer"}},
    "required": ["level"],
}
OPERATIONS = [{"name": "light", "parameters": LAMP, "description": "Switch a lamp", "script": "return lamp"}]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with Lab(seed=7) as made:
        yield made


@pytest.fixture
def lights(lab: Lab) -> Solution:
    lab.reset()
    made = lab.solution("lights")
    made.publish(operations=OPERATIONS, events=[{"name": "changed"}], parameters=[{"name": "key"}])
    return made


@pytest.fixture
def home(lab: Lab) -> Solution:
    return lab.solution("home", business="acme")


def test_publish_and_subscribe(lights: Solution, home: Solution) -> None:
    subscription = home.subscribe(lights, parameters={"key": "k"}, quota={"calls_daily": 2})
    assert repr(subscription) == "<subscription of home to lights>"
    assert (subscription.service, subscription.parameters) == ("Lights", {"key": "k"})
    assert "Lights" in dir(home)
    assert dir(home.Lights) == ["light"]
    assert home.Lights.light.__doc__ == "Switch a lamp"
    assert str(home.Lights.light.__signature__) == "(*, level: int, **others)"  # type: ignore[attr-defined]
    assert [home.Lights.light(level=n) for n in (1, 2)] == [{"level": 1}, {"level": 2}]
    assert home.Lights.light(level=3)["status"] == 403
    assert subscription.info.calls_today == 2
    assert [each.id for each in home.subscriptions] == [subscription.id]


def test_subscribers_of_a_publisher(lights: Solution, home: Solution) -> None:
    home.subscribe("lights")
    home.Lights.light(level=1)
    frame = lights.publish().subscribers
    assert list(frame.index) == ["home"]
    assert frame.loc["home", "service"] == "Lights"
    assert frame.loc["home", "calls_today"] == 1
    assert repr(lights.publish()) == "<Lights, published by lights: light; changed>"
    for shown in (lights.publish(), home.subscriptions[0], home):
        assert "lights" in shown._repr_html_()


def test_cells_run_again(lights: Solution, home: Solution) -> None:
    first = home.subscribe(lights, parameters={"key": "k"})
    assert home.subscribe(lights, parameters={"key": "k"}).id == first.id == home.subscribe(lights).id
    with pytest.raises(
        SettingsError, match="home is subscribed to lights already, with other parameters: upd"
    ):
        home.subscribe(lights, parameters={"key": "other"})
    assert first.update(parameters={"key": "other"}).parameters == {"key": "other"}
    assert home.subscribe(lights, parameters={"key": "other"}).id == first.id


def test_a_subscription_ends(lights: Solution, home: Solution) -> None:
    subscription = home.subscribe(lights)
    subscription.remove()
    assert home.subscriptions == []
    with pytest.warns(LabWarning, match="there is no service 'Lights'"):
        assert home.call("Lights", "light", {"level": 1})["status"] == 404
    for use in (subscription.remove, lambda: subscription.id, subscription.update):
        with pytest.raises(LabError, match="solution 'home' is not subscribed to 'lights'"):
            use()


def test_invalid_arguments_are_errors_with_their_names(lab: Lab, lights: Solution, home: Solution) -> None:
    with pytest.raises(SettingsError, match=r"operations\[0\].name: expected a letter"):
        lights.publish(operations=[{"name": "x"}])
    with pytest.raises(SettingsError, match=r"lights: services.Interface: operatoins: unknown key"):
        lights.publish(operatoins=[])
    with pytest.raises(SettingsError, match=r"quota.daily: unknown key"):
        home.subscribe(lights, quota={"daily": 1})
    with pytest.raises(LabError, match="solution 'home' publishes nothing yet"):
        home.publish()
    with pytest.raises(SettingsError, match="the id of a subscriber has to be lower-case letters and digits"):
        lab.solution("a-flat").subscribe(lights)
    with pytest.raises(SettingsError, match="the id of a publisher has to be lower-case letters and digits"):
        lab.solution("a-flat").publish(operations=OPERATIONS)
    lights.publish(whitelist=["other"], operations=OPERATIONS)
    with pytest.raises(SettingsError, match="the business 'acme' of home is not on the whitelist of lights"):
        home.subscribe(lights)


def test_unknown_publishers_of_lab_yaml_are_errors_with_their_line(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("solutions:\n  - id: home\n    subscriptions:\n      - publisher: ligths\n")
    expected = (
        r"solutions.home.subscriptions\[0\].publisher: no solution 'ligths', there are: home \(line 4\)"
    )
    with pytest.raises(SettingsError, match=expected):
        Lab(config=file)


def test_lab_yaml_can_declare_all_and_it_is_durable(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        """
data: lab.db
solutions:
  - id: home
    business: acme
    subscriptions:
      - {publisher: lights, script_key: lamps, parameters: {key: k}, quota: {calls_daily: 2}, triggers: {changed: go}}
  - id: lights
    services:
      Interface:
        whitelist: [acme]
        operations: [{name: echo, script: return event}]
        events: [{name: changed}]
"""
    )

    def story() -> tuple[Any, ...]:
        with Lab(config=file) as lab:
            home, lights = lab.solution("home"), lab.solution("lights")
            home.on("lamps", "go", lua="return {event, context.event}")
            answer = lights.Interface.triggerOne(target="home", event="changed", data=1)
            status = home.Lamps.echo(a=1).get("status")
            [subscription] = home.subscriptions
            return subscription.id, subscription.triggers, answer, status

    first, second, third = story(), story(), story()
    assert first[1:3] == ({"changed": "go"}, [1, "go"])
    assert first[:3] == second[:3] == third[:3]
    assert (first[3], second[3], third[3]) == (None, None, 403)


def test_settle_waits_for_posted_events(lights: Solution, home: Solution, lab: Lab) -> None:
    home.subscribe(lights)
    home.on("lights", "changed", lua="Keystore.command{key = 'n', command = 'incr'}")
    for _ in range(50):
        lights.Interface.trigger(event="changed")
    lab.settle()
    assert home.Keystore.get(key="n")["value"] == "50"


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_broadcast_to_handlers_in_threads_replays(mode: str) -> None:
    """They run concurrently, and call the publisher and each other; only the order of these calls is left to chance."""

    def story() -> str:
        with Lab(seed=7) as lab:
            lights = lab.solution("lights")
            lights.publish(operations=OPERATIONS, events=[{"name": "changed"}])

            def changed(event: int, services: Any) -> Any:
                return [services.Lights.light(level=event + n) for n in range(3)]

            for name in ("first", "second", "third"):
                subscriber = lab.solution(name)
                subscriber.subscribe(lights)
                subscriber.on("lights", "changed", changed)
            for level in range(10):
                lights.Interface.trigger(event="changed", data=level, mode=mode)
                lab.settle()
            return lab.journal.canonical()

    texts = {story() for _ in range(3)}
    assert len(texts) == 1
    assert texts.pop().count('"Lights.light"') == 90


def test_values_that_contain_themselves_are_refused(lights: Solution, home: Solution) -> None:
    home.subscribe(lights)
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(LabError, match="a value is nested too deep, or holds itself"):
        home.Lights.light(level=endless)
    with pytest.raises(LabError, match="a value is nested too deep, or holds itself"):
        lights.Interface.trigger(event="changed", data=endless)
    assert home.Lights.light(level=1) == {"level": 1}


def test_help_describes_the_service(lights: Solution, home: Solution) -> None:
    home.subscribe(lights)
    text = pydoc.render_doc(home.Lights, renderer=pydoc.TextDoc())
    assert "The service Lights of solution home." in text
    assert "light(*, level: " in text or "light(" in text
    assert "getUserToken(*, email:" in (inspect.getdoc(home.User) or "")
