"""`labkit list`: text for people, JSON for programs."""

import json
from pathlib import Path

from labkit.conformance.catalogue import load
from labkit.device_api.emitted import EVENTS
from labkit.devices.device_events import KINDS
from labkit.platform import Platform
from labkit.solutions.events import FALLBACK
from tests.rig import invoked


def listed(*arguments: str) -> str:
    result = invoked("list", *arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_statement_comes_with_its_requirements_checks_and_mutants() -> None:
    catalogue = load()
    data = json.loads(listed("--json"))
    assert [each["reference"] for each in data["statements"]] == list(catalogue.statements)
    for each in data["statements"]:
        own = [requirement.id for requirement in catalogue.covering(each["reference"])]
        assert [requirement["id"] for requirement in each["requirements"]] == own
        assert bool(own) != bool(each["nothing_to_test"])
        for requirement in each["requirements"]:
            assert requirement["level"] in ("must", "choice")
            assert {"text", "sources", "checks", "mutants", "not_mutable"} < set(requirement)
            assert all({"name", "title"} == set(check) for check in requirement["checks"])
    assert data["coverage"]["counts"]["statements"] == len(catalogue.statements)


def test_the_text_is_a_short_form_of_the_same() -> None:
    text = listed()
    for each in load():
        assert f"{each.id} " in text
    assert text.startswith("Device HTTPS API\n")
    assert f"{len(load().statements):6}  statements" in text


def test_requirements_as_text_and_as_json() -> None:
    data, text = json.loads(listed("requirements", "--json")), listed("requirements")
    assert [each["id"] for each in data] == [each.id for each in load()]
    for each in data:
        assert each["text"] in text
        assert all(f"check   {check['name']}: {check['title']}" in text for check in each["checks"])
        for mutant in each["mutants"]:
            assert f"mutant  {mutant['name']}: {mutant['title']}\n" in text
            broken = mutant.get("patches") or json.dumps(mutant["fault"], ensure_ascii=False)
            assert f": {broken}\n" in f"{text}\n"


def test_coverage_lists_labkits_choices_and_what_is_not_mutable() -> None:
    data, text = json.loads(listed("coverage", "--json")), listed("coverage")
    assert set(data["choices"]) == {each.id for each in load() if each.level == "choice"}
    assert set(data["not_mutable"]) == {each.id for each in load() if each.not_mutable is not None}
    for about in ("choices", "not_mutable", "nothing_to_test"):
        for name, said in data[about].items():
            assert name in text
            assert said in text


def test_operations_come_with_arguments_and_documentation() -> None:
    data, text = json.loads(listed("operations", "--json"))["operations"], listed("operations")
    found = {f"{each['service']}.{each['operation']}": each for each in data}
    assert {"Keystore.get", "Keystore.command", "Email.send", "Config.solution"} <= set(found)
    assert all(each["doc"] for each in data)
    assert found["Keystore.get"]["arguments"] == [
        {"name": "key", "type": "str", "required": True, "default": None, "secret": False}
    ]
    assert [each["name"] for each in found["Email.send"]["arguments"] if each["secret"]] == ["text", "html"]
    assert "from" in [each["name"] for each in found["Email.send"]["arguments"]]
    assert "\n  get(key: str)\n      " in text
    assert {name for name, each in found.items() if each["accepts_extra"]} == {
        *(f"User.{verb}User{what}" for verb in ("create", "update") for what in ("Data", "Storage")),
        "Device.write",
        "Device2.setIdentityState",
        "Interface.trigger",
        "Interface.triggerOne",
    }
    assert "\n  createUserData(id: int, …)\n" in text


def test_events_have_the_names_under_which_handlers_receive_them() -> None:
    data, text = json.loads(listed("operations", "--json")), listed("operations")
    events = {(each["service"], each["event"], each["type"]): each for each in data["events"]}
    assert events["device", "datapoint", ""]["arguments"] == ["data"]
    assert {type for service, _, type in events if service == "device2"} == {*KINDS}
    own = (kind for each in Platform().services for kind in each.events)
    raised = [(kind.service, kind.event, kind.type) for kind in (*EVENTS, *own)]
    assert [name for name, each in events.items() if each["raised"]] == [*raised, (*FALLBACK, "")]
    assert events["timer", "timer", ""]["arguments"] == ["request", "message"]
    assert "\n  device datapoint: data\n" in text
    assert "\n  timer timer: request, message\n" in text
    assert {each["kind"]: each["arguments"] for each in data["handlers"]}["endpoint"] == [
        "request",
        "response",
        "context",
    ]


def test_globals_are_the_ones_of_a_script() -> None:
    data, text = json.loads(listed("operations", "--json")), listed("operations")
    found = data["globals"]
    assert {"to_json", "from_json", "print", "require", "pcall"} <= set(found)
    assert found["log"] == sorted(found["log"])
    assert {"find", "gsub"} <= set(found["string"])
    assert not {"io", "debug", "package", "dofile", "Keystore"} & set(found)
    assert "execute" not in found["os"]
    assert "\n  to_json\n" in text
    assert f"\n  json: {', '.join(found['json'])}\n" in text


def test_an_unknown_topic_is_an_error() -> None:
    result = invoked("list", "mutants")
    assert result.exit_code == 2
    for topic in ("requirements", "operations", "coverage"):
        assert topic in result.output


def test_operations_of_a_config_include_the_ones_published_between_solutions(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        """
solutions:
  - {id: home, subscriptions: [{publisher: lights, script_key: lamps}]}
  - id: lights
    services:
      Interface:
        operations:
          - {name: light, description: Switch, parameters: {required: [level], properties: {level: {type: integer}}}}
"""
    )
    data = json.loads(listed("operations", "--json", "--config", str(file)))["operations"]
    assert [each for each in data if "solution" in each] == [
        {
            "solution": "home",
            "service": "Lamps",
            "operation": "light",
            "arguments": [
                {"name": "level", "type": "int", "required": True, "default": None, "secret": False}
            ],
            "accepts_extra": True,
            "doc": "Switch",
        }
    ]
    assert "\nLamps of solution home\n  light(level: int, …)\n      Switch\n" in listed(
        "operations", "--config", str(file)
    )
