"""The kernel that notebooks run in: always this interpreter, whatever kernels are installed or missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import RESOURCES, get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from traitlets import Unicode

from labkit.reporting import provisioner

NAME = "python3"  # what notebooks name in their metadata, so that any Jupyter opens them


class Kernel(AsyncKernelManager):
    """A kernel of this interpreter; all that it keeps is in one folder, which its traitlets config names.

    server: the address of a kernel server that forks it; without one, or before it is ready, it starts by itself.
    """

    folder = Unicode(config=True)
    server = Unicode(config=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kernel_spec_manager = ThisInterpreter(Path(self.folder), self.server)
        self.connection_file = str(Path(self.folder) / "kernel.json")
        # A socket file cannot be taken by another between choosing and binding it, as a free port can.
        self.transport = "tcp" if os.name == "nt" else "ipc"

    async def start_kernel(self, **kwargs: Any) -> None:  # type: ignore[override]  # async there too
        """Start it. What the process itself prints (not its cells) must not disturb a progress bar."""
        with log(Path(self.folder)).open("wb") as file:
            await super().start_kernel(**{**kwargs, "stdout": file, "stderr": file})


class ThisInterpreter(KernelSpecManager):
    """Knows one kernel, under any name."""

    def __init__(self, folder: Path, server: str = "") -> None:
        super().__init__()
        self._folder = folder
        self._metadata = provisioner.metadata(server) if server else {}

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        environment = {
            # Settings, start-up scripts and history of whoever runs it would change the outcome.
            "IPYTHONDIR": str(self._folder / "ipython"),
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else the debugger warns of frozen modules
        }
        return KernelSpec(
            resource_dir=RESOURCES, **{**get_kernel_dict(), "env": environment, "metadata": self._metadata}
        )


def log(folder: Path) -> Path:
    """What the kernel's process printed: the reason, if it died."""
    return folder / "kernel.log"
