"""Fixtures: a lab whose messaging provider has two further accounts, and a client of each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from labkit import Lab
from tests.providers.messaging.api import MESSAGING, ONE, TWO, Api


@pytest.fixture(scope="module")
def shared() -> Iterator[Lab]:
    with Lab(seed=7, providers={"messaging": MESSAGING}) as lab:
        yield lab


@pytest.fixture
def lab(shared: Lab) -> Lab:
    shared.reset()
    return shared


@pytest.fixture
def one(lab: Lab, tmp_path: Path) -> Api:
    return Api(lab, tmp_path, ONE)


@pytest.fixture
def two(lab: Lab, tmp_path: Path) -> Api:
    return Api(lab, tmp_path, TWO)
