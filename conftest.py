"""For tests and notebooks alike: which items stay together on a worker, and what the notebooks' kernels come from."""

import gc
import os

import pytest

from labkit.reporting import provisioner
from labkit.reporting.kernel_server import AVAILABLE, KernelServer
from tests import played

CHECKS = "test_a_local_lab_passes"  # one for each check
UNPLAYED = 'played = ""'  # the parameter of a notebook that may name the verdicts of a play
SERVER = pytest.StashKey[KernelServer]()


def pytest_configure(config: pytest.Config) -> None:
    """Have the checks played once for all, and the kernels of all notebooks forked from one process: each would
    import the same for seconds.
    """
    if not hasattr(config, "workerinput"):
        played.begin()
    if not (AVAILABLE and config.getoption("nbval", default=False)):
        return
    provisioner.register()
    if not hasattr(config, "workerinput"):  # xdist's workers find what their parent has started
        server = config.stash[SERVER] = KernelServer()
        os.environ[provisioner.ADDRESS] = server.address
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = provisioner.NAME


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it."""
    if not hasattr(config, "workerinput"):
        played.end()
    server = config.stash.get(SERVER, None)
    if server is not None:
        server.close()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the cells of a notebook on one worker: they share a kernel. Tests are spread one by one."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
            item.add_marker(pytest.mark.timeout(300))  # the first one may wait for all checks to be played


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let no test look for garbage in what thousands of them and all that is imported are made of: it takes 0.3 s."""
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Hand a notebook the verdicts of the checks, as a report does, where the session has a test for each check.

    Else it plays those that it shows by itself.
    """
    cell = getattr(item, "cell", None)
    if cell is not None and UNPLAYED in cell.source:
        from labkit.conformance.check import all_checks  # what a session without notebooks need not import

        tested = sum(getattr(each, "originalname", "") == CHECKS for each in item.session.items)
        if tested == len(all_checks()):
            cell.source = cell.source.replace(UNPLAYED, f"played = {str(played.all_played())!r}")
