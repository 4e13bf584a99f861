"""`labkit fleet`: thresholds, and tables that grow during a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.fleet.behaviour import Behaviour
from labkit.fleet.fleet_device import FleetDevice
from tests.fleet.terminal_behaviours import Fails
from tests.fleet.test_terminal import CONFIG, fleet

SEEN: list[str] = []  # written by Watches


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "lab.yaml"
    path.write_text(CONFIG)
    return path


def look(file: Path) -> None:
    """Store the text of a file if it exists and has changed."""
    text = file.read_text() if file.exists() else ""
    if text not in ("", *SEEN):
        SEEN.append(text)


class Watches(Behaviour):
    """Behaviour that watches a table until it has grown a few times."""

    file: str = ""

    async def run(self, device: FleetDevice) -> None:
        while len(SEEN) < 3:
            look(Path(self.file))
            await device.sleep(1)


@pytest.mark.parametrize(
    ("limits", "status", "crossed"),
    [
        (["p99>250ms", "failed>0.1%", "errors>0", "requests<60"], 0, []),
        (["requests>59", "p99>1ms"], 1, ["--fail-if requests>59: requests is 60"]),
        (["errors no answer>=0%"], 1, ["--fail-if errors no answer>=0%: errors no answer is 0%"]),
    ],
)
def test_thresholds_decide_the_exit_status(
    config: Path, limits: list[str], status: int, crossed: list[str]
) -> None:
    options = [part for each in limits for part in ("--fail-if", each)]
    more = ("--devices", 2, "--minutes", 30, "-p", "every=60", "--json")
    result = fleet("--config", config, *more, *options)
    assert (result.exit_code, result.stderr.splitlines()) == (status, crossed), result.output
    assert json.loads(result.stdout)["crossed"] == crossed


@pytest.mark.parametrize(("limit", "status"), [("failed>34%", 0), ("failed>33%", 1), ("errors>9", 1)])
def test_a_threshold_of_failed_devices_replaces_the_default_of_none(
    config: Path, limit: str, status: int
) -> None:
    options = ("--devices", 3, "--hours", 1, "--behaviour", f"{Fails.__module__}:Fails", "--fail-if", limit)
    assert fleet("--config", config, *options).exit_code == status


def test_accounts_have_thresholds(config: Path) -> None:
    config.write_text(CONFIG.replace("temperature", "count"))
    options = ("--devices", 2, "--minutes", 10, "--behaviour", "counter", "--fail-if")
    assert fleet("--config", config, *options, "lost>0.1%").exit_code == 0
    result = fleet("--config", config, *options, "handled<=100%")
    assert (result.exit_code, result.stderr) == (1, "--fail-if handled<=100%: handled is 100%\n")


def test_tables_grow_during_a_run(config: Path, tmp_path: Path) -> None:
    table = tmp_path / "x.csv"
    SEEN.clear()
    options = ("--speed", 60, "--devices", 1, "--minutes", 5, "--behaviour", f"{__name__}:Watches")
    result = fleet("--config", config, *options, "-p", f"file={table}", "--csv", table)
    assert result.exit_code == 0, result.output
    assert len(SEEN) > 2
    whole = table.read_text()
    assert all(whole.startswith(each) and each.endswith("\n") for each in SEEN)
    assert not list(tmp_path.glob(".*"))
