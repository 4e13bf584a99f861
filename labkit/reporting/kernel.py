"""Jupyter kernel in which notebooks run: always this interpreter, whichever kernels are installed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets import Unicode

from labkit.reporting import provisioner
from labkit.reporting.connected import connects, write_startup

NAME = "python3"  # kernel name in the notebooks' metadata, which every Jupyter has


class Kernel(AsyncKernelManager):
    """Manager of a kernel of this interpreter, configured by traitlets.

    folder: for all of the kernel's files; server: address of a fork server that forks the kernel. Without a server,
    or before it is ready, a new process is started.
    """

    folder = Unicode(config=True)
    server = Unicode(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kernel_spec_manager = ThisInterpreter(Path(self.folder), self.server)
        self.connection_file = str(Path(self.folder) / "kernel.json")
        # Unlike a free port, a socket file cannot be occupied by another process before it is bound.
        self.transport = "tcp" if os.name == "nt" else "ipc"

    async def start_kernel(self, **kwargs: Any) -> None:  # type: ignore[override]  # async there too
        """Start the kernel. Output of its process (not of cells) goes to a log, so that it disturbs no progress bar."""
        if connects():
            write_startup(ipython_folder(Path(self.folder)))
        with log(Path(self.folder)).open("wb") as file:
            await super().start_kernel(**{**kwargs, "stdout": file, "stderr": file})


class ThisInterpreter(KernelSpecManager):
    """Kernel specifications of one kernel, this interpreter's, under every name."""

    def __init__(self, folder: Path, server: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._metadata = provisioner.metadata(server) if server else {}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        environment = {
            # The user's settings, start-up scripts and history would change the results.
            "IPYTHONDIR": str(ipython_folder(self._folder)),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # otherwise the debugger warns of frozen modules
        }
        return KernelSpec(
            resource_dir=RESOURCES, **{**get_kernel_dict(), "env": environment, "metadata": self._metadata}
        )


def ipython_folder(folder: Path) -> Path:
    """Return the folder of the kernel's IPython."""
    return folder / "ipython"


def log(folder: Path) -> Path:
    """Return the path of the log with the output of the kernel's process, such as the reason of its death."""
    return folder / "kernel.log"
