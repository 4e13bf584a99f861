"""The options --set, --fault and --conformance of `labkit serve` and `labkit fleet`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.conformance.target import LAB_YAML, Target
from labkit.fleet.device import DeviceError
from labkit.settings import load
from tests import forked_starts
from tests.forked_starts import labkit
from tests.rig import invoked
from tests.test_serve import failing, folder, serving, virtual

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from


async def test_serve_adds_faults_and_replaces_values_also_after_an_edit(tmp_path: Path) -> None:
    config = folder(tmp_path)
    options = ["--fault", "POST /provision/activate status=503 first=1", "--set", "solutions.acme.id=home"]
    with serving(config, *options, "--reload") as (process, ready):
        assert [*ready["solutions"]] == ["home"]

        async def activate() -> int:
            device = virtual(ready, "t-001")
            try:
                await device.activate()
            except DeviceError as error:
                return int(error.status)
            finally:
                await device.close()
            return 200

        assert await activate() == 503
        assert await activate() == 200
        config.write_text(config.read_text().replace("n: number", "n: string"))
        assert process.stderr.readline() == "reload: product thermostat: takes over: resources\n"
        assert await activate() == 409  # neither the fault nor the other id has changed


def test_serve_without_a_file_serves_what_the_values_say() -> None:
    with forked_starts.serving("--set", "https_port=0", "--set", "products=[{id: lamp}]") as (_, ready):
        assert [*ready["products"]] == ["lamp"]


def test_a_wrong_value_is_one_line(tmp_path: Path) -> None:
    config = str(folder(tmp_path))
    said = failing("--config", config, "--set", "products.thermostat.auth=tokn")
    assert (
        said
        == "labkit: products.thermostat.auth: expected 'token', 'password' or 'certificate', not 'tokn'\n"
    )


def test_conformance_serves_all_that_checks_need() -> None:
    with forked_starts.serving("--conformance", "--log", "none") as (_, ready):
        settings = load(LAB_YAML)
        assert [*ready["products"]] == [each.id for each in settings.products]
        assert [*ready["solutions"]] == [each.id for each in settings.solutions]
        assert Target.remote(ready).product("token-open").domain == "token-open.m2.conformance.localhost"


def test_conformance_replaces_a_file() -> None:
    with labkit("serve", "--conformance", "--config", "lab.yaml") as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert err == "labkit: --conformance: cannot go with --config; see labkit serve --help\n"


FLEET = ("fleet", "--product", "thermostat", "--devices", "2", "--minutes", "30", "--behaviour", "thermostat")


def test_a_fleet_runs_in_a_lab_with_faults_and_other_values(tmp_path: Path) -> None:
    config = ("--config", str(folder(tmp_path)), "--json", "--seed", "7", "--set", "data=")
    resources = "products.thermostat.resources={temperature: number, message: string, n: number}"

    def run(*options: str) -> dict[str, object]:
        result = invoked(*FLEET, *config, "--set", resources, *options)
        assert result.exit_code in (0, 1), result.output
        found: dict[str, object] = json.loads(result.stdout)
        return found

    plain, faulty = run(), run("--fault", "POST /onep:v1/stack/alias status=503")
    assert (plain["errors"], plain["failed"]) == ({}, [])
    assert faulty["errors"] == {"503": faulty["requests"]}


def test_a_fleet_elsewhere_has_neither(tmp_path: Path) -> None:
    for option, value in {"--set": "https_port=0", "--fault": "GET /x status=500"}.items():
        result = invoked(*FLEET, "--target", "{}", option, value)
        assert result.output == f"labkit: {option}: not with --target, which has its own settings and clock\n"
