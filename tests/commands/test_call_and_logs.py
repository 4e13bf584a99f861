"""`labkit call` and `labkit logs` against a lab that another process serves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.forked_starts import Forked, labkit, serving
from tests.rig import invoked

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    config = tmp_path_factory.mktemp("lab") / "lab.yaml"
    config.write_text("https_port: 0\ncontrol: true\nproducts: [{id: thermostat}]\n")
    with serving("--config", config, "--seed", "7", "--log", "all") as (process, ready):
        yield ready
        process.terminate()
        assert ready["control"]["token"] not in "".join(process.communicate())


def run(ready: dict[str, Any], *arguments: str) -> Result:
    return invoked(*arguments, "--target", json.dumps(ready))


def called(ready: dict[str, Any], *arguments: str) -> Any:
    result = run(ready, "call", *arguments)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refused(ready: dict[str, Any], *arguments: str) -> str:
    result = run(ready, *arguments)
    assert result.exit_code == 1
    return result.output


def test_values_are_json_or_text(ready: dict[str, Any], tmp_path: Path) -> None:
    assert called(ready, "clock.advance", "seconds=30")["rate"] == 0
    assert called(ready, "products.get", "id=thermostat")["id"] == "thermostat"
    called(ready, "identities.allow", "product=thermostat", 'identities=["7"]')
    called(
        ready, "identities.lock", "product=thermostat", "identity=7"
    )  # a text, though it looks like a number
    [device] = called(ready, "identities.all", "product=thermostat")
    assert device == {"identity": "7", "status": "locked", "whitelisted": True}
    file = tmp_path / "settings.json"
    file.write_text('{"id": "acme"}')
    assert called(ready, "solutions.ensure", f"settings=@{file}")["id"] == "acme"


def test_page_prints_a_link(ready: dict[str, Any]) -> None:
    result = run(ready, "page")
    assert result.output.startswith(f"{ready['control']['url']}/#code=")
    assert ready["control"]["token"] not in result.output


def test_mistakes_are_one_line(ready: dict[str, Any]) -> None:
    assert refused(ready, "call", "products.get", "id=x").startswith(
        "labkit: no product 'x', there are: thermostat"
    )
    assert "did you mean products?" in refused(ready, "call", "product.get")
    assert "did you mean clock.advance?" in refused(ready, "call", "clock.advanc")
    assert refused(ready, "call", "products.get") == "labkit: products.get needs id=…\n"
    assert refused(ready, "call", "clock.advance", "hours") == "labkit: hours: expected NAME=VALUE\n"
    assert refused(ready, "call", "clock.advance", "hour=1") == (
        "labkit: clock.advance: no argument 'hour', there are: seconds, minutes, hours, days; did you mean hours?\n"
    )
    assert (
        refused(ready, "call", "clock.advance", "hours=x")
        == "labkit: hours: expected a valid number, not 'x'\n"
    )
    assert refused(ready, "call", "clock", "state") == (
        "labkit: expected SUBJECT.OPERATION, not 'clock'; did you mean clock.state?\n"
    )
    url = invoked("logs", "--target", "https://lab.localhost:1234")
    assert (url.exit_code, "not a URL; set LABKIT_URL" in url.output) == (1, True)
    without = {name: each for name, each in ready.items() if name != "control"}
    assert refused(without, "call", "clock.state") == (
        "labkit: --target: this lab has no control; serve it with --control\n"
    )


def test_a_wrong_object_is_refused_with_its_keys(ready: dict[str, Any], tmp_path: Path) -> None:
    fault = '{"where": "GET /timestamp", "stauts": 503}'
    assert refused(ready, "call", "faults.add", f"fault={fault}") == (
        "labkit: fault.stauts: unknown key; did you mean status?\n"
    )
    settings = '{"id": "x", "auht": "token", "self_registration": 5}'
    assert refused(ready, "call", "products.add", f"settings={settings}") == (
        "labkit: settings.self_registration: expected a valid boolean, not 5; "
        "settings.auht: unknown key; did you mean auth?\n"
    )
    assert refused(ready, "call", "products.add", 'settings={"id": ').startswith(
        "labkit: settings: expected JSON: Expecting value: line 1"
    )
    missing = tmp_path / "missing.json"
    assert refused(ready, "call", "products.add", f"settings=@{missing}") == (
        f"labkit: settings: {missing}: No such file or directory\n"
    )


def test_warnings_of_a_result_are_lines_on_stderr(ready: dict[str, Any]) -> None:
    fault = json.dumps({"name": "misspelt", "where": "POST /provision/activat", "status": 503})
    result = run(ready, "call", "faults.add", f"fault={fault}")
    assert result.exit_code == 0
    [warning] = json.loads(result.stdout)["warnings"]
    assert warning.startswith("fault 'misspelt' at 'POST /provision/activat': no request has the path")
    assert result.stderr == f"labkit: warning: {warning}\n"
    assert called(ready, "faults.get", "name=misspelt")["warnings"] == [warning]
    called(ready, "faults.remove", "name=misspelt")


def test_the_environment_selects_a_lab(ready: dict[str, Any]) -> None:
    control = ready["control"]
    environment = {"LABKIT_URL": control["url"], "LABKIT_TOKEN": control["token"]}
    assert invoked("call", "clock.state", env=environment).exit_code == 0
    wrong = invoked("call", "clock.state", env={**environment, "LABKIT_TOKEN": "wrong"})
    assert wrong.exit_code == 1
    assert wrong.output == (
        f"labkit: the lab at {control['url']} refuses this token: expected the one that its server shows, in token=… "
        "or in LABKIT_TOKEN\n"
    )
    none = invoked("logs", env={"LABKIT_URL": "", "LABKIT_TOKEN": ""})
    assert none.output == "labkit: missing lab: use --target, or set LABKIT_URL and LABKIT_TOKEN\n"


def test_a_server_that_is_not_ready_yet_is_named(tmp_path: Path) -> None:
    (tmp_path / "ready.json").touch()
    early = invoked("call", "clock.state", "--target", tmp_path / "ready.json")
    assert early.exit_code == 1
    expected = f"labkit: --target: {tmp_path / 'ready.json'}: is empty, so the server is not ready yet\n"
    assert early.output == expected


def test_logs_prints_records_of_kinds_and_actors(ready: dict[str, Any]) -> None:
    called(ready, "solutions.ensure", 'settings={"id": "acme"}')
    for key in ("a", "b"):
        parameters = json.dumps({"key": key, "value": "x"})
        called(
            ready,
            "services.call",
            "solution=acme",
            "service=Keystore",
            "operation=set",
            f"parameters={parameters}",
        )
    nobody = run(ready, "logs", "--actor", "acmee")
    assert nobody.stdout == ""
    assert "records: no record of actor 'acmee', there are: " in nobody.stderr
    assert "; did you mean acme?" in nobody.stderr
    lines = run(ready, "logs", "--kind", "call", "--actor", "acme").output.splitlines()
    assert len(lines) == 2
    assert lines[0].endswith(" call 200 acme Keystore.set")
    [entry] = map(
        json.loads, run(ready, "logs", "--kind", "call", "--json", "--last", "1").output.splitlines()
    )
    assert (entry["kind"], entry["detail"]["parameters"]["key"]) == ("call", "b")


def test_an_unknown_kind_of_record_is_a_warning(ready: dict[str, Any]) -> None:
    result = run(ready, "logs", "--kind", "reqest")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no kind of record 'reqest'" in result.stderr
    assert "did you mean request?" in result.stderr


def test_a_server_that_ends_is_one_line(ready: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("{https_port: 0, control: true}")
    with (
        serving("--config", tmp_path / "lab.yaml", "--seed", "7") as (server, target),
        labkit("logs", "--follow", "--last", "1", "--target", json.dumps(target)) as reader,
    ):
        url = target["control"]["url"]
        parameters = json.dumps({"id": "acme"})
        said = ""
        while not said:  # it may not follow yet
            assert run(target, "call", "solutions.ensure", f"settings={parameters}").exit_code == 0
            assert run(target, "call", "lab.restart").exit_code == 0
            said = readable(reader)
        server.kill()
        server.communicate()
        _, errors = reader.communicate()
    assert (reader.returncode, errors) == (
        1,
        f"labkit: the lab at {url} has ended, or the connection to it\n",
    )
    for command in (["call", "clock.state"], ["logs"], ["logs", "-f"]):
        line = refused(target, *command)
        assert line.startswith(f"labkit: the lab at {url} cannot be reached: ")
        assert line.count("\n") == 1


def test_logs_follows_until_it_is_interrupted(ready: dict[str, Any]) -> None:
    options = ("--follow", "--kind", "call", "--last", "0", "--target", json.dumps(ready))
    with labkit("logs", *options) as process:
        called(ready, "solutions.ensure", 'settings={"id": "acme"}')
        seen = ""
        while not seen:  # it may not follow yet
            parameters = json.dumps({"key": "a"})
            called(
                ready,
                "services.call",
                "solution=acme",
                "service=Keystore",
                "operation=get",
                f"parameters={parameters}",
            )
            seen = readable(process)
        assert "acme Keystore.get" in seen
        process.terminate()
        process.communicate()
    assert process.returncode == 130


def readable(process: Forked) -> str:
    import select

    found, _, _ = select.select([process.stdout], [], [], 0.2)
    return process.stdout.readline() if found else ""


def test_the_help_of_call_lists_the_operations() -> None:
    said = invoked("call", "--help").output
    assert "products.ensure" in said
    assert "journal.follow" not in said


def test_a_subject_lists_its_operations() -> None:
    said = invoked("call", "clock")
    assert said.exit_code == 0
    listed = [line.split()[0] for line in said.stdout.splitlines() if line[:1] != " "]
    assert listed == ["clock.advance", "clock.advance_to", "clock.freeze", "clock.run", "clock.state"]
