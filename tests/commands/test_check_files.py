"""`labkit check`: files with parameters of services, project files, and what is left for later at load."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab
from labkit.core.errors import LabWarning
from tests.commands.test_check import checked, file, of_scripts

KINDS = "apiKey, basic, bearer, none"
TYPES = "'basic', 'bearer', 'apiKey', 'http', 'oauth2' or 'openIdConnect'"
__all__ = ["file"]  # a fixture


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "webservice",
            "secuirty: [basic]\nrate_limit: x\nsecurity: [barer]\n",
            [
                "services/webservice.yaml:1: secuirty: unknown key; did you mean security?",
                f"services/webservice.yaml:3: security: expected one of {KINDS}, not 'barer'; did you mean bearer?",
                "services/webservice.yaml:2: rate_limit: expected a valid integer, not 'x'",
            ],
        ),
        (
            "Webservice",
            "security_schemes:\n  - type: basic\n  - type: bassic\n",
            [
                f"services/Webservice.yaml:1: security_schemes: expected {TYPES}, not 'bassic'",
            ],
        ),
        (
            "webservice",
            "headers:\n  é: 1\n",
            ["services/webservice.yaml:1: headers: 'é' is not the name of a header"],
        ),
        (
            "interface",
            "operatons: []",
            ["services/interface.yaml:1: operatons: unknown key; did you mean operations?"],
        ),
    ],
)
def test_errors_of_a_services_file_name_file_and_line(
    tmp_path: Path, name: str, text: str, expected: list[str]
) -> None:
    folder = of_scripts(tmp_path / "acme", {f"services/{name}.yaml": text})
    result = checked(folder)
    assert result.exit_code == 1
    errors = [each for each in result.stderr.splitlines() if "warning" not in each]
    assert errors == [f"{folder}: {each}" for each in expected]


def test_unknown_parameters_of_services_are_warnings_if_they_resemble_others_and_else_notes(
    file: Path,
) -> None:
    acme = file.parent / "acme"
    for name, text in {
        "notify": "AccountSidd: 1\nAuthToken: a\ncolour: red\n",
        "timer": "schedule: {hourly: true}\n",
        "device2": "protocol: {name: 'onep:v1/http'}\nalias1: 1\n",
        "webservice": "auth: [basic]\nheaders: {Content-Security-Policy: a}\n",
    }.items():
        (acme / f"services/{name}.yaml").write_text(text)
    file.write_text(file.read_text().replace("path: acme,", "path: acme, services: {Notify: {AuthTokn: a}},"))
    result = checked(file, "--files")
    assert result.exit_code == 0
    keys = "documented_endpoints, api_info, security_schemes, security, rate_limit, websockets, headers"
    assert [each.partition(f"{acme}: ")[2] for each in result.stderr.splitlines()] == [
        "services/notify.yaml:1: AccountSidd: Notify has no such parameter; did you mean AccountSid?",
        "services.Notify: AuthTokn: Notify has no such parameter; did you mean AuthToken?",
        f"services/webservice.yaml:1: auth: unknown key, ignored; there are: {keys}",
    ]
    assert [each.partition("note: ")[2] for each in result.stdout.splitlines() if "note" in each] == [
        "no script requires module 'm'",
        "line 1: protocol: has no effect in labkit",
        "line 3: colour: Notify has no such parameter, only scripts may read it",
        "line 1: schedule: has no effect in labkit",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["solution.yaml", "any.yml", "Solutionfile.json"])
def test_a_project_file_is_refused_with_the_name_of_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"formatversion": "1.0.0", "endpoints": {}}')
    result = checked(path)
    expected = f"{path}: is the project file of a solution: expected its folder, {tmp_path}\n"
    assert (result.exit_code, result.output) == (1, expected)


def test_a_service_that_follows_by_a_subscription_is_no_warning_at_load(tmp_path: Path) -> None:
    lights = "--#ENDPOINT GET /a\nreturn Lights.on()\n"
    of_lights = {
        "endpoints/a.lua": lights,
        "endpoints/b.lua": "",
        "modules/units.lua": "",
        "services/lights.lua": "--#EVENT lights on\n",
        "services/sms_in.lua": "",
    }
    folder = of_scripts(tmp_path / "acme", of_lights)
    with Lab(seed=1) as lab:
        lab.solution("lights")
        with pytest.warns(LabWarning) as told:
            acme = lab.solution("acme", path=folder)
        assert [str(each.message).partition(": ")[2] for each in told] == [
            "handles events that nothing emits yet: sms in (services/sms_in.lua:1)"
        ]
        problems = acme.files["problems"]
        assert "no service has the name 'Lights'" in str(problems["endpoints/a.lua"])
        assert "no service of this lab emits events of 'sms'" in str(problems["services/sms_in.lua"])
        assert not problems["services/lights.lua"]
