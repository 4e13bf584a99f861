"""Stubs of vendors' services in the settings: Python files and fixed results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from labkit import Lab, LabError, LabWarning, SettingsError
from labkit.fleet.flow import FlowClient, LabAddress
from labkit.settings import load
from tests.cases import cases
from tests.forked_starts import serving
from tests.rig import invoked, written

RESULTS: dict[str, Any] = {
    "postMessage": {"sid": "SM1", "parts": [1, 2.5], "to": "é\u2028"},
    "listMessage": [],
    "cancel": None,
}
FILE = """
from json import dumps  # not an operation, since it is another module's
from labkit import ServiceError

SENT = []
Limit = 2  # no function

def postMessage(To: str, Body: str = ""):
    \"\"\"Send an SMS.\"\"\"
    if len(SENT) >= Limit:
        raise ServiceError(429, "too many")
    SENT.append(_number(To))
    return {"sid": len(SENT)}

async def list_():
    return {"to": SENT}

def _number(to):
    return to.lstrip("+")
"""
CLASS = """
from labkit import Caller, Service, operation

class Twilio(Service):
    name = "Twilio"

    def __init__(self, context):
        self.clock = context.clock

    @operation
    async def now(self, caller: Caller) -> float:
        return self.clock.now()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "twilio.py").write_text(FILE, "utf-8")
    return tmp_path / "twilio.py"


def test_fixed_results_for_two_tenants_and_any_arguments() -> None:
    with Lab(seed=7, stubs={"Twilio": RESULTS}) as lab:
        for name in ("acme", "other"):
            tenant = lab.solution(name)
            tenant.route(
                "GET", "/", lua='return Twilio.postMessage{To = "+1", AuthToken = "s3cret", [""] = 1}'
            )
            assert tenant.get("/").json() == RESULTS["postMessage"]
            assert [tenant.Twilio.listMessage(), tenant.Twilio.cancel()] == [[], None]
            with pytest.warns(LabWarning, match="Twilio has no operation 'post'"):
                assert tenant.Twilio.post()["status"] == 404
        calls = [each for each in lab.journal.select("call") if each.summary == "Twilio.postMessage"]
        assert [each.actor for each in calls] == ["acme", "other"]
        assert dict(calls[0].detail or {})["parameters"] == {"": 1, "AuthToken": "***", "To": "+1"}


def test_a_result_that_a_script_or_a_cell_changes_stays_as_it_is() -> None:
    with Lab(seed=7, stubs={"Twilio": {"post": {"parts": [1]}}}) as lab:
        acme = lab.solution("acme")
        acme.Twilio.post()["parts"].append(2)
        acme.route("GET", "/", lambda services: services.Twilio.post()["parts"].append(2))
        acme.get("/")
        assert acme.Twilio.post() == {"parts": [1]}


def test_functions_of_a_file_are_operations(file: Path) -> None:
    with Lab(seed=7, stubs={"Twilio": file}) as lab, Lab(seed=7, stubs={"Twilio": str(file)}) as second:
        acme = lab.solution("acme")
        assert dir(acme.Twilio) == ["list", "postMessage"]
        assert acme.Twilio.postMessage(To="+1") == {"sid": 1}
        assert acme.Twilio.postMessage()["error"] == "Parameter To is required."
        lab.restart()  # the vendor keeps what it has
        assert acme.Twilio.postMessage(To="+2") == {"sid": 2}
        assert acme.Twilio.postMessage(To="+3")["status"] == 429
        assert acme.Twilio.list() == {"to": ["1", "2"]}
        assert second.solution("acme").Twilio.list() == {"to": []}
        lab.faults.add("Twilio.list", status=503)
        assert acme.Twilio.list()["status"] == 503
        lab.service("Twilio", list=lambda: "replaced")
        lab.faults.clear()
        assert acme.Twilio.list() == "replaced"


def test_a_class_of_a_file_is_the_service(file: Path) -> None:
    file.write_text(CLASS)
    with Lab(seed=7, stubs={"Twilio": file}) as lab:
        lab.clock.advance(seconds=60)
        assert lab.solution("acme").Twilio.now() == lab.clock.time


WRONG = [
    ("def post(To:\n", r"twilio.py:1: SyntaxError: '\(' was never closed"),
    ("x = 1\n\n1 / 0\n", "twilio.py:3: ZeroDivisionError: division by zero"),
    ("raise SystemExit(3)\n", "twilio.py:1: SystemExit: 3"),
    (
        "import nothing_of_this_name\n",
        "twilio.py:1: ModuleNotFoundError: No module named 'nothing_of_this_name'",
    ),
    (
        "from json import dumps\n",
        "twilio.py: expected a function for each operation, such as def postMessage",
    ),
    (
        "def post(_x): ...\n",
        "twilio.py: Twilio.post: expected parameters that can be given by name, not '_x'",
    ),
    (CLASS.replace('"Twilio"', '"Twili"'), "twilio.py: the class Twilio has the name 'Twili'"),
    (
        CLASS + CLASS.partition("\n\n")[2].replace("class Twilio", "class Other"),
        "twilio.py: expected one class of Se",
    ),
]


@cases(("text", "expected"), WRONG)
def test_a_wrong_file_is_an_error(file: Path, text: str, expected: str) -> None:
    file.write_text(text)
    settings = file.with_name("lab.yaml")
    settings.write_text("https_port: 0\nstubs: {Twilio: twilio.py}\n")
    result = invoked("check", settings)
    [line] = result.stderr.splitlines()
    assert (result.exit_code, line[: len("stubs.Twilio: ")]) == (1, "stubs.Twilio: ")
    assert re.search(expected.replace("(", r"\(").replace(r"\\(", r"\("), line), line
    with pytest.raises(SettingsError, match=r"^stubs\.Twilio: "):
        Lab(seed=7, stubs={"Twilio": file})


SETTINGS = [
    ("stubs:\n  Twilio: none.py", "stubs.Twilio: no such file or folder: none.py (line 2)"),
    (
        "stubs:\n  Twilio: 5",
        "stubs.Twilio: expected the name of a Python file, or a mapping with the result of each operation (line 2)",
    ),
    ("stubs:\n  Twilio: {}", "stubs.Twilio: expected at least 1 item, not 0 (line 2)"),
    (
        "stubs:\n  Twilio:\n    post-it: {}",
        "stubs.Twilio.post-it: expected a letter, then letters, digits or '_', at most 64 in all, not 'post-it'",
    ),
    (
        "stubs:\n  twilio: {post: 1}",
        "stubs.twilio: expected a capital letter, then letters, digits or '_', at most 64 in all, not 'twilio'",
    ),
    ("stub:\n  Twilio: {post: 1}", "stub: unknown key (line 1); did you mean stubs?"),
    ("stubs:\n  Twilio: {a: 1}\n  Twilio: {a: 2}", "stubs.Twilio: is given twice (line 3)"),
]


@cases(("text", "expected"), SETTINGS)
def test_a_wrong_setting_is_named_with_its_line(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "lab.yaml").write_text(text)
    with pytest.raises(SettingsError, match=re.escape(expected)):
        load(tmp_path / "lab.yaml")


def test_a_folder_and_a_missing_file_are_errors(tmp_path: Path) -> None:
    for path, said in (
        (tmp_path, "expected a Python file, not a folder"),
        (tmp_path / "é.py", "No such file"),
    ):
        with pytest.raises(SettingsError, match=rf"^stubs\.Twilio: {re.escape(str(path))}: {said}"):
            Lab(seed=7, stubs={"Twilio": path})


def test_all_wrong_stubs_are_named_and_the_platforms_services_have_none(file: Path) -> None:
    file.write_text("1 / 0")
    with pytest.raises(SettingsError) as told:
        Lab(seed=7, stubs={"Twilio": file, "Keystore": {"get": 1}})
    assert str(told.value).count("stubs.") == 2
    assert "stubs.Keystore: the platform has this service; a fault can change its results" in str(told.value)


def test_fixed_results_are_no_obstacle_to_snapshots_and_a_file_is(file: Path) -> None:
    with Lab(seed=7, stubs={"Twilio": RESULTS}) as lab:
        lab.solution("acme")
        lab.restore(lab.snapshot())
        assert lab.solution("acme").Twilio.listMessage() == []
    with (
        Lab(seed=7, stubs={"Twilio": file}) as lab,
        pytest.raises(LabError, match=r"^snapshot: the service Twilio consists of Python functions"),
    ):
        lab.snapshot()


def test_forks_and_resets_have_the_stubs(file: Path) -> None:
    with Lab(seed=7, stubs={"Twilio": file, "Mail": {"send": 1}}) as lab:
        lab.reset()
        acme = lab.solution("acme")
        assert [acme.Twilio.postMessage(To="+1"), acme.Mail.send()] == [{"sid": 1}, 1]
        forks = lab.fork(_sent, ["+2", "+3"])
        assert forks.results == [[{"sid": 2}, 1]] * 2
        assert acme.Twilio.list() == {"to": ["1"]}


def _sent(lab: Lab, to: str) -> list[Any]:
    acme = lab.solution("acme")
    return [acme.Twilio.postMessage(To=to), acme.Mail.send()]


LAB_YAML = """
https_port: 0
stubs: {Twilio: stubs/twilio.py, Fax: {send: {id: 1}}}
solutions: [{id: acme, path: acme}]
"""
SCRIPT = """--#ENDPOINT GET /sms
return {Twilio.postMessage{To = "+1"}.sid, Fax.send{to = "ann"}.id}
"""
TESTS = """it("uses the stubs", function() assert.are.same({1, 1}, solution.get("/sms").json) end)
it("replaces one", function()
  lab.stub("Fax", {send = {id = 2}})
  assert.are.same({1, 2}, solution.get("/sms").json)
end)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(
        tmp_path,
        {
            "stubs/twilio.py": FILE,
            "lab.yaml": LAB_YAML,
            "acme/endpoints/sms.lua": SCRIPT,
            "acme/tests/sms.lua": TESTS,
        },
    )


def test_check_and_tests_in_lua_know_the_stubs_of_a_lab_yaml(folder: Path) -> None:
    checked = invoked("check", folder / "lab.yaml", "--files")
    assert (checked.exit_code, checked.stderr) == (0, "")
    assert "A stub of" not in checked.stdout
    tested = invoked("test", folder / "acme", "--config", folder / "lab.yaml")
    assert tested.stdout.endswith("2 passed\n"), tested.output


@pytest.mark.xdist_group("served")
def test_a_served_lab_warns_at_its_start_of_what_has_no_stub(folder: Path) -> None:
    file = folder / "lab.yaml"
    file.write_text(file.read_text().replace(", Fax: {send: {id: 1}}", ""))
    with serving("--config", file) as (process, _):
        process.terminate()
        log = process.communicate()[1].splitlines()
    said = (
        "warning acme calls services that are not there yet: Fax (endpoints/sms.lua:2); `stubs` in lab.yaml"
    )
    assert [said in each for each in log] == [True], log


@pytest.mark.xdist_group("served")
async def test_a_served_lab_has_the_stubs(folder: Path) -> None:
    options = ("--config", folder / "lab.yaml", "--log", "all", "--ca-file", folder / "ca.pem")
    with serving(*options) as (process, ready):
        pem = (folder / "ca.pem").read_text()
        address = LabAddress("127.0.0.1", ready["https_port"], pem)
        client = FlowClient(address, "acme.apps.lab.localhost")
        answered = await client.request("GET", "/sms")
        await client.close()
        assert answered.json() == [1, 1]
        process.terminate()
        log = process.communicate()[1]
    assert "call 200 acme Twilio.postMessage" in log


def test_calls_of_scripts_and_handlers_are_listed_also_those_of_a_missing_service() -> None:
    with Lab(1) as lab:
        for id in ("acme", "other"):
            solution = lab.solution(id)
            solution.route("GET", "/send", lua=f"return Twilio.postMessage{{To = '{id}', password = 'x'}}")
            with pytest.warns(LabWarning, match="there is no service 'Twilio'"):
                assert solution.get("/send").json()["status"] == 404
        assert lab.solution("acme").Config.solution()["id"] == "acme"  # of this test, not of a script
        acme, other = (
            {"operation": "postMessage", "arguments": {"To": id, "password": "***"}}
            for id in ("acme", "other")
        )
        assert (lab.calls("Twilio"), lab.calls("Twilio", "other")) == ([acme, other], [other])
        assert lab.calls("Config") == []
        with pytest.warns(LabWarning, match="calls: none of 'Twilo'; did you mean Twilio?"):
            assert lab.calls("Twilo") == []
