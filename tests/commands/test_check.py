"""`labkit check`: problems of a lab.yaml and of scripts, one a line, without a platform that runs."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from click.testing import Result

from labkit import Lab
from labkit.conformance.target import LAB_YAML
from labkit.core.errors import LabWarning
from labkit.edge.certificates import Authority
from labkit.settings.notebooks import notebooks_folder
from tests.rig import invoked, written

WHOLE = """
https_port: 1  # nobody may listen there
data: lab.db
products:
  - id: thermostat
    content: [{file: fw.bin}]
solutions:
  - {id: acme, path: acme, products: [thermostat]}
  - {id: hall, subscriptions: [{publisher: lights, script_key: Lights}]}
  - id: lights
    services: {Interface: {operations: [{name: switch, parameters: {title: lamp, type: object}}]}}
faults:
  - {where: POST /provision/activate, product: thermostat, status: 503, after: 5}
  - {where: GET /x, site: acme.apps.lab.localhost, status: 503}
  - {where: acme.switch, status: 503}
"""
CAN_ADD = "`stubs` in lab.yaml, or lab.service, can add it"


checked = functools.partial(invoked, "check")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    scripts = {
        "endpoints/a.lua": "--#ENDPOINT GET /a\nreturn 1\n",
        "services/device.lua": "--#EVENT device datapoint\nprint(data)\n",
        "modules/m.lua": "error('a module must not run')\n",
    }
    written(tmp_path / "acme", scripts)
    (tmp_path / "fw.bin").write_bytes(b"firmware")
    (tmp_path / "lab.yaml").write_text(WHOLE.replace("  - {where: acme.switch, status: 503}\n", ""))
    return tmp_path / "lab.yaml"


def test_a_whole_lab_has_no_problems_and_nothing_is_started(file: Path) -> None:
    before = {each: each.stat().st_mtime_ns for each in file.parent.rglob("*")}
    result = checked(file)
    assert (result.exit_code, result.output) == (0, f"{file}: no problems\n")
    assert {each: each.stat().st_mtime_ns for each in file.parent.rglob("*")} == before


def test_the_files_of_labkit_have_no_problems() -> None:
    for path in (notebooks_folder() / "lab.yaml", LAB_YAML):
        assert checked(path).output == f"{path}: no problems\n"


def test_each_script_that_does_not_compile_is_a_line(file: Path) -> None:
    acme = file.parent / "acme"
    for name in ("endpoints/a.lua", "services/device.lua", "modules/m.lua"):
        script = acme / name
        script.write_text(f"{script.read_text()}\nend\n")
    result = checked(file)
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{acme}: endpoints/a.lua:4: '<eof>' expected near 'end'",
        f"{acme}: services/device.lua:4: '<eof>' expected near 'end'",
        f"{acme}: modules/m.lua:3: '<eof>' expected near 'end'",
    ]


def test_misspelt_headers_are_warnings(file: Path) -> None:
    acme = file.parent / "acme"
    (acme / "endpoints/a.lua").write_text(
        "--#ENDPOIT GET /b\n--#ENDPOINT GET /a\n--#region\nreturn 1\n-- #ENDPOINT GET /c\n"
    )
    (acme / "services/device.lua").write_text("--#event device datapoint\n--#EVENT device datapoint\n")
    result = checked(file)
    assert (result.exit_code, result.stdout) == (0, "")
    no_header = "is no header and has no effect; did you mean"
    assert result.stderr.splitlines() == [
        f"labkit: warning: {acme}: endpoints/a.lua:1: --#ENDPOIT {no_header} ENDPOINT?",
        f"labkit: warning: {acme}: endpoints/a.lua:5: -- #ENDPOINT {no_header} --#ENDPOINT?",
        f"labkit: warning: {acme}: services/device.lua:1: --#event {no_header} EVENT?",
    ]


def test_a_key_of_another_certificate_is_a_problem(file: Path) -> None:
    for name in ("one", "two"):
        certificate, private = Authority.create("ec").leaf(["lab.example"])
        (file.parent / f"{name}.pem").write_bytes(certificate)
        (file.parent / f"{name}.key").write_bytes(private)

    def with_key(name: str) -> Result:
        return checked(file, "--set", "tls.certificate=one.pem", "--set", f"tls.private_key={name}.key")

    assert with_key("one").exit_code == 0
    result = with_key("two")
    assert result.exit_code == 1
    assert "tls.certificate: " in result.output
    assert "key values mismatch" in result.output


NUMBER = "Input should be a valid number, unable to parse string as a number"
REQUIRED = "Parameter {} is required, {} is not a parameter of {}; did you mean {}?"


def test_calls_of_unknown_operations_and_with_wrong_arguments_are_warnings(file: Path) -> None:
    acme = file.parent / "acme"
    for name, text in {
        "endpoints/b.lua": "--#ENDPOINT GET /b\nKeystore.get{key = 'a'}\n--#ENDPOINT GET /c\nKeystore.gt{key = 'a'}\n",
        "modules/n.lua": "-- Keystore.gone()\nreturn User.listUser()\n",
        "endpoints/d.lua": "--#ENDPOINT PUT /d/{sn} text/plain\nreturn request.body.state, request.parameters.id\n",
        "modules/o.lua": (
            "local T, name = Timer, 't'\nT.sendAfter{duration = '60s', timer_id = name}\nTsdb.write{metric = {a = 1}}\n"
            "Keystore.get{ky = 'a'}\nKeystore.get(name)\nNotify.send{Body = 'x'}\nreturn 1\n"
        ),
    }.items():
        (acme / name).write_text(text)
    result = checked(file)
    assert (result.exit_code, result.stdout) == (0, "")
    assert [each.removeprefix(f"labkit: warning: {acme}: ") for each in result.stderr.splitlines()] == [
        "endpoints/b.lua:4: Keystore has no operation 'gt'; did you mean get?",
        "modules/n.lua:2: User has no operation 'listUser'; did you mean listUsers?",
        f"modules/o.lua:3: Tsdb.write: {REQUIRED.format('metrics', 'metric', 'write', 'metrics')}",
        f"modules/o.lua:4: Keystore.get: {REQUIRED.format('key', 'ky', 'get', 'key')}",
        f"modules/o.lua:2: Timer.sendAfter: Parameter duration validation failed: {NUMBER}",
        "endpoints/d.lua:2: request.body is a text, as the route is text/plain: it has no field 'state'",
    ]


def test_a_folder_or_a_script_that_is_no_solution_is_told(file: Path) -> None:
    folder = file.parent
    assert "is a script: expected the folder of its solution" in checked(folder / "a.lua").output
    assert checked(folder).stderr.endswith(f"modules/ …); did you mean {folder / 'lab.yaml'}?\n")


def test_misnamed_files_and_folders_are_warnings_all_at_once(file: Path) -> None:
    acme = file.parent / "acme"
    (acme / "modules").rename(acme / "module")
    (acme / "services/device.lua").rename(acme / "services/device.luo")
    for name, text in {
        "service/a_b.lua": "",
        "count.lua": "",
        "services/notfy.yaml": "a: 1",
        "services/device.yaml": "a: 1",
        "services/notify.yml": "{}",
    }.items():
        (acme / name).parent.mkdir(exist_ok=True)
        (acme / name).write_text(text)
    result = checked(file)
    assert (result.exit_code, result.stdout) == (0, "")
    scripts = "scripts are in endpoints/, modules/ and services/"
    assert result.stderr.splitlines() == [
        f"labkit: warning: {acme}: {text}"
        for text in (
            f"count.lua: nothing reads it: {scripts}",
            "module/: nothing reads it; did you mean modules/?",
            "service/: nothing reads it; did you mean services/?",
            "services/device.luo: nothing reads it; did you mean device.lua?",
            "services/notfy.yaml: no service has this name; did you mean Notify?",
        )
    ]


def test_likely_mistakes_of_settings_are_warnings(file: Path) -> None:
    text = file.read_text().replace("path: acme,", "path: acme, services: {Notfy: {}, webservic: {}},")
    text = text.replace(
        "solutions:",
        "  - id: lamp\n    identity_format: {type: base10}\n    identities: ['5', x]\n"
        "    resources: {state: {allowed: [on, off]}}\n  - {id: lights, identities: ['w-{1..3']}\nsolutions:",
        1,
    )
    (file.parent / "acme/roles.yaml").write_text("- role_id: user\n")
    (file.parent / "acme/services/timer_Timer.lua").write_text("")
    file.write_text(text.replace("where: POST /provision/activate", "where: POST /provision/activat"))
    result = checked(file, "--fault", "GET /a status=503")
    assert (result.exit_code, result.stdout) == (0, "")
    silent = ", so that this handler does not run"
    *warnings, fault = result.stderr.splitlines()
    assert [
        each.removeprefix("labkit: warning: ").removeprefix(f"{file.parent}/acme: ") for each in warnings
    ] == [
        "services.Notfy: no service has this name; did you mean Notify?",
        "services.webservic: no service has this name; did you mean webservice?",
        f"services/timer_Timer.lua:1: timer has no event 'Timer'{silent}; did you mean timer?",
        "roles.yaml: role 'user': Parameter role_id validation failed: user is a reserved word.",
        "product 'lamp': identities: 'x': an identity of this product consists of decimal digits",
        "product 'lights': identities: 'w-{1..3': is no range such as w-{0001..2000}",
    ]
    assert "no request has the path '/provision/activat'; did you mean /provision/activate?" in fault


def test_problems_of_every_section_are_lines(file: Path) -> None:
    (file.parent / "acme" / "endpoints" / "b.lua").write_text("--#ENDPOINT FETCH /b\n")
    (file.parent / "fw.bin").unlink()
    (file.parent / "fw.bin").mkdir()
    text = file.read_text().replace("product: thermostat, status", "product: thermostatt, status")
    text = text.replace("type: object", "type: objekt")
    text = text.replace("solutions:", "  - {id: lamp, domain: thermostat.m2.lab.localhost}\nsolutions:")
    file.write_text(text)
    lines = checked(file).output.splitlines()
    assert [each.partition(": ")[0] for each in lines] == [
        "product 'thermostat'",
        "product 'lamp'",
        str(file.parent / "acme"),
        "lights",
        "faults[0]",
    ]
    assert lines[1] == "product 'lamp': domain thermostat.m2.lab.localhost is taken by product 'thermostat'"
    assert "endpoints/b.lua:1: " in lines[2]


def test_handlers_and_faults_that_nothing_reaches_are_warnings(file: Path) -> None:
    acme = file.parent / "acme"
    services = acme / "services"
    (services / "device.lua").write_text(
        "--#EVENT device datapont\nprint(event)\n--#EVENT devise datapoint\n"
    )
    (services / "twilio_sms.lua").write_text("return 'of a service that no lab has'")
    (services / "tsdb.lua").write_text("--#EVENT exportJob\nreturn 'of a service without events'")
    (services / "a.lua").write_text("--#EVENT timer\n")
    (services / "webservice_anything.lua").write_text("return 'of a service with events of any name'")
    (services / "lights_gone.lua").write_text("return 'of another solution, which may publish it later'")
    file.write_text(file.read_text().replace("POST /provision/activate", "POST /provision/activat"))
    result = checked(file)
    assert (result.exit_code, result.stdout) == (0, "")
    *lines, fault = [each.removeprefix(f"labkit: warning: {acme}: ") for each in result.stderr.splitlines()]
    silent = ", so that this handler does not run"
    there = (
        ", unless the solution subscribes to one of this name; there are: config, device, device2, interface"
    )
    there += ", scripts, timer, user, webservice, websocket"
    word = "; the one word of --#EVENT is the event, and the file's name the service"
    assert lines == [
        f"services/a.lua:1: no service of this lab emits events of 'a'{there}{word}",
        f"services/device.lua:1: device has no event 'datapont'{silent}; did you mean datapoint?",
        f"services/device.lua:3: no service of this lab emits events of 'devise'{silent}; did you mean device?",
        f"services/tsdb.lua:1: no service of this lab emits events of 'tsdb'{there}{word}",
        f"services/twilio_sms.lua:1: no service of this lab emits events of 'twilio'{there}",
    ]
    assert fault == (
        "labkit: warning: fault 'fault 1' at 'POST /provision/activat': no request has the path"
        " '/provision/activat'; did you mean /provision/activate?"
    )


def test_a_subscription_is_checked_with_its_publisher_in_any_order(file: Path) -> None:
    file.write_text(file.read_text().replace("script_key: Lights", "script_key: User"))
    result = checked(file)
    assert result.exit_code == 1
    assert result.output.startswith("hall: subscriptions[0]")


def test_all_wrong_keys_are_lines(tmp_path: Path) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text("\n".join(f"key{number}: 1" for number in range(7)))
    result = checked(file)
    assert (result.exit_code, len(result.output.splitlines())) == (1, 7)
    assert result.output.startswith("key0: unknown key (line 1); ")


def test_a_missing_file_and_wrong_options_are_lines(file: Path) -> None:
    missing = file.parent / "none.yaml"
    assert checked(missing).output == f"{missing}: cannot be read: No such file or directory\n"
    wrong = checked(file, "--set", "products.thermostat.auth=tokn", "--set", "http_port=x")
    assert wrong.output.splitlines() == [
        "http_port: expected a valid integer, not 'x'",
        "products.thermostat.auth: expected 'token', 'password' or 'certificate', not 'tokn'",
    ]
    assert checked(file, "--fault", "GET /x status=500 product=lamb").output == (
        "faults[2]: no product 'lamb', there are: thermostat\n"
    )
    wrong = checked(file, "--fault", "GET /x status=5")
    assert wrong.output == "faults[2].status: expected greater than or equal to 200, not 5\n"


SCRIPTS = {
    "endpoints/a.lua": (
        "--#ENDPOINT GET /a\nTwilio.post{To = 1}\ncount = 1\n--#ENDPOINT PUT /é text/plain\nKeystore.get{key = 1}\n"
    ),
    "endpoints/b.lua": "return 'no header'\n",
    "modules/units.lua": "return require('unit')\n",
    "services/keystore.yaml": "x: 1\n",
    "assets/index.html": "",
}


def of_scripts(folder: Path, more: dict[str, str] | None = None) -> Path:
    return written(folder, {**SCRIPTS, **(more or {})})


def test_the_files_of_a_folder_are_listed_with_notes_and_a_stub(tmp_path: Path) -> None:
    folder = of_scripts(tmp_path / "acme")
    before = sorted(folder.rglob("*"))
    result = checked(folder)
    assert result.exit_code == 0
    assert [each.rstrip() for each in result.stdout.splitlines()] == [
        f"{folder}:",
        "  endpoints/a.lua         endpoints: GET /a, PUT /é  calls Twilio.post, Keystore.get",
        "                          note: line 3: assigns the global 'count', which later runs see, too",
        "  modules/units.lua       module: units",
        "                          note: no script requires module 'units'",
        "  services/keystore.yaml  configuration: x",
        "                          note: line 1: x: Keystore has no such parameter, only scripts may read it",
        "  assets/index.html       asset: /index.html, /",
        "  endpoints/b.lua         other",
        "",
        "A stub of Twilio, with the operations and arguments that the scripts use:",
        "",
        "# Save it as twilio.py, and write into lab.yaml: stubs: {Twilio: twilio.py}",
        '# In a cell, end it with: lab.service("Twilio", post=post)',
        '# In a test in Lua: lab.stub("Twilio", {post = {}})',
        "",
        "",
        "def post(To=None, **others):",
        "    return {}",
        "",
    ]
    assert result.stderr.splitlines() == [
        f"labkit: warning: {folder}: endpoints/b.lua: has no line --#ENDPOINT, so that no request runs it",
        f"labkit: warning: {folder}: modules/units.lua:1: no module has the name 'unit'; did you mean units?",
        f"labkit: warning: {folder}: endpoints/a.lua:2: no service has the name 'Twilio'; {CAN_ADD}",
    ]
    assert sorted(folder.rglob("*")) == before


def test_errors_of_all_files_come_at_once_beside_warnings(tmp_path: Path) -> None:
    wrong = {
        "endpoints/c.lua": "--#ENDPOINT FETCH /c\n",
        "endpoints/d.lua": "--#ENDPOINT GET\n",
        "services/e.lua": "--#EVENT a b c\n",
        "modules/f.lua": "end\n",
    }
    result = checked(of_scripts(tmp_path / "acme", wrong))
    assert result.exit_code == 1
    errors = [each for each in result.stderr.splitlines() if "warning" not in each]
    assert [each.split(": ")[1].split(":")[0] for each in errors] == list(wrong)
    assert "no service has the name 'Twilio'" in result.stderr


def test_a_route_in_two_files_hides_no_warning(tmp_path: Path) -> None:
    result = checked(of_scripts(tmp_path / "acme", {"endpoints/c.lua": "--#ENDPOINT GET /a\n"}))
    assert "GET /a is in endpoints/a.lua:1 too" in result.stderr
    assert "no service has the name 'Twilio'" in result.stderr


def test_strict_counts_warnings_and_not_notes(tmp_path: Path) -> None:
    assert checked(of_scripts(tmp_path / "acme"), "--strict").exit_code == 1
    quiet = tmp_path / "quiet"
    (quiet / "modules").mkdir(parents=True)
    (quiet / "modules" / "m.lua").write_text("count = 1\n")
    result = checked(quiet, "--strict")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, f"{quiet}: no problems")


def test_json_has_all_of_it(tmp_path: Path) -> None:
    folder = of_scripts(tmp_path / "acme", {"endpoints/c.lua": "--#ENDPOINT FETCH /c\n"})
    found = json.loads(checked(folder, "--json").stdout)
    assert [len(found[each]) for each in ("errors", "warnings", "stubs")] == [1, 3, 1]
    [listed] = found["files"].values()
    assert listed[0] == {
        "file": "endpoints/a.lua",
        "kind": "endpoints",
        "holds": ["GET /a", "PUT /é"],
        "calls": ["Twilio.post", "Keystore.get"],
        "findings": [
            {"file": "endpoints/a.lua", "line": 2, "level": "warning",
             "text": "no service has the name 'Twilio'; `stubs` in lab.yaml, or lab.service, can add it"},
            {"file": "endpoints/a.lua", "line": 3, "level": "note",
             "text": "assigns the global 'count', which later runs see, too"},
        ],
    }  # fmt: skip


def test_a_cell_sees_the_files_and_the_warnings_at_load(tmp_path: Path) -> None:
    folder = of_scripts(tmp_path / "acme")
    with Lab(seed=1) as lab, pytest.warns(LabWarning) as told:
        files = lab.solution("acme", path=folder).files
    texts = "".join(str(each.message) for each in told)
    assert "has no line --#ENDPOINT" in texts
    [line] = [str(each.message) for each in told if "Twilio" in str(each.message)]
    assert line == (
        "solution 'acme': calls services that are not there yet: Twilio (endpoints/a.lua:2); `stubs` in lab.yaml, "
        "lab.service or a subscription adds one"
    )
    assert files.loc["endpoints/a.lua", "holds"] == "GET /a, PUT /é"
    assert str(files.loc["endpoints/a.lua", "problems"]).startswith(
        "warning: line 2: no service has the name"
    )


def test_a_service_that_the_lab_has_is_no_warning(tmp_path: Path) -> None:
    folder = tmp_path / "acme" / "endpoints"
    folder.mkdir(parents=True)
    (folder / "a.lua").write_text(SCRIPTS["endpoints/a.lua"])
    with Lab(seed=1) as lab:
        lab.service("Twilio", post=lambda To: To)
        files = lab.solution("acme", path=folder.parent).files  # a warning would be an error here
    assert "Twilio" not in str(files.loc["endpoints/a.lua", "problems"])
