"""Pytest hooks for tests and notebooks: distribution of items over workers, and the server of notebook kernels."""

import gc
import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from zlib import crc32

import pytest

from labkit.conformance.fork_server import AVAILABLE, ForkServer
from labkit.core.process import serve_for_long
from labkit.reporting import provisioner
from labkit.reporting.preload import PRELOAD
from tests import played

ROOT = Path(__file__).parent
LONG = {"tests", "bench", "fleet", "lab", "reporting", "widgets"}  # folders of long tests
# Folders of the longest tests, which start processes; one that began late would leave the other workers idle.
EARLY = {"conformance", "dev", "reporting", "testing"}
# Tests of programs on lab time, whose library a C compiler builds in a checkout (a wheel carries it); some are in C.
COMPILED = (
    "notebooks/33",
    "tests/firmware/test_",
    "tests/hunt/test_programs",
    "tests/hunt/test_menu",
    "tests/commands/test_hunt_firmware",
)
TOGETHER = 20  # short tests of one file that stay on one worker
CHECKS = "test_a_local_lab_passes"  # name of the test that has each check as parameter
NO_VERDICTS = 'verdicts_file = ""'  # default of a notebook's parameter with the path of verdicts
SERVER = pytest.StashKey[ForkServer]()
SAMPLE = 10  # of so many dear tests a whole run plays one
LEFT = pytest.StashKey[int]()  # number of tests that are left out
LEFT_OUT = "left out"  # the same, in what a worker sends at its end
pytest_plugins = ["tests.guard", "tests.forked"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option that runs one test of many, for a machine on which the tests have run before."""
    parser.addoption(
        "--sample", type=int, default=1, metavar="N", help="one of N tests, drawn by their names"
    )
    parser.addoption(
        "--all", action="store_true", help="all of the tests of which a whole run plays one in ten"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Begin the shared run of the checks, and start the server that forks all notebook kernels, since each would
    import the same for seconds.
    """
    config.pluginmanager.set_blocked("labkit-frames")  # in labkit's own tests its frames are of interest
    if not hasattr(config, "workerinput"):
        played.begin()
    if not (AVAILABLE and config.getoption("nbval", default=False)):
        return
    provisioner.register()
    if not hasattr(config, "workerinput"):  # xdist's workers find what their parent has started
        server = config.stash[SERVER] = ForkServer(PRELOAD)
        os.environ[provisioner.ADDRESS] = server.address
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = provisioner.NAME


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the shared run and the server."""
    if not hasattr(config, "workerinput"):
        played.end()
    server = config.stash.get(SERVER, None)
    if server is not None:
        server.close()
    if (left := config.stash.get(LEFT, 0)) and not hasattr(config, "workerinput"):
        text = (
            f"{left} tests are left out: of the dear ones a run plays one in {SAMPLE}, or all with ARGS=--all"
        )
        config.get_terminal_writer().line(text)


def _missing_for_c() -> str:
    """Return what a client in C cannot be built without, "" if nothing is missing."""
    if not (compiler := shutil.which("cc")):
        return "no C compiler"
    headers = b"#include <curl/curl.h>\n#include <openssl/ssl.h>\n"
    found = subprocess.run([compiler, "-E", "-x", "c", "-"], input=headers, capture_output=True, check=False)
    return "no headers of libcurl and OpenSSL for C" if found.returncode else ""


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one in ten of the dear tests that are marked so, others for each state of labkit's sources.

    Tests whose mark has the same argument are drawn together: a fixture that all of them need costs as much for one.
    """
    sources = 0
    for file in sorted((ROOT / "labkit").rglob("*.py")):
        sources = crc32(file.read_bytes(), sources)
    there = len(items)
    marks = [(item, item.get_closest_marker("sampled")) for item in items]
    items[:] = [
        item
        for item, mark in marks
        if mark is None or not crc32((mark.args[0] if mark.args else item.nodeid).encode(), sources) % SAMPLE
    ]
    config.stash[LEFT] = getattr(config, "workeroutput", {})[LEFT_OUT] = there - len(items)


def pytest_testnodedown(node: object) -> None:
    """Take over from a worker how many tests it left out, as each of them does."""
    node.config.stash[LEFT] = node.workeroutput.get(LEFT_OUT, 0)  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw the sample, group the items that must run on one worker, and set the order.

    The cells of a notebook share a kernel. Long tests are spread one by one; short ones a few of a file at a time, for
    xdist's own work grows with the square of the groups. The checks come first, then the longest tests, and the
    notebooks, which wait for the verdicts of the checks, last: a worker that waits does nothing else.
    """
    if (sample := config.getoption("sample")) > 1:  # a notebook as a whole, since its cells share a kernel
        names = {item: item.path.name if item.path.suffix == ".ipynb" else item.nodeid for item in items}
        items[:] = [item for item in items if not crc32(names[item].encode()) % sample]
    if "tests" in config.args and not config.getoption(
        "all"
    ):  # whoever names folders or tests gets all of these
        _leave_out(config, items)
    orders: dict[pytest.Item, int] = {}
    counts: Counter[Path] = Counter()
    paths = {path: path.relative_to(ROOT) for path in {item.path for item in items}}
    lacks = _missing_for_c()
    for item in items:
        path = paths[item.path]
        orders[item] = 2
        if lacks and path.as_posix().startswith(COMPILED):
            item.add_marker(pytest.mark.skip(lacks))
        if getattr(item, "originalname", "") in (CHECKS, played.MUTANTS):
            orders[item] = 0
            item.add_marker(pytest.mark.xdist_group("forked"))
        elif path.parts[0] == "tests" and path.parts[1] in EARLY:
            orders[item] = 1
        elif path.suffix == ".ipynb":
            orders[item] = 4
            item.add_marker(pytest.mark.xdist_group(path.stem))
            item.add_marker(pytest.mark.timeout(600))  # the first one may wait until all checks have run
        elif path.parent.name not in LONG and not item.get_closest_marker("xdist_group"):
            orders[item] = 3
            item.add_marker(pytest.mark.xdist_group(f"{path.with_suffix('')}-{counts[path] // TOGETHER}"))
            counts[path] += 1
    items.sort(key=orders.__getitem__)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from visiting thousands of tests and imports: not during collection (it takes a fifth
    of the time), and not in tests (0.3 s each time), where it begins as seldom as in `labkit serve`.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        serve_for_long()
        gc.enable()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Give a notebook the verdicts of the checks, as a report does, if the session has a test for each check.

    Otherwise the notebook runs the checks that it shows.
    """
    cell = getattr(item, "cell", None)
    if cell is not None and NO_VERDICTS in cell.source:
        from labkit.conformance.check import all_checks  # a session without notebooks need not import it

        tested = sum(getattr(each, "originalname", "") == CHECKS for each in item.session.items)
        if tested == len(all_checks()):
            cell.source = cell.source.replace(
                NO_VERDICTS, f"verdicts_file = {str(played.all_played(item.session))!r}"
            )
