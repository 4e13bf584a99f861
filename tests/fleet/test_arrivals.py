"""Runs with arrivals: behaviours with and without support for them, and rates at the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from labkit import Behaviour, Lab
from labkit.core.errors import LabError
from labkit.fleet.behaviours import BEHAVIOURS
from labkit.fleet.fleet_device import FleetDevice
from labkit.fleet.shapes import DailyWave, Flat, Ramp, Shape, Steps
from labkit.lab.terminal import rate_of
from tests.fleet.test_terminal import CONFIG, fleet


class Deaf(Behaviour):
    """Behaviour that ignores arrivals, and catches every error."""

    async def run(self, device: FleetDevice) -> None:
        while True:
            try:
                await device.write(temperature=1)
            except Exception as error:  # noqa: BLE001  as careless ones do
                device.note(str(error))
            await device.sleep(10)


class Ends(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        await device.activate()


class Asks(Behaviour):
    async def run(self, device: FleetDevice) -> None:
        async for _ in device.arrivals():
            await device.write(temperature=1)


@pytest.mark.parametrize(("behaviour", "action"), [(Deaf, "write"), (Ends, "end of its run")])
def test_a_behaviour_that_ignores_arrivals_is_an_error(
    lab: Lab, behaviour: type[Behaviour], action: str
) -> None:
    product = lab.product("thermostat", resources={"temperature": "number"})
    name = behaviour.__name__
    said = rf"arrivals: {name} does not ask for them \(device '.*': {action}\): let {name}.run wait in `async for"
    with pytest.raises(LabError, match=said):
        product.fleet({Asks: 1, behaviour: 2}).run(hours=1, arrivals=Flat(0.1), progress=False)
    assert product.fleet(2, behaviour, prefix="b-").run(hours=1, progress=False).failures.empty
    assert product.fleet(2, Asks, prefix="c-").run(60, arrivals=Flat(0), progress=False).failures.empty


ROWS = pd.DataFrame({"temperature": range(1000)}, index=pd.Index(range(1000), name="time"))


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_each_behaviour_of_labkit_supports_arrivals(lab: Lab, name: str) -> None:
    kind = BEHAVIOURS[name]
    parameters: dict[str, Any] = {"table": ROWS} if name == "replay" else {}
    if name == "flaky":  # by chance it goes offline, or fails
        parameters |= {"silence": 0.0, "reboot": 0.0, "breakdown": 0.0, "nonsense": 0.0}
    aliases = ("temperature", "humidity", "count", "control", "state")
    product = lab.product("thermostat", resources=dict.fromkeys(aliases, "string"))
    run = product.fleet(2, kind(**parameters)).run(
        hours=1, arrivals=Flat(0.05), requests=True, progress=False
    )
    assert run.failures.empty
    rows = run.requests()
    rows = rows[rows["action"].ne("timestamp")]  # a sensor requests the time before it sends
    assert len(rows) == pytest.approx(2 * 3600 * 0.05, rel=0.15)
    assert rows["time"].nunique() == len(rows)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("50/s", Flat(50)),
        ("0.5 / s", Flat(0.5)),
        ("30/min", Flat(0.5)),
        ("0/h", Flat(0)),
        ("1..50/s:10min", Ramp(1, 50, 600)),
        ("36..72/h:daily", DailyWave(0.01, 0.02)),
        ("0s=1/s,1min=120/min", Steps({0: 1, 60: 2})),
    ],
)
def test_a_rate_is_parsed(text: str, shape: Shape) -> None:
    assert rate_of(text) == shape


@pytest.mark.parametrize(
    "text",
    [
        "",
        "50",
        "50/",
        "50/x",
        "-1/s",
        "nan/s",
        "1e3/s",
        "1..5/s",
        "1..5/s:x",
        "5/s,1s=5/s",
        "0s=1/s,0min=2/s",
        "/s",
    ],
)
def test_an_invalid_rate_is_an_error(text: str) -> None:
    with pytest.raises(LabError, match=r"expected a rate such as 50/s.*; not '"):
        rate_of(text)


class TestTerminal:
    @pytest.fixture
    def config(self, tmp_path: Path) -> Path:
        path = tmp_path / "lab.yaml"
        path.write_text(CONFIG)
        return path

    def test_devices_send_at_arrivals(self, config: Path) -> None:
        options = ("--config", config, "--devices", 2, "--hours", 1, "--seed", 7, "--fail-if")
        assert fleet(*options, "requests<100").exit_code == 1  # every 300 seconds
        result = fleet(*options, "requests<300", "--arrivals", "3/min")
        assert (result.exit_code, result.stderr) == (0, "")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("--arrivals", "often"), "labkit: --arrivals: expected a rate such as 50/s, 0.1/s or 30/min, "),
            (("--arrivals", "5..1/s:daily"), "labkit: --arrivals: DailyWave: high has to be at least low"),
            (("--arrivals", "1/s", "--behaviour", f"{__name__}:Deaf"), "labkit: arrivals: Deaf does not ask"),
        ],
    )
    def test_an_error_is_one_line(self, config: Path, arguments: tuple[str, ...], said: str) -> None:
        result = fleet("--config", config, "--hours", 1, *arguments)
        assert result.exit_code == 1
        [line] = result.stderr.splitlines()
        assert line.startswith(said)
