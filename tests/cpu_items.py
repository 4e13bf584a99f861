"""List of the tests by CPU, with all processes that they start: a pytest plugin.

`make test ARGS="-p tests.cpu_items --cpu-items items.csv"` writes a line for each test: CPU seconds and name. It reads
/proc of Linux.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")  # a second


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the file."""
    parser.addoption("--cpu-items", type=Path, metavar="FILE", help="append each test's CPU seconds, as CSV")


def _cpu() -> float:
    """Return the CPU seconds of this process, its processes, and theirs, with those that have ended."""
    spent: dict[int, int] = {}
    children: dict[int, list[int]] = defaultdict(list)
    for each in os.scandir("/proc"):
        try:
            fields = (
                Path(each.path, "stat").read_text().rpartition(") ")[2].split() if each.name.isdigit() else []
            )
        except OSError:  # it has just ended
            continue
        if fields:
            children[int(fields[1])].append(int(each.name))
            spent[int(each.name)] = sum(map(int, fields[11:15]))
    total, rest = 0, [os.getpid()]
    for process in rest:
        total += spent.get(process, 0)
        rest += children[process]
    return total / TICKS


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Append the CPU of a test with its fixtures."""
    file = item.config.getoption("cpu_items")
    before = 0.0 if file is None else _cpu()
    try:
        return (yield)
    finally:
        if file is not None:
            with file.open("a") as lines:
                lines.write(f"{_cpu() - before:.2f},{item.nodeid}\n")
