"""Fixtures: a database, a clock that stands still, and the parts that use them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from labkit.core.identifiers import Identifiers
from labkit.devices.content import Content
from labkit.devices.registry import Registry
from labkit.devices.state import State
from labkit.labtime.clock import Clock
from labkit.storage.database import Database
from labkit.storage.schema import metadata


@pytest.fixture
def clock() -> Clock:
    return Clock(0, start=1000.9)


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = Database()
    opened.start(metadata)
    yield opened
    opened.close()


@pytest.fixture
def registry(database: Database, clock: Clock) -> Registry:
    return Registry(database, clock, Identifiers(7))


@pytest.fixture
def content(database: Database, clock: Clock) -> Content:
    return Content(database, clock)


@pytest.fixture
def state(database: Database) -> State:
    return State(database)
