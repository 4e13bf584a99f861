"""`labkit serve` with control over HTTP, a seed and a start."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest

from labkit.control.over_http.access import TOKEN_BYTES
from tests import forked_starts
from tests.forked_starts import Forked, labkit

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from
LAB_YAML = "https_port: 0\ncontrol: {control}\n"


def serving(
    tmp_path: Path, *options: str, control: str = "false"
) -> AbstractContextManager[tuple[Forked, dict[str, Any]]]:
    config = tmp_path / "lab.yaml"
    config.write_text(LAB_YAML.format(control=control))
    return forked_starts.serving("--config", config, *options)


def post(ready: dict[str, Any], path: str, **arguments: Any) -> Any:
    control = ready["control"]
    headers = {"Authorization": f"Bearer {control['token']}"}
    answer = httpx.post(f"{control['url']}{path}", json=arguments, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_ready_line_has_url_and_token_and_nothing_else_has(tmp_path: Path) -> None:
    with serving(tmp_path, "--control", "--seed", "7", "--start", "2027-01-01", "--log", "all") as (
        process,
        ready,
    ):
        assert set(ready["control"]) == {"url", "token"}
        assert len(ready["control"]["token"]) > TOKEN_BYTES
        assert post(ready, "/v1/clock/state") == {"time": 1798761600.0, "rate": 0.0, "moves": False}
        assert post(ready, "/v1/clock/advance", hours=1)["time"] == 1798765200.0
        records = json.dumps(post(ready, "/v1/journal/select"))
        process.terminate()
        out, err = process.communicate()
    assert (out, process.returncode) == ("", 0)
    assert ready["control"]["token"] not in err + records + ready["control"]["url"]


def test_a_seed_repeats_what_a_lab_hands_out(tmp_path: Path) -> None:
    tokens = []
    for seed in ("7", "7", "8"):
        with serving(tmp_path, "--seed", seed, control="true") as (_, ready):
            post(ready, "/v1/products/ensure", settings={"id": "thermostat"})
            [given] = post(ready, "/v1/fleets/provision", product="thermostat", identities=["t-1"])
            tokens.append(given["token"])
    assert tokens[0] == tokens[1] != tokens[2]


def test_speed_and_a_start_without_a_seed(tmp_path: Path) -> None:
    with serving(tmp_path, "--control", "--speed", "60", "--start", "1700000000") as (_, ready):
        state = post(ready, "/v1/clock/state")
    assert state["rate"] == 60
    assert 1700000000 <= state["time"] < 1700000000 + 60 * 120


def test_without_control_there_is_none(tmp_path: Path) -> None:
    with serving(tmp_path) as (_, ready):
        assert "control" not in ready


def test_wrong_options_are_one_line(tmp_path: Path) -> None:
    for options, said in {
        ("--files", str(tmp_path)): "labkit: --files: only with --control, or with control in lab.yaml\n",
        ("--start", "tomorrow"): (
            "labkit: --start: expected Unix seconds, a datetime or an ISO 8601 text such as '2026-03-01T08:00', "
            "not 'tomorrow'\n"
        ),
    }.items():
        config = tmp_path / "lab.yaml"
        config.write_text("https_port: 0\n")
        with labkit("serve", "--config", config, *options) as process:
            assert process.communicate() == ("", said)


def test_the_text_for_people_has_url_and_token(tmp_path: Path) -> None:
    config = tmp_path / "lab.yaml"
    config.write_text("https_port: 0\n")
    with labkit("serve", "--config", config, "--control") as process:
        process.stdout.readline()
        name, url, word, token = process.stdout.readline().split()
        assert (name, word) == ("control", "token")
        answer = httpx.post(f"{url}/v1/clock/state", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == 200
        name, link = process.stdout.readline().split()
        assert (name, link.partition("#")[0]) == ("page", f"{url}/")
        assert httpx.get(link).text.startswith("<!doctype html>")
