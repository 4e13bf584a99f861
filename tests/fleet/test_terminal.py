"""`labkit fleet`: in a lab of its own, against a platform elsewhere, and what it says when something is wrong."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from labkit import Lab
from labkit.cli import main
from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import FleetDevice
from tests.cases import cases

CONFIG = """
https_port: 0
products:
  - {id: thermostat, resources: {temperature: number}}
  - {id: lock, auth: password, resources: {temperature: number}}
  - {id: meter, auth: certificate, resources: {temperature: number}}
"""


class Fails(Behaviour):
    """The first device fails at once."""

    at: int = 1

    async def run(self, device: FleetDevice) -> None:
        await device.write(temperature=1)
        if device.number == self.at:
            raise RuntimeError("broken")
        await device.sleep(days=1)


NO_BEHAVIOUR = 7


def fleet(*arguments: object, product: str = "thermostat") -> Result:
    return CliRunner().invoke(main, ["fleet", "--product", product, *map(str, arguments)])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(CONFIG)
    return path


class TestInALabOfItsOwn:
    @pytest.mark.xdist_group("dask")
    @pytest.mark.filterwarnings("ignore")  # what dask warns of is its own
    def test_workers_play_it_on_a_clock_that_runs(self, config: Path) -> None:
        more = ("--devices", 3, "--seconds", 180, "-p", "every=60", "--workers", 2, "--json")
        result = fleet("--config", config, "--speed", 60, *more)
        assert result.exit_code == 0, result.stderr
        told = json.loads(result.stdout)
        assert (told["devices"], told["errors"], told["failed"]) == (3, {}, [])
        assert told["requests"] >= 3
        assert 0 < told["timings"]["p50"] < 60
        refused = fleet("--config", config, *more)  # the virtual clock
        assert refused.exit_code == 1
        assert "workers=: on a virtual clock one device runs at a time" in refused.stderr

    def test_a_seed_gives_the_same_table_and_numbers_again(self, config: Path, tmp_path: Path) -> None:
        made: list[tuple[dict[str, Any], bytes]] = []
        for name in ("a", "b"):
            table = tmp_path / f"{name}.csv"
            result = fleet(
                *("--config", config, "--devices", 5, "--hours", 2, "--seed", 7, "--json", "--csv", table)
            )
            assert result.exit_code == 0, result.stderr
            told = json.loads(result.stdout)
            assert set(told.pop("timings")) == {
                *("real", "cpu", "requests per second"),
                *("p50", "p90", "p99", "max"),
            }
            made.append((told, table.read_bytes()))
        assert made[0] == made[1]
        told, table_text = made[0]
        assert (told["devices"], told["seed"], told["seconds"], told["requests"]) == (5, 7, 7200, 120)
        assert (told["errors"], told["failed"]) == ({}, [])
        assert told["latency"]["p50"] == 0  # a virtual clock stands still while the platform works
        head, first, *_ = table_text.decode().splitlines()
        assert head.startswith("time,requests,errors,p50,p90,p99,max,waiting,running")
        assert first.startswith("2026-01-01 00:00:")

    def test_the_line_tells_all_in_short(self, config: Path) -> None:
        result = fleet("--config", config, "--devices", 2, "--minutes", 30, "--seed", 7, "-p", "every=60")
        assert re.fullmatch(
            r"2 devices of thermostat, 30 min of lab time in [\d.]+ s: 60 requests \([\d,]+ a second\), "
            r"errors: none, 0 devices failed; seed 7\n",
            result.stdout,
        ), result.output

    def test_a_behaviour_of_ones_own_and_devices_that_fail(self, config: Path) -> None:
        name = f"{__name__}:Fails"
        result = fleet(
            *(
                "--config",
                config,
                "--devices",
                3,
                "--hours",
                1,
                "--behaviour",
                name,
                "-p",
                "at=2",
                "--seed",
                7,
            )
        )
        assert result.exit_code == 1
        assert result.stderr == "t-002 failed at 2026-01-01 00:00:00: RuntimeError: broken\n"
        assert "1 devices failed; seed 7" in result.stdout

    @cases(
        ("arguments", "said"),
        [
            ("--hours 1 --behaviour nope", "no behaviour 'nope', there are: bulb, counter, "),
            ("--hours 1 -p evry=60", "Thermostat: no parameter 'evry', there are: every, "),
            ("--hours 1 -p every=often", "Thermostat: every: "),
            ("--hours 1 -p every", "'every' is no parameter: want name=value"),
            ("--hours 1 --behaviour no.such:Thing", "--behaviour no.such:Thing: No module named 'no'"),
            (
                "--hours 1 --behaviour json:Nothing",
                "--behaviour json:Nothing: module 'json' has no attribute",
            ),
            (f"--hours 1 --behaviour {__name__}:NO_BEHAVIOUR", "expected a class of labkit.Behaviour, not 7"),
            ("", "for how long? say --days"),
            ("--hours 1 --target x.json", "--config: not with --target"),
            ("--hours 1 --csv nowhere/x.csv --devices 1", "--csv: nowhere/x.csv: "),
        ],
    )
    def test_a_mistake_is_one_line(self, config: Path, arguments: str, said: str) -> None:
        result = fleet("--config", config, *arguments.split())
        assert result.exit_code == 1
        [line] = result.stderr.splitlines()
        assert line.startswith("labkit: ")
        assert said in line

    def test_a_product_that_lab_yaml_lacks_is_an_error(self, config: Path) -> None:
        result = fleet("--config", config, "--hours", 1, product="kettle")
        assert result.exit_code == 1
        assert "has no 'kettle', there are: thermostat, lock, meter" in result.stderr

    def test_without_a_place_it_asks_for_one(self) -> None:
        result = fleet("--hours", 1)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == "labkit: where? say --config lab.yaml for a lab of its own, or --target\n"

    def test_the_help_tells_the_behaviours(self) -> None:
        result = fleet("--help")
        assert result.exit_code == 0
        assert re.search(r"thermostat +Reports its temperature", result.stdout)


class TestElsewhere:
    @pytest.fixture
    def lab(self, config: Path) -> Iterator[Lab]:
        with Lab(config=config) as lab:
            yield lab

    @pytest.fixture
    def ready(self, lab: Lab, tmp_path: Path) -> dict[str, Any]:
        """What `labkit serve --json` prints."""
        (tmp_path / "ca.pem").write_text(lab.address.ca_pem)
        names = ("thermostat", "lock", "meter")
        return {
            "https_port": lab.address.https_port,
            "ca_file": str(tmp_path / "ca.pem"),
            "products": {name: lab.product(name).url() for name in names},
        }

    @pytest.mark.parametrize(
        ("product", "auth"), [("thermostat", "token"), ("lock", "password"), ("meter", "certificate")]
    )
    def test_devices_provision_themselves_and_live_on_the_wall_clock(
        self, lab: Lab, ready: dict[str, Any], tmp_path: Path, product: str, auth: str
    ) -> None:
        target = tmp_path / "ready.json"
        target.write_text(json.dumps(ready))
        options = ("--devices", 3, "--seconds", 0.5, "-p", "every=0.1", "--json", "--auth", auth)
        result = fleet("--target", target, *options, product=product)
        assert result.exit_code == 0, result.output
        told = json.loads(result.stdout)
        assert told["requests"] >= 6
        assert told["errors"] == {}
        assert told["latency"]["p50"] > 0
        assert len(lab.product(product).devices()) == 3
        again = fleet(
            "--target", json.dumps(ready), *options, product=product
        )  # others, of names of their own
        assert again.exit_code == 0, again.output
        assert len(lab.product(product).devices()) == 6

    def test_a_url_and_the_file_of_its_ca_do_as_well(self, lab: Lab, ready: dict[str, Any]) -> None:
        url, ca_file = ready["products"]["thermostat"], ready["ca_file"]
        options = ("--devices", 2, "--seconds", 0.2, "-p", "every=0.1")
        result = fleet("--target", url, "--ca-file", ca_file, *options)
        assert result.exit_code == 0, result.output

    def test_mistakes_are_one_line(self, ready: dict[str, Any], tmp_path: Path) -> None:
        url = ready["products"]["thermostat"]
        (tmp_path / "other.pem").write_text("no certificate")
        for target, more, said in [
            ("nowhere.json", (), "--target: nowhere.json: No such file or directory"),
            ("{", (), "--target: cannot be read: "),
            ("{}", (), "--target: products: is required"),
            (url, (), "--target: a URL takes --ca-file"),
            (json.dumps({**ready, "products": {"kettle": url}}), (), "no 'thermostat', there are: kettle"),
            (json.dumps(ready), ("--auth", "password"), "the devices cannot be provisioned: "),
            (json.dumps({**ready, "https_port": 1}), (), "the devices cannot be provisioned: "),
            (json.dumps(ready), ("--workers", 2), "--workers: not with --target"),
        ]:
            result = fleet("--target", target, "--seconds", 1, "--devices", 1, *more)
            assert result.exit_code == 1, target
            [line] = result.stderr.splitlines()
            assert line.startswith("labkit: ")
            assert said in line
