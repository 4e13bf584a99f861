"""Arguments of a test's lab: those of its markers, and a seed made from the test's id."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pytest

SEED_OPTION = "--labkit-seed"
TRACE_OPTION = "--labkit-full-trace"
URL_OPTION = "--labkit-url"
LABS_OPTION = "--labkit-labs"
CHECKS_OPTION = "--labkit-checks"
COVERAGE_OPTION = "--labkit-coverage"
COVERAGE_MIN_OPTION = "--labkit-coverage-min"
HUNT_SEEDS_OPTION = "--hunt-seeds"
HUNT_TIME_OPTION = "--hunt-time"
HUNT_FAILURES_OPTION = "--hunt-failures"


def node_id(item: pytest.Item) -> str:
    """Return the id of a test, the same with and without pytest-xdist, which appends the name of a group."""
    return item.nodeid if item.parent is None else f"{item.parent.nodeid}::{item.name}"


def seed_of(name: str) -> int:
    """Return a seed made from a text, the same in every process and on every machine."""
    return zlib.crc32(name.encode())


def lab_arguments(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's lab: those of its `lab` markers, and a seed.

    The marker closest to the test has priority. A relative `config` is relative to the folder of the test's file.
    The seed is that of `--labkit-seed`, of the marker, or one made from the test's id. Fails the test for a marker
    with a positional argument.
    """
    arguments = _marked(item)
    if arguments.get("config") is not None:
        arguments["config"] = item.path.parent / Path(arguments["config"])
    if arguments.get("seed") is None:
        arguments["seed"] = seed_of(node_id(item))
    return arguments


def seed_on_demand(item: pytest.Item) -> int | None:
    """Return the seed of a test's lab at the server of `--labkit-labs`: None, the server's own, unless one is given.

    Fails the test for other arguments of its `lab` markers.
    """
    arguments = _marked(item)
    seed: int | None = arguments.pop("seed", None)
    if arguments:
        pytest.fail(
            f"@pytest.mark.lab: a lab of {LABS_OPTION} has the settings of its server, expected at most seed=…, not "
            f"{', '.join(arguments)}",
            pytrace=False,
        )
    return seed


def _marked(item: pytest.Item) -> dict[str, Any]:
    """Return the arguments of a test's `lab` markers, and the seed of `--labkit-seed`."""
    arguments: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("lab"))):
        if marker.args:
            pytest.fail(
                f"@pytest.mark.lab: expected config=…, seed=… and the like, not {marker.args[0]!r}",
                pytrace=False,
            )
        arguments |= marker.kwargs
    seed = item.config.getoption(SEED_OPTION)
    return arguments if seed is None else {**arguments, "seed": seed}
