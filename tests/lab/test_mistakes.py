"""Typical mistakes: each message, of an error or a warning, names what was wrong and what to do."""

from __future__ import annotations

import asyncio
import gc
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import labkit
from labkit import Lab, LabkitError, LabWarning
from labkit.cli import main
from labkit.core.errors import is_ours
from labkit.dev.__main__ import main as dev
from tests.lab.mistakes import ALIAS, CELLS, COMMANDS, DEV, YAML


class Misspelt(labkit.Behaviour):
    """Behaviour that writes an alias without a resource."""

    async def run(self, device: Any) -> None:
        await device.write(temprature=1)


class Wrong(labkit.Behaviour):
    """Behaviour with typical mistakes."""

    every = 60

    async def run(self, device: Any) -> None:
        await asyncio.sleep(0.01)
        await device.wrte(temperature=self.every)


class Once(labkit.Behaviour):
    """Behaviour of a device that ends after one write."""

    async def run(self, device: Any) -> None:
        await device.write(temperature=1)


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    yaml = tmp_path_factory.mktemp("mistakes") / "lab.yaml"
    yaml.write_text(YAML)
    with Lab(seed=7) as lab, Lab() as running:
        t = lab.product("t", resources={"temperature": "number", "message": "string"})
        on_host = running.product("t", resources={"temperature": "number"})
        on_host.allow("once-1")
        late = t.fleet(1, Misspelt, prefix="l-")
        late.faults.add("cut off", after=3600, seconds=1)
        standing = on_host.fleet(1, Once)
        strict = lab.solution("strict")
        strict.strict = True
        yield {
            "Lab": Lab,
            "labkit": labkit,
            "yaml": yaml,
            "lab": lab,
            "running": running,
            "t": t,
            "d": t.device("t-001").activate(),
            "empty": lab.product("empty").device("e-001").activate(),
            "s": lab.solution("shop", products=[t]),
            "strict": strict,
            "Wrong": Wrong,
            "late": late,
            "fleet": t.fleet(2, Misspelt, prefix="f-"),
            "standing": standing,
            "on_host": on_host,
        }


@pytest.mark.sampled
@pytest.mark.parametrize(("code", "wrong", "remedy"), CELLS)
def test_a_mistake_in_a_cell(names: dict[str, Any], code: str, wrong: str, remedy: str) -> None:
    told = []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            eval(code, names)
        except LabkitError as error:
            told.append(str(error))
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if is_ours(frame)]
            assert len(frames) <= 1, code
        gc.collect()
    told += [str(each.message) for each in seen if each.category is LabWarning]
    [text] = told
    assert wrong in text
    assert remedy in text
    assert "\n" not in text
    assert all(each.filename == "<string>" for each in seen if each.category is LabWarning)


@pytest.mark.parametrize(("line", "wrong", "remedy"), COMMANDS)
def test_a_mistake_at_a_terminal(line: str, wrong: str, remedy: str) -> None:
    check_line(main, line, wrong, remedy)


@pytest.mark.parametrize(("line", "wrong", "remedy"), DEV)
def test_a_mistake_of_a_developer(line: str, wrong: str, remedy: str) -> None:
    check_line(dev, line, wrong, remedy)


def check_line(command: Any, line: str, wrong: str, remedy: str) -> None:
    """Check that a command line ends with one line on stderr and a status other than 0."""
    ended = CliRunner().invoke(command, line.split(), prog_name="labkit")
    assert ended.exit_code in (1, 2)
    [text] = ended.stderr.splitlines()
    assert text.startswith("labkit: ")
    assert wrong in text
    assert remedy in text


def test_a_refusal_that_is_read_gives_no_warning(names: dict[str, Any]) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", LabWarning)
        assert names["s"].User.getUser(id=9)["status"] == 404
        refused = names["s"].User.getUser(id=9)
        assert dict(refused) == {**refused}
        del refused
        gc.collect()
    assert [each for each in seen if each.category is LabWarning] == []


def test_handlers_and_faults_that_something_reaches_give_no_warning(names: dict[str, Any]) -> None:
    lab, s = names["lab"], names["s"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", LabWarning)
        for service, event in (("device", "datapoint"), ("t", "event"), ("{product.id}", "datapoint")):
            s.on(service, event, lua="")
        s.on("timer", "timer", lua="")
        s.on("config", "fallback", lua="")
        s.route("GET", "/rooms/{room}/lamps", lua="")
        for where in (f"POST {ALIAS}", "GET /rooms/*", "GET /rooms/hall/lamps", "* /*", "GET /quite/another"):
            lab.faults.add(where, status=503)


def test_a_fault_of_lab_yaml_that_can_hit_nothing_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text("faults: [{where: GET /timestam, status: 503}]\nhttps_port: 0\n")
    with pytest.warns(LabWarning, match=r"no request has the path '/timestam'; did you mean") as seen:
        Lab(config=tmp_path / "lab.yaml").close()
    assert [Path(each.filename) for each in seen] == [Path(__file__)]


def test_a_fleet_warns_once_of_an_alias(names: dict[str, Any]) -> None:
    with pytest.warns(
        LabWarning, match="devices wrote what the platform ignores: no resource 'temprature'"
    ) as seen:
        names["fleet"].run(seconds=5)
    assert len(seen) == 1
    assert Path(seen[0].filename) == Path(__file__)


def test_a_device_polls_again_where_the_timeout_is_longer_than_the_platform_allows() -> None:
    class Waits(labkit.Behaviour):
        async def run(self, device: Any) -> None:
            assert await device.wait_for("message", timeout=700) is None
            device.note(until=device.now())

    with Lab(seed=3) as lab:
        run = lab.product("t", resources={"message": "string"}).fleet(1, Waits).run(hours=1)
        began, until = run.began, run.devices()["until"].iloc[0]
        assert run.failed == []
    assert 699 <= until - began <= 703


def test_a_missing_await_names_the_public_method() -> None:
    class Forgets(labkit.Behaviour):
        async def run(self, device: Any) -> None:
            device.write(message="a")
            await device.sleep(1)

    with warnings.catch_warnings(record=True) as seen, Lab(seed=3) as lab:
        warnings.simplefilter("always")
        lab.product("t", resources={"message": "string"}).fleet(1, Forgets).run(seconds=5)
        gc.collect()
    assert "coroutine 'device.write' was never awaited" in [str(each.message) for each in seen]


def test_there_are_enough_mistakes() -> None:
    assert len(CELLS) + len(COMMANDS) + len(DEV) >= 120
