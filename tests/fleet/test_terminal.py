"""`labkit fleet`: in a lab of its own, against a platform elsewhere, and error messages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from labkit import Lab
from tests.cases import cases
from tests.fleet import terminal_behaviours
from tests.rig import invoked

CONFIG = """
https_port: 0
products:
  - {id: thermostat, resources: {temperature: number}}
  - {id: lock, auth: password, resources: {temperature: number}}
  - {id: meter, auth: certificate, resources: {temperature: number}}
"""


BEHAVIOURS = terminal_behaviours.__name__
NO_BEHAVIOUR = 7


def fleet(*arguments: object, product: str = "thermostat") -> Result:
    return invoked("fleet", "--product", product, *arguments)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(CONFIG)
    return path


class TestInALabOfItsOwn:
    @pytest.mark.xdist_group("dask")
    @pytest.mark.usefixtures("forked_workers")
    @pytest.mark.filterwarnings("ignore")  # warnings of dask itself
    def test_workers_run_it_on_a_running_clock(self, config: Path) -> None:
        more = ("--devices", 3, "--seconds", 180, "-p", "every=60", "--workers", 2, "--json")
        result = fleet("--config", config, "--speed", 60, *more)
        assert result.exit_code == 0, result.stderr
        summary = json.loads(result.stdout)
        assert (summary["devices"], summary["errors"], summary["failed"]) == (3, {}, [])
        assert summary["requests"] >= 3
        assert 0 < summary["latency from sending"]["p50"] < 60
        refused = fleet("--config", config, *more)  # the virtual clock
        assert refused.exit_code == 1
        assert "workers=: on a virtual clock one device runs at a time" in refused.stderr

    def test_a_seed_reproduces_the_table_and_the_numbers(self, config: Path, tmp_path: Path) -> None:
        made: list[tuple[dict[str, Any], bytes]] = []
        for name in ("a", "b"):
            table = tmp_path / f"{name}.csv"
            result = fleet(
                *("--config", config, "--devices", 5, "--hours", 2, "--seed", 7, "--json", "--csv", table)
            )
            assert result.exit_code == 0, result.stderr
            summary = json.loads(result.stdout)
            assert set(summary.pop("timings")) == {"real", "cpu", "requests per second"}
            sending = summary.pop("latency from sending")
            assert 0 < sending["p50"] <= sending["p90"] <= sending["p99"] <= sending["max"]
            made.append((summary, table.read_bytes()))
        assert made[0] == made[1]
        summary, table_text = made[0]
        assert (summary["devices"], summary["seed"], summary["seconds"], summary["requests"]) == (
            5,
            7,
            7200,
            120,
        )
        assert (summary["errors"], summary["failed"]) == ({}, [])
        assert (
            summary["latency from due time"]["p50"] == 0
        )  # a virtual clock stands still while the platform works
        head, first, *_ = table_text.decode().splitlines()
        assert head.startswith("time,requests,errors,p50,p90,p99,max,waiting,running")
        assert first.startswith("2026-01-01 00:00:")

    def test_the_summary_is_one_line(self, config: Path) -> None:
        result = fleet("--config", config, "--devices", 2, "--minutes", 30, "--seed", 7, "-p", "every=60")
        assert re.fullmatch(
            r"2 devices of thermostat, 30 min of lab time in [\d.]+ s: 60 requests \([\d,]+ a second\), "
            r"errors: none, 0 devices failed; seed 7\n",
            result.stdout,
        ), result.output

    def test_a_custom_behaviour_and_devices_that_fail(self, config: Path) -> None:
        name = f"{BEHAVIOURS}:Fails"
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
        assert "1 device failed; seed 7" in result.stdout

    def test_ctrl_c_ends_it_with_its_results_so_far(self, config: Path, tmp_path: Path) -> None:
        table = tmp_path / "x.csv"
        options = ("--devices", 1, "--days", 300, "--behaviour", f"{BEHAVIOURS}:Interrupted", "--csv", table)
        result = fleet("--config", config, *options, "-p", f"table={table}")
        assert result.exit_code == 130, result.output
        assert result.stdout.startswith("interrupted: 1 device of thermostat, ")
        assert len(table.read_text().splitlines()) > 1

    def test_a_counter_reports_lost_numbers(self, config: Path) -> None:
        config.write_text(CONFIG.replace("temperature", "count"))
        result = fleet("--config", config, "--devices", 2, "--minutes", 10, "--behaviour", "counter")
        assert result.exit_code == 0, result.output
        _, line = result.stdout.splitlines()
        summary = "accounts: 20 sent, 20 acknowledged, 20 stored, 20 handled, 0 lost, 0 doubled, 0 reordered"
        assert line == f"{summary}; handled by a handler that the run added"
        result = fleet("--config", config, "--minutes", 10, "--behaviour", "counter", "--json")
        assert json.loads(result.stdout)["accounts"]["sent"] == 100

    def test_other_behaviours_count_on_request(self, config: Path) -> None:
        options = ("--config", config, "--devices", 1, "--minutes", 10)
        assert "accounts" not in fleet(*options).stdout
        refused = fleet(*options, "--accounts")
        assert "devices count to a resource 'count', which 'thermostat' has not" in refused.stderr
        config.write_text(CONFIG.replace("{temperature", "{count: number, temperature"))
        assert "\naccounts: 0 sent, " in fleet(*options, "--accounts").stdout

    def test_a_failed_device_has_one_line_and_text_parameters_are_unchanged(self, config: Path) -> None:
        more = ("--behaviour", f"{BEHAVIOURS}:Verbose", "-p", "text=5", "-p")
        for other, read in (("other=true", "'true'"), ("other=null", "None"), ('other="7"', "'7'")):
            result = fleet("--config", config, "--devices", 1, "--hours", 1, *more, other)
            assert result.exit_code == 1
            [line] = result.stderr.splitlines()
            assert line.endswith(f": RuntimeError: '5' {read} broken")

    @pytest.mark.parametrize("option", ["--days", "--hours", "--minutes", "--seconds", "--speed"])
    @pytest.mark.parametrize("value", ["nan", "inf"])
    def test_a_time_is_a_finite_number(self, config: Path, option: str, value: str) -> None:
        result = fleet("--config", "no.yaml", option, value)
        assert result.exit_code == 2
        assert f"{value} is not a finite number" in result.stderr

    def test_the_summary_is_printed_before_the_error_of_a_table_that_cannot_be_written(
        self, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refuse(*_: object) -> None:
            raise OSError("no room")  # without a strerror, as pandas raises it

        monkeypatch.setattr("pandas.DataFrame.to_csv", refuse)
        table = tmp_path / "x.csv"
        result = fleet("--config", config, "--minutes", 10, "--csv", table)
        assert result.exit_code == 1
        assert result.stdout.startswith("10 devices of thermostat, ")
        assert result.stderr == f"labkit: --csv: {table}: no room\n"

    @cases(
        ("arguments", "said"),
        [
            ("--hours 1 --behaviour nope", "no behaviour 'nope', there are: bulb, counter, "),
            ("--hours 1 -p evry=60", "Thermostat: no parameter 'evry', there are: every, "),
            ("--hours 1 -p every=often", "Thermostat: every: "),
            ("--hours 1 -p every", "'every' is no parameter: expected name=value"),
            (
                "--hours 1 --behaviour no.such:Thing",
                "--behaviour no.such:Thing: ModuleNotFoundError: No module named 'no'",
            ),
            (
                "--hours 1 --behaviour json:Nothing",
                "json:Nothing: AttributeError: module 'json' has no attribute",
            ),
            (f"--hours 1 --behaviour {__name__}:NO_BEHAVIOUR", "expected a class of labkit.Behaviour, not 7"),
            ("", "missing duration: use --days"),
            ("--hours 1 --target x.json", "--config: not with --target"),
            ("--days 9000 --csv nowhere/x.csv", "--csv: nowhere/x.csv: there is no folder nowhere"),
            ("--hours 1 --identities uuid", "--identities: not with --config"),
            ("--days 9000 --fail-if p99x>1s", "no measure 'p99x', there are: pN, max, sending pN, "),
            ("--days 9000 --fail-if p99>250", "'p99>250': expected a time with its unit: us, µs, ms, s, "),
            ("--days 9000 --fail-if lost>0", "'lost>0': lost needs --accounts"),
            ("--days 9000 --fail-if p99", "expected MEASURE, > or <, and a number, as in 'p99>250ms'"),
        ],
    )
    def test_an_error_is_one_line(self, config: Path, arguments: str, said: str) -> None:
        result = fleet("--config", config, *arguments.split())
        assert result.exit_code == 1
        [line] = result.stderr.splitlines()
        assert line.startswith("labkit: ")
        assert said in line

    def test_a_product_that_lab_yaml_lacks_is_an_error(self, config: Path) -> None:
        result = fleet("--config", config, "--hours", 1, product="kettle")
        assert result.exit_code == 1
        assert "has no 'kettle', there are: thermostat, lock, meter" in result.stderr

    def test_without_a_lab_or_target_it_asks_for_one(self) -> None:
        result = fleet("--hours", 1)
        assert (result.exit_code, result.stdout) == (1, "")
        assert result.stderr == "labkit: missing platform: use --config lab.yaml for a new lab, or --target\n"

    def test_the_help_lists_the_behaviours(self) -> None:
        result = fleet("--help")
        assert result.exit_code == 0
        assert re.search(r"thermostat +Thermostat that reports a temperature", result.stdout)


class TestElsewhere:
    @pytest.fixture
    def lab(self, config: Path) -> Iterator[Lab]:
        with Lab(config=config) as lab:
            yield lab

    @pytest.fixture
    def ready(self, lab: Lab, tmp_path: Path) -> dict[str, Any]:
        """The output of `labkit serve --json`."""
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
        options = ("--devices", 3, "--seconds", 2, "-p", "every=0.1", "--json", "--auth", auth)
        result = fleet("--target", target, *options, product=product)
        assert result.exit_code == 0, result.output
        summary = json.loads(result.stdout)
        assert summary["requests"] >= 6
        assert summary["errors"] == {}
        assert summary["latency from due time"]["p50"] > 0
        assert len(lab.product(product).devices()) == 3
        again = fleet(
            "--target", json.dumps(ready), *options, product=product
        )  # other devices, with other names
        assert again.exit_code == 0, again.output
        assert len(lab.product(product).devices()) == 6

    def test_aliases_without_a_resource_are_named(self, ready: dict[str, Any], tmp_path: Path) -> None:
        known = {**ready, "resources": {"thermostat": ["temperature"]}}
        config = tmp_path / "lab.yaml"
        config.write_text(
            yaml.safe_dump({"products": [{"id": "thermostat", "resources": {"temperature": "number"}}]})
        )
        options = ("--devices", 1, "--seconds", 2, "-p", "every=0.1", "-p", "alias=temprature")
        said = "no resource 'temprature' in product 'thermostat', there are: temperature; did you mean temperature?"
        here = ("--config", config)
        for where in (("--target", json.dumps(known)), here, (*here, "--workers", 1, "--speed", 1)):
            result = fleet(*where, *options)
            assert result.stderr == f"labkit: warning: devices wrote what the platform ignores: {said}\n", (
                where
            )
        unknown = fleet(
            "--target", json.dumps(ready), *options
        )  # an older server, of whose resources nothing is known
        assert unknown.stderr == ""

    def test_a_url_and_the_file_of_its_ca_suffice(self, lab: Lab, ready: dict[str, Any]) -> None:
        url, ca_file = ready["products"]["thermostat"], ready["ca_file"]
        options = ("--devices", 2, "--seconds", 0.2, "-p", "every=0.1")
        result = fleet("--target", url, "--ca-file", ca_file, *options)
        assert result.exit_code == 0, result.output

    def test_ctrl_c_ends_it_with_its_results_so_far(self, ready: dict[str, Any], tmp_path: Path) -> None:
        table = tmp_path / "x.csv"
        more = ("--behaviour", f"{BEHAVIOURS}:Interrupted", "-p", "after=0", "--csv", table)
        result = fleet("--target", json.dumps(ready), "--devices", 1, "--days", 1, *more)
        assert result.exit_code == 130, result.output
        assert result.stdout.startswith("interrupted: 1 device of thermostat, ")
        assert len(table.read_text().splitlines()) > 1

    @pytest.mark.parametrize("format", ["base10", "base16", "uuid", "mac"])
    def test_identities_have_the_format_of_the_product(
        self, config: Path, tmp_path: Path, format: str
    ) -> None:
        config.write_text(f"https_port: 0\nproducts: [{{id: plug, identity_format: {{type: {format}}}}}]")
        with Lab(config=config) as lab:
            (tmp_path / "ca.pem").write_text(lab.address.ca_pem)
            there = ("--target", lab.product("plug").url(), "--ca-file", tmp_path / "ca.pem")
            options = ("--devices", 2, "--seconds", 0.05, "--identities", format)
            for count in (2, 4):  # other devices, with other names
                result = fleet(*there, *options, product="plug")
                assert "cannot be provisioned" not in result.output
                assert len(lab.product("plug").devices()) == count

    @pytest.mark.parametrize(
        ("settings", "options"),
        [
            ("type: base16, length: 8, prefix: AB", "--prefix AB --identities base16 --identity-length 8"),
            ("type: base10, length: 3", "--identities base10 --identity-length 3"),
            ("type: opaque, length: 5, prefix: x", "--prefix x --identity-length 5"),
        ],
    )
    def test_identities_have_the_length_that_the_product_requires(
        self, config: Path, tmp_path: Path, settings: str, options: str
    ) -> None:
        config.write_text(f"https_port: 0\nproducts: [{{id: plug, identity_format: {{{settings}}}}}]")
        with Lab(config=config) as lab:
            (tmp_path / "ca.pem").write_text(lab.address.ca_pem)
            there = ("--target", lab.product("plug").url(), "--ca-file", tmp_path / "ca.pem")
            result = fleet(*there, "--devices", 30, "--seconds", 0.05, *options.split(), product="plug")
            assert "cannot be provisioned" not in result.output
            assert len(lab.product("plug").devices()) == 30

    def test_a_wrong_auth_reveals_no_secret(self, ready: dict[str, Any], lab: Lab) -> None:
        options = ("--seconds", 1, "--devices", 1, "--prefix", "x-")
        result = fleet("--target", json.dumps(ready), *options, "--auth", "password")
        assert result.stderr == (
            "labkit: the devices cannot be provisioned with --auth password: x-001: activate: 200 was not expected\n"
        )
        result = fleet("--target", json.dumps(ready), *options, product="lock")
        assert "cannot be provisioned with --auth token: x-001: activate: 400 a password has" in result.stderr

    def test_errors_are_one_line(self, ready: dict[str, Any], tmp_path: Path) -> None:
        url = ready["products"]["thermostat"]
        (tmp_path / "other.pem").write_text("no certificate")
        (tmp_path / "empty.json").touch()
        (tmp_path / "list.json").write_text("[1]\n")
        (tmp_path / "bytes.pem").write_bytes(b"\xff\xfe")
        for target, more, said in [
            ("nowhere.json", (), "--target: nowhere.json: No such file or directory"),
            ("{", (), "--target: cannot be read: "),
            ("{}", (), "--target: products: is required"),
            (str(tmp_path / "empty.json"), (), "is empty, so the server is not ready yet"),
            (
                str(tmp_path / "list.json"),
                (),
                "--target: expected the line that `labkit serve --json` prints, not [1]",
            ),
            (url, (), "--target: a URL takes --ca-file"),
            (
                "https://localhost:99999",
                ("--ca-file", ready["ca_file"]),
                "--target: 'https://localhost:99999': Port ",
            ),
            (url, ("--ca-file", tmp_path / "other.pem"), "other.pem: expected a certificate (PEM)"),
            (url, ("--ca-file", tmp_path / "bytes.pem"), "bytes.pem: expected a text file"),
            (json.dumps({**ready, "products": {"kettle": url}}), (), "no 'thermostat', there are: kettle"),
            (json.dumps(ready), ("--identity-length", "1"), "1 are too few for 11 devices"),
            (json.dumps(ready), ("--identity-length", "9", "--identities", "mac"), "mac has one of its own"),
            (json.dumps({**ready, "https_port": 1}), (), "the devices cannot be provisioned: "),
            (json.dumps(ready), ("--workers", 2), "--workers: not with --target"),
            (json.dumps(ready), ("--accounts",), "--accounts: not with --target"),
        ]:
            result = fleet("--target", target, "--seconds", 1, "--devices", 11, *more)
            assert result.exit_code == 1, target
            [line] = result.stderr.splitlines()
            assert line.startswith("labkit: ")
            assert said in line
