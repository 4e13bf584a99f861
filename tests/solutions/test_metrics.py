"""The metrics pattern of document 1 in both languages: they must agree, answer for answer."""

import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from labkit.services.keystore import Keystore
from tests.solutions.rig import SolutionRig, handle, solution_rig

SOLUTIONS = Path(__file__).parents[2] / "notebooks" / "solutions"


@asynccontextmanager
async def counting(language: str) -> AsyncIterator[SolutionRig]:
    """A rig whose solution is the metrics pattern."""
    async with solution_rig(Keystore) as lab:
        if language == "lua":
            await lab.add(path=SOLUTIONS / "metrics")
        else:
            spec = importlib.util.spec_from_file_location("metrics_python", SOLUTIONS / "metrics_python.py")
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            module.register(await lab.add())
        yield lab


async def write(lab: SolutionRig, message: str) -> None:
    data = {"alias": "message", "value": [lab.clock.seconds(), message], "api": "write"}
    outcome = await handle(lab.solutions.get("acme"), "device", "datapoint", data, product="thermostat")
    assert outcome is not None
    assert outcome.status == 204, outcome.error


async def metrics(lab: SolutionRig) -> Any:
    answer = await lab.get("/metrics")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    return await answer.json()


@pytest.mark.parametrize("language", ["lua", "python"])
async def test_before_the_first_message(language: str) -> None:
    async with counting(language) as lab:
        answer = await lab.get("/metrics")
        assert await answer.text() == '{"dailyCount":"0","logs":[]}'


@pytest.mark.parametrize("language", ["lua", "python"])
async def test_it_counts_and_keeps_the_last_ten_newest_first(language: str) -> None:
    async with counting(language) as lab:
        await write(lab, "one")
        assert await metrics(lab) == {"dailyCount": "1", "logs": ["one"]}
        for number in range(2, 14):
            await write(lab, f"message {number}")
        expected = [f"message {number}" for number in range(13, 3, -1)]
        assert await metrics(lab) == {"dailyCount": "13", "logs": expected}


@pytest.mark.parametrize("language", ["lua", "python"])
async def test_the_count_ends_at_midnight_and_the_log_stays(language: str) -> None:
    async with counting(language) as lab:
        await lab.clock.advance(hours=23, minutes=59, seconds=58)
        await write(lab, "late")
        await lab.clock.advance(seconds=1)
        assert (await metrics(lab))["dailyCount"] == "1"
        await lab.clock.advance(seconds=2)
        assert await metrics(lab) == {"dailyCount": "0", "logs": ["late"]}
        await write(lab, "early")
        assert await metrics(lab) == {"dailyCount": "1", "logs": ["early", "late"]}


@pytest.mark.parametrize("language", ["lua", "python"])
async def test_messages_keep_their_text(language: str) -> None:
    async with counting(language) as lab:
        texts = ['{"a": [1, 2]}', "é ü 漢", " 21.50 ", "", 'quote " and \\ backslash']
        for text in texts:
            await write(lab, text)
        assert (await metrics(lab))["logs"] == texts[::-1]
