"""`labkit check`: files with parameters of services, project files, and what is left for later at load."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

import pytest

from labkit import Lab
from labkit.core.errors import LabWarning
from tests.cases import cases
from tests.commands.test_check import checked, file, of_scripts
from tests.rig import invoked

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


def test_an_error_of_a_script_hides_none_of_a_services_file(tmp_path: Path) -> None:
    files = {
        "endpoints/b.lua": "--#ENDPOINT GET /b\n= 1\n",
        "services/webservice.yaml": "security: [barer]\n",
    }
    folder = of_scripts(tmp_path / "acme", files)
    errors = [each for each in checked(folder).stderr.splitlines() if "warning" not in each]
    assert [each.removeprefix(f"{folder}: ").partition(" ")[0] for each in errors] == [
        "endpoints/b.lua:2:",
        "services/webservice.yaml:1:",
    ]


def test_values_of_the_web_servers_file_that_nothing_uses_are_warnings(tmp_path: Path) -> None:
    text = (
        "documented_endpoints: [lmaps, lamps]\napi_info: {titel: A, x-logo: B}\nsecurity_schemes:\n"
        "  key: {type: apiKey, nmae: X-Key}\n  other: {type: apiKey, in: heder}\n"
    )
    scripts = "--#ENDPOINT GET /lamps\n--#TAGS lamps\nreturn 1\n"
    folder = of_scripts(tmp_path / "acme", {"endpoints/b.lua": scripts, "services/webservice.yaml": text})
    warned = [each.partition("webservice.yaml:")[2] for each in checked(folder).stderr.splitlines()]
    assert [each for each in warned if each] == [
        "5: security_schemes.other.in: expected one of header, query, not 'heder'; did you mean header?",
        "2: api_info.titel: unknown key; did you mean title?",
        "4: security_schemes.key.nmae: unknown key; did you mean name?",
        "1: documented_endpoints: no route has the tag 'lmaps'; did you mean lamps?",
    ]


def test_unknown_parameters_of_services_are_warnings_if_they_resemble_others_and_else_notes(
    file: Path,
) -> None:
    acme = file.parent / "acme"
    for name, text in {
        "notify": "AccountSidd: 1\nAuthToken: a\ncolour: red\n",
        "timer": "schedule: {hourly: true, dayly: true}\n",
        "config": "reuse_vm: true\n",
        "device2": "protocol: {name: 'onep:v1/http'}\nalias1: 1\nresources: {a: {initial: 1}}\n",
        "webservice": "auth: [basic]\nheaders: {Content-Security-Policy: a}\n",
    }.items():
        (acme / f"services/{name}.yaml").write_text(text)
    file.write_text(file.read_text().replace("path: acme,", "path: acme, services: {Notify: {AuthTokn: a}},"))
    result = checked(file, "--files")
    assert result.exit_code == 0
    keys = "documented_endpoints, api_info, security_schemes, security, rate_limit, websockets, headers, cors, domain"
    assert [each.partition(f"{acme}: ")[2] for each in result.stderr.splitlines()] == [
        "services/device2.yaml:3: resources.a.initial: no effect, since the resource is not settable",
        "services/notify.yaml:1: AccountSidd: Notify has no such parameter; did you mean AccountSid?",
        "services/timer.yaml:1: schedule.dayly: unknown key, ignored; did you mean daily?",
        "services.Notify: AuthTokn: Notify has no such parameter; did you mean AuthToken?",
        f"services/webservice.yaml:1: auth: unknown key, ignored; there are: {keys}",
    ]
    assert [each.partition("note: ")[2] for each in result.stdout.splitlines() if "note" in each] == [
        "no script requires module 'm'",
        "line 1: reuse_vm: has no effect in labkit",
        "line 2: alias1: Device2 has no such parameter, only scripts may read it",
        "line 1: protocol: has no effect in labkit",
        "line 3: colour: Notify has no such parameter, only scripts may read it",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["solution.yaml", "any.yml", "Solutionfile.json"])
def test_a_project_file_is_refused_with_the_name_of_its_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text('{"formatversion": "1.0.0", "endpoints": {}}')
    result = checked(path)
    expected = f"{path}: is the project file of a solution: expected its folder, {tmp_path}\n"
    assert (result.exit_code, result.output) == (1, expected)


def test_a_service_that_follows_by_a_subscription_is_no_warning_at_load(lab: Lab, tmp_path: Path) -> None:
    lights = "--#ENDPOINT GET /a\nreturn Lights.on()\n"
    of_lights = {
        "endpoints/a.lua": lights,
        "endpoints/b.lua": "",
        "modules/units.lua": "",
        "services/lights.lua": "--#EVENT lights on\n",
        "services/sms_in.lua": "",
    }
    folder = of_scripts(tmp_path / "acme", of_lights)
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


def nested(folder: Path) -> None:
    here = os.open(folder, os.O_RDONLY)
    try:
        for _ in range(1200):
            os.mkdir("d", dir_fd=here)
            inner = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = inner
    finally:
        os.close(here)


def unnest(folder: Path) -> None:
    """Remove nested folders, which are too deep for shutil.rmtree."""
    while (folder / "d").exists():
        below = folder / "d" / "d"
        if below.exists():
            below.rename(folder / "e")
        (folder / "d").rmdir()
        if (folder / "e").exists():
            (folder / "e").rename(folder / "d")


def large(file: Path) -> None:
    with file.open("wb") as opened:
        opened.truncate(3 << 30)


@cases(
    ("name", "make", "expected"),
    [
        ("tests/x.lua", os.mkfifo, "tests/x.lua: is not a file"),
        ("services/x.yaml", os.mkfifo, "services/x.yaml: is not a file"),
        ("roles.yaml", os.mkfifo, "labkit: warning: {folder}: roles.yaml: is not a file; ignored"),
        ("modules/x.lua", large, "modules/x.lua: is too large, expected at most 16777216 bytes"),
        ("tests/x.lua", large, "tests/x.lua: is too large, expected at most 2097152 bytes"),
        ("modules", nested, "has folders that are nested more than 200 deep"),
    ],
)
def test_what_is_no_file_or_too_large_is_told_at_once(
    tmp_path: Path, name: str, make: Callable[[Path], None], expected: str
) -> None:
    folder = Path(mkdtemp(dir=tmp_path))
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if make is nested:
        path.mkdir()
    make(path)
    result = checked(folder)
    if make is nested:
        unnest(path)
    assert [each.removeprefix(f"{folder}: ") for each in result.stderr.splitlines()] == [
        expected.format(folder=folder)
    ]


def test_names_and_texts_of_a_folder_move_no_cursor(tmp_path: Path) -> None:
    name = "a\x1b[31m\n\u202e.lua"
    text = 'it("n\\027[1m\\r\\n", function() print("p\\027]0;x\\007\\nq") error("e\\155") end)'
    folder = of_scripts(tmp_path / "acme", {f"endpoints/{name}": "return 1", "tests/a.lua": text})
    shown = [checked(folder), invoked("test", folder)]
    for result in shown:
        assert not set(result.output) & set("\x1b\r\x07\x9b\u202e"), result.output
        assert "a\\x1b[31m\\n\\u202e.lua: has no line" in result.stderr
    assert "n\\x1b[1m\\r\\n" in shown[1].stdout
    assert "p\\x1b]0;x\\x07\\nq" in shown[1].stdout
