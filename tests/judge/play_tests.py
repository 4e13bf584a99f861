"""Play of a file of tests, with or without a mutant, in a process of its own; as play.py does with checks."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.judge.play import IMPORT, Mutated, Tell, changed, forget

if TYPE_CHECKING:
    from coverage import Coverage

SHARED = "shared"  # in the place of a function's name: fixtures that several tests use
OPTIONS = "-q -n0 -p no:cacheprovider --assert=plain --tb=no --disable-warnings".split()


class Watch:
    """Plugin of pytest that sends the functions that begin and fail, and tells coverage which one runs."""

    def __init__(self, send: Tell, measured: Coverage | None = None) -> None:
        self.send = send
        self.measured = measured

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        self.send({"began": name_of(item.nodeid)})
        self._switch(name_of(item.nodeid))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        self._switch(SHARED)
        try:
            return (yield)
        finally:
            self._switch(name_of(request._pyfuncitem.nodeid))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.send({"failed": name_of(report.nodeid)})

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.send({"failed": IMPORT})

    def _switch(self, context: str) -> None:
        if self.measured is not None:
            self.measured.switch_context(context)


def name_of(nodeid: str) -> str:
    """Return the name of a test's function, without the file and the parameters."""
    return nodeid.partition("[")[0].partition("::")[2]


def attempt(given: dict[str, Any], send: Tell) -> None:
    """Run functions of a file of tests with a mutant, as in play.py. tests: their ids."""
    if not (
        given["later"] and given["function"] and changed(given["path"], given["source"], *given["function"])
    ):
        forget()
        sys.meta_path.insert(0, Mutated(given["module"], given["path"], given["source"]))
    pytest.main([*OPTIONS, *given["tests"]], plugins=[Watch(send)])


def record(given: dict[str, Any], send: Tell) -> None:
    """Run a file of tests, and send the lines of labkit that each function runs. files: patterns of these lines."""
    from coverage import Coverage

    forget()
    kinds = ["thread", "greenlet"]
    measured = Coverage(data_file=None, config_file=False, include=given["files"], concurrency=kinds)
    measured.start()
    measured.switch_context(IMPORT)
    pytest.main([*OPTIONS, *given["tests"]], plugins=[Watch(send, measured)])
    measured.stop()
    data = measured.get_data()
    for path in sorted(data.measured_files()):
        lines = {line: sorted({*names} - {IMPORT}) for line, names in data.contexts_by_lineno(path).items()}
        send({"file": path, "lines": {line: names for line, names in lines.items() if names}})
