"""Stories as tests: some fail on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from labkit.hunt import no_unexpected_status, story

if TYPE_CHECKING:
    from labkit import Lab
    from labkit.hunt import Draw


@pytest.mark.hunt(seeds=30, level="calm")
@story
def sells(lab: Lab, draw: Draw, *, most: int = 100) -> None:
    """Break in most plays; the marker alone makes it a test."""
    count = draw.number(1, most, label="count")
    lab.solution("shop").Keystore.set(key="sold", value=str(count))
    assert count < 7, "sold out"


@story(promises=[no_unexpected_status()])
def test_refused(lab: Lab, draw: Draw) -> None:
    """Break a promise in each play, since there is no such route."""
    lab.solution("shop").get(draw.choice(["/a", "/b\n"], label="path"))


@pytest.mark.hunt(level="calm", parameters={"most": 3})
@story
def test_kept(lab: Lab, draw: Draw, *, most: int = 5) -> None:  # noqa: PT028
    """Break nothing."""
    assert draw.number(1, most) <= 3


@pytest.mark.hunt(sedes=3)
@story
def wrong(lab: Lab, draw: Draw) -> None:
    """Have a misspelt argument."""


@pytest.mark.hunt(3)
@story
def wrong_too(lab: Lab, draw: Draw) -> None:
    """Have an argument without its name."""


@story
def no_test(lab: Lab, draw: Draw) -> None:
    """Be no test: neither name nor marker says so."""
    raise AssertionError


class TestShop:
    """Stories of a class."""

    @staticmethod
    def test_function() -> None:
        """Be no story."""

    @pytest.mark.hunt
    @story
    def kept(lab: Lab, draw: Draw) -> None:  # noqa: N805
        """Break nothing."""
        draw.chance(0.5)
