"""Fixtures, marker, options and reports for tests that use a lab: a pytest plugin.

`lab` is a fresh lab for each test, `lab_session` one for all tests, `lab_each` one for each example of Hypothesis,
`labkit_server` a `labkit serve` in a process of its own, `client_environment` the environment variables by which
clients trust the lab and find it, `firmware` starts programs on the time of the test's lab.
"""

from __future__ import annotations

import argparse
import inspect
import os
import sys
import unittest
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

from labkit.core.commands import duration_seconds
from labkit.core.errors import is_debugging
from labkit.testing import frames
from labkit.testing.marker import (
    CHECKS_OPTION,
    COVERAGE_MIN_OPTION,
    COVERAGE_OPTION,
    HUNT_FAILURES_OPTION,
    HUNT_SEEDS_OPTION,
    HUNT_TIME_OPTION,
    LABS_OPTION,
    SEED_OPTION,
    TRACE_OPTION,
    URL_OPTION,
    lab_arguments,
    seed_of,
    seed_on_demand,
)

if TYPE_CHECKING:
    from labkit.lab.lab import Lab
    from labkit.testing.firmware import Firmware
    from labkit.testing.lab_each import LabEach
    from labkit.testing.server import LabServer

T = TypeVar("T")

MARKERS = (
    "lab(config=…, seed=…, speed=…, profile=…, **settings): arguments of the test's lab, those of labkit.Lab",
    "hunt(seeds=50, time=…, level=…, parameters=…): a story, played with so many seeds; arguments of labkit.hunt.hunt",
    "must: a check of labkit.conformance whose requirement the documents state",
    "choice: a check of labkit.conformance whose requirement the documents leave open",
)
NAME = "labkit.conformance"
CHECKS = Path(__file__).parent.parent / "conformance"  # the folder of this package
SESSION_LAB = pytest.StashKey["Lab"]()
BEGAN = pytest.StashKey[
    dict[int, int]
]()  # number of the last record before a test, by the id of a shared lab


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("labkit", "labs of an IoT platform")
    group.addoption(
        SEED_OPTION,
        type=int,
        metavar="N",
        help="Seed of all labs; by default each test has one that is made from its id.",
    )
    group.addoption(
        URL_OPTION,
        metavar="TARGET",
        help="Use a running platform for labkit_server and labkit.conformance: the line that `labkit serve --json` "
        "prints, or a file with it.",
    )
    group.addoption(
        LABS_OPTION,
        metavar="URL",
        help="Start each test's lab at this control of a `labkit serve --labs`, with its settings; the token is in "
        "LABKIT_TOKEN.",
    )
    group.addoption(
        CHECKS_OPTION,
        action="append",
        default=[],
        metavar="FOLDER",
        help="Folder with requirements.toml and checks.py of your own, beside those of labkit.conformance; may be "
        "repeated.",
    )
    group.addoption(
        TRACE_OPTION,
        action="store_true",
        help="Show the frames of labkit, SQLAlchemy and asyncio in tracebacks.",
    )
    group.addoption(
        HUNT_SEEDS_OPTION,
        type=_seeds,
        metavar="N",
        help="Plays of each story, instead of those of its marker.",
    )
    group.addoption(
        HUNT_TIME_OPTION,
        type=_duration,
        metavar="TIME",
        help="Real time for the plays of each story: 30s, 5m, 1h. Without --hunt-seeds, as many as fit.",
    )
    group.addoption(
        HUNT_FAILURES_OPTION,
        metavar="FOLDER",
        help="Folder for failures of stories, those of earlier hunts being played first; by default failures in the "
        "current folder, as of `labkit hunt`.",
    )

    group.addoption(
        COVERAGE_OPTION,
        metavar="FOLDER",
        help="Measure which lines of the solutions of labkit_solutions their tests run; write pages into this folder.",
    )
    group.addoption(
        COVERAGE_MIN_OPTION,
        type=float,
        metavar="PERCENT",
        help="Measure, and fail the session if fewer lines of a solution run.",
    )
    parser.addini(
        "labkit_solutions",
        "Folders of solutions whose tests in Lua are collected: tests/*.lua, *_test.lua, *_spec.lua.",
        type="linelist",
        default=[],
    )
    parser.addini(
        "labkit_config",
        "A lab.yaml for these tests: products, settings, and each of these folders as a solution.",
        default="",
    )


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the tests in Lua of the folders that the ini file names."""
    if file_path.suffix != ".lua" or not parent.config.getini("labkit_solutions"):
        return None
    from labkit.testing.script_tests import lua_file

    return lua_file(file_path, parent)


def _seeds(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {text!r}")
    return int(text)


def _duration(text: str) -> float:
    try:
        return duration_seconds(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and hide frames unless they are wanted."""
    for each in MARKERS:
        config.addinivalue_line("markers", each)
    if config.getini("labkit_solutions") or config.getini("labkit_config"):
        from labkit.testing.script_tests import check_options

        check_options(config)
    if config.getoption(TRACE_OPTION):
        os.environ["LABKIT_DEBUG"] = "1"  # otherwise the handles leave out frames of their own
    if config.getoption(COVERAGE_OPTION) is not None or config.getoption(COVERAGE_MIN_OPTION) is not None:
        from labkit.testing.coverage import CoverageReport

        config.pluginmanager.register(CoverageReport(config), "labkit-coverage")
    if not is_debugging():
        config.pluginmanager.register(frames, "labkit-frames")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect the checks as tests if the session is asked for labkit.conformance."""
    if path != CHECKS or NAME not in parent.config.invocation_params.args:
        return None
    from labkit.testing.requirements import Checks

    return Checks.from_parent(parent, path=path, nodeid=NAME)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> list[pytest.Item] | None:
    """Collect a story as a test if its name begins with `test`, or if it has the marker `hunt`.

    Raises CollectError for a function that has the marker and is no story.
    """
    if inspect.isfunction(obj) and any(each.name == "hunt" for each in getattr(obj, "pytestmark", ())):
        raise collector.CollectError(
            f"{obj.__code__.co_filename}:{obj.__code__.co_firstlineno}: {name} has @pytest.mark.hunt, and is no "
            "story: expected @story of labkit.hunt between the marker and the function"
        )
    story = sys.modules.get(
        "labkit.hunt.story"
    )  # no file that was collected has a story unless it is imported
    if story is None or not isinstance(obj, story.Story):
        return None
    from labkit.testing.hunts import HuntItem, is_test

    return [HuntItem.from_parent(collector, name=name, story=obj)] if is_test(name, obj) else []


# --- fixtures -----------------------------------------------------------------------------------------------


@pytest.fixture
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """A fresh lab for this test, on a virtual clock with a seed of the test's own; closed at its end.

    `@pytest.mark.lab(config="lab.yaml", speed=60)` gives the arguments of `labkit.Lab`; with `--labkit-labs` it is one
    that the server of that URL starts, with the server's settings. In a `unittest.TestCase`,
    `@pytest.mark.usefixtures("lab")` sets `self.lab`.
    """
    from labkit.lab.lab import Lab

    if (url := request.config.getoption(LABS_OPTION)) is None:
        start = partial(Lab, **lab_arguments(request.node))
    else:
        start = partial(Lab.connect, url, new=True, seed=seed_on_demand(request.node))
    with _started(start) as started:
        if isinstance(request.instance, unittest.TestCase):
            request.instance.lab = started  # type: ignore[attr-defined]
        yield started


@pytest.fixture(scope="session")
def lab_session(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """One lab for all tests of this process, empty at first. Markers do not apply: add products with `lab.product`."""
    from labkit.lab.lab import Lab

    seed = request.config.getoption(SEED_OPTION)
    with Lab(seed_of("session") if seed is None else seed) as started:
        request.session.stash[SESSION_LAB] = started
        yield started


@pytest.fixture(scope="session")
def lab_each(request: pytest.FixtureRequest) -> Iterator[LabEach]:
    """A function that returns an empty lab at each call, for Hypothesis: `lab = lab_each()` begins an example.

    It is the same lab, restored, which takes milliseconds. Its arguments are those of `labkit.Lab`:
    `lab_each(config="lab.yaml")`; markers do not apply.
    """
    from labkit.testing.lab_each import LabEach

    seed = request.config.getoption(SEED_OPTION)
    labs = LabEach(seed_of("session") if seed is None else seed)
    yield labs
    labs.close()


@pytest.fixture
def labkit_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """A process that serves the lab.yaml of `@pytest.mark.lab(config=…)` on a free port, ended after the test.

    Its clock runs, and its seed is that of the test. With `--labkit-url` it is the platform that the option names. With
    `@pytest.mark.lab(control=True)` a test drives it: `Lab.connect(**labkit_server.control)`.
    """
    from labkit.testing.server import LabServer, serving

    target = request.config.getoption(URL_OPTION)
    if target is not None:
        yield _started(lambda: LabServer.of(target))
        return
    arguments = lab_arguments(request.node)
    served = serving(tmp_path_factory.mktemp("labkit-server"), **arguments)
    with ExitStack() as stack:
        yield _started(lambda: stack.enter_context(served))


@pytest.fixture
def client_environment(request: pytest.FixtureRequest) -> dict[str, str]:
    """Environment variables by which clients trust the lab and find it: `env=os.environ | client_environment`.

    Of the test's `labkit_server` if it uses that, of its `lab_session`, or else of its `lab`.
    """
    from labkit.testing.environment import client_environment

    used = [each for each in ("labkit_server", "lab_session") if each in request.fixturenames]
    lab: Lab | LabServer = request.getfixturevalue(used[0] if used else "lab")
    return client_environment(lab.ca_file, lab.hosts, lab.proxy)


@pytest.fixture
def firmware(lab: Lab) -> Iterator[Firmware]:
    """Function that starts a program on the time of the test's lab: `firmware(["./client", "t-001"], seed=3)`.

    Its arguments and its result are those of `lab.firmware`. All programs end with the test, and the report of a
    failing test has what they printed.
    """
    from labkit.testing.firmware import Firmware

    programs = Firmware(lab)
    yield programs
    programs.close()


def _started(start: Callable[[], T]) -> T:
    """Return what `start` returns, and fail the test with the reason alone if it raises one of labkit's errors."""
    from labkit.core.errors import LabkitError

    try:
        return start()
    except LabkitError as error:
        reason = f"{type(error).__name__}: {error}"
    # outside of the except clause, so that the report does not show the exception's own traceback
    pytest.fail(reason, pytrace=False)


# --- reports ------------------------------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note where the journal of the shared lab ends before a test."""
    shared = item.session.stash.get(SESSION_LAB, None)
    if shared is not None and "lab_session" in getattr(item, "fixturenames", ()) and not shared.closed:
        item.stash[BEGAN] = {id(shared): len(shared.journal) + shared.journal.dropped}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the journal of a failing test's lab to its report."""
    report = yield
    if report.failed and "labkit.settings" in sys.modules:  # otherwise no test has used a lab
        from labkit.testing.failure import sections

        report.sections += sections(item, item.stash.get(BEGAN, {}))
        error = None if call.excinfo is None else call.excinfo.value
        if "labkit.testing.hunts" in sys.modules:
            from labkit.testing.hunts import HuntFailedError, hunt_sections

            if isinstance(error, HuntFailedError):
                report.sections += hunt_sections(item, error)
    return report
