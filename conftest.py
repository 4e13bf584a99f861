"""For tests and notebooks alike: which items stay together on a worker, and what the notebooks' kernels come from."""

import os

import pytest

from labkit.reporting import provisioner
from labkit.reporting.kernel_server import AVAILABLE, KernelServer

SERVER = pytest.StashKey[KernelServer]()


def pytest_configure(config: pytest.Config) -> None:
    """Have the kernels of all notebooks forked from one process: each would import the same for seconds."""
    if not (AVAILABLE and config.getoption("nbval", default=False)):
        return
    provisioner.register()
    if not hasattr(config, "workerinput"):  # xdist's workers find what their parent has started
        server = config.stash[SERVER] = KernelServer()
        os.environ[provisioner.ADDRESS] = server.address
        os.environ["JUPYTER_DEFAULT_PROVISIONER_NAME"] = provisioner.NAME


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it."""
    server = config.stash.get(SERVER, None)
    if server is not None:
        server.close()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the cells of a notebook on one worker: they share a kernel. Tests are spread one by one."""
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
