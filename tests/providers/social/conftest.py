"""Fixtures: a lab, its providers with two people, and an application."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from labkit import Lab
from labkit.lab.provider import Provider
from labkit.providers.social.messages import Application
from tests.providers.social.clients import ANN, BO, CALLBACK


@pytest.fixture(scope="module")
def shared() -> Iterator[Lab]:
    """A lab whose clock shows real time, since third-party clients sign with real time."""
    with Lab(seed=7, start=time.time()) as lab:
        lab.provider("acme", people=[ANN, BO])
        lab.provider("bird", protocol="oauth1", people=[ANN, BO])
        yield lab


@pytest.fixture
def lab(shared: Lab) -> Lab:
    shared.reset()
    return shared


@pytest.fixture
def acme(lab: Lab) -> Provider:
    """A provider of OAuth 2."""
    return lab.provider("acme")


@pytest.fixture
def bird(lab: Lab) -> Provider:
    """A provider of OAuth 1.0a."""
    return lab.provider("bird")


@pytest.fixture
def application(acme: Provider) -> Application:
    return acme.register(CALLBACK, name="The <client>")
