"""Contents of folders beside scripts: roles, resources, YAML among the scripts, and sections without a folder."""

from pathlib import Path

import pytest

from labkit.core.errors import SettingsError
from tests.cases import cases
from tests.solutions.test_folder import PROJECT, folder, fresh, handlers


def test_a_section_whose_folder_is_missing_is_a_warning(tmp_path: Path) -> None:
    sections = "endpoints:\n  location: x y\nmodules:\nservices: {location: .}\n"
    found = folder(tmp_path, {"solution.yaml": PROJECT + sections})
    assert found.endpoints == [] == found.events
    assert [text for text in found.warnings if "location" in text] == [
        "solution.yaml: endpoints.location: no 'x y' (line 4)",
        "solution.yaml: modules.location: no 'modules'",
    ]


def test_yaml_is_configuration_whatever_a_pattern_matches(tmp_path: Path) -> None:
    files = {
        "solution.yaml": PROJECT + "services:\n  include: '**/*.*'\n",
        "services/keystore.yaml": "quota: 7\n",
        "services/more/user.yml": "",
        "services/timer_timer.lua": "return 1",
        "services/odd.txt": "--#EVENT timer other\nreturn 2",
        "services/read me.md": "No handler.",
    }
    found = folder(tmp_path, files)
    assert handlers(found) == [("timer", "other"), ("timer", "timer")]
    assert found.configuration == {"keystore": {"quota": 7}, "user": {}}
    assert found.warnings == ["services/read me.md: is neither Lua nor YAML, ignored"]


@cases(
    ("name", "text", "error"),
    [
        ("roles.yaml", "owner", "roles.yaml: roles: expected a list"),
        ("roles.yaml", "- owner", "roles.yaml: roles[0]: expected a mapping"),
        ("roles.yaml", "- parameter: []", "roles.yaml: roles[0].role_id: is required"),
        (
            "roles.yaml",
            "- {role_id: a, parameter: [b]}",
            "roles.yaml: roles[0].parameter[0]: expected a mapping",
        ),
        ("specs/resources.yaml", "- a", "specs/resources.yaml: expected resources by alias, not list"),
    ],
)
def test_roles_and_resources_of_another_form_are_refused(
    tmp_path: Path, name: str, text: str, error: str
) -> None:
    with pytest.raises(SettingsError) as found:
        folder(fresh(tmp_path), {name: text})
    assert error in str(found.value)


def test_roles_and_resources(tmp_path: Path) -> None:
    files = {
        "roles.yaml": "- {role_id: owner, parameter: [{name: sn, more: 1}], x: 1}\n- role_id: guest\n  parameter:\n",
        "specs/resources.yaml": "a: number\nb:\né b: {format: odd}\nc: {format: boolean, sync: true, unit: }\n",
    }
    found = folder(tmp_path, files)
    assert [(each.role_id, [*each.parameter]) for each in found.roles] == [
        ("owner", [{"name": "sn", "more": 1}]),
        ("guest", []),
    ]
    assert found.resources == {"a": {"format": "number"}, "b": {}, "c": {"format": "boolean"}}
    assert sum(each.startswith("specs/resources.yaml:3: é b.format: ") for each in found.warnings) == 1
    assert sum(each.startswith("roles.yaml") for each in found.warnings) == len(found.warnings) - 1 > 0
    assert folder(fresh(tmp_path), {"roles.yaml": "", "specs/resources.yml": ""}).roles == []


def test_resources_in_the_older_form(tmp_path: Path) -> None:
    text = "resources:\n- alias: temperature\n  format: float\n  initial: 1\n- alias: état\n"
    found = folder(tmp_path, {"specs/resources.yaml": text})
    assert found.resources == {"temperature": {"format": "float", "initial": 1}, "état": {}}
    assert found.warnings == []
    with pytest.raises(SettingsError, match=r"resources\[0\]\.alias: is required"):
        folder(tmp_path, {"specs/resources.yaml": "resources: [{format: float}]"})


def test_each_misspelt_format_is_an_error_and_a_misspelt_key_a_warning(tmp_path: Path) -> None:
    text = "a: {format: numbr}\nb: strng\nc: json\nd: {settabel: true, sync: false}\ne: {type: number}\n"
    with pytest.raises(SettingsError) as error:
        folder(tmp_path, {"specs/resources.yaml": text})
    first, second = error.value.parts
    assert ": specs/resources.yaml:1: a.format: expected 'string'" in first
    assert first.endswith(", not 'numbr'; did you mean number?")
    assert second.endswith("specs/resources.yaml:2: b.format: expected 'string', 'number', 'boolean', 'integer' or "
                           "'float', not 'strng'; did you mean string?")  # fmt: skip
    warnings = folder(tmp_path, {"specs/resources.yaml": text.partition("c:")[2].join(("c:", ""))}).warnings
    assert [each.partition(": ")[2] for each in warnings] == [
        "c.format: expected 'string', 'number', 'boolean', 'integer' or 'float', not 'json'; ignored",
        "d.settabel: unknown key, ignored; did you mean settable?",
        "e: has no format; did you mean format: number?",
    ]
