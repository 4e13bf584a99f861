"""Fixture: a database in memory, with the tables of things.py."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from labkit.storage.database import Database
from tests.storage.things import tables


@pytest.fixture
async def database() -> AsyncIterator[Database]:
    opened = Database()
    opened.start(tables)
    yield opened
    opened.close()
