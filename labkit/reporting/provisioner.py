"""Jupyter provisioner, which starts the process of a kernel: by a fork of a fork server, if one is running."""

from __future__ import annotations

import os
import sys
from importlib.metadata import EntryPoint
from subprocess import Popen
from typing import Any, cast

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner
from traitlets import Unicode

from labkit.conformance.fork_server import is_ready, start
from labkit.reporting import kernel_process

NAME = "labkit-forked"
ADDRESS = (
    "LABKIT_FORK_SERVER"  # the environment variable with the address of a fork server (reporting/preload.py)
)
LAUNCHER = ["-m", "ipykernel_launcher"]
RUN = f"{kernel_process.__name__}:{kernel_process.run.__name__}"


class ForkedProvisioner(LocalProvisioner):
    """Provisioner that requests a forked kernel from a fork server.

    Without a server, or for a kernel other than this interpreter's ipykernel, it starts a new process, as Jupyter does.
    """

    address = Unicode()

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start the kernel's process. Returns the kernel's connection information."""
        address = self.address or os.environ.get(ADDRESS, "")
        arguments = _arguments(cmd)
        if arguments is None or not address or not is_ready(address):
            return await super().launch_kernel(cmd, **kwargs)
        folder = str(kwargs.get("cwd") or os.curdir)
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            outputs = [_descriptor(kwargs.get("stdout"), 1), _descriptor(kwargs.get("stderr"), 2)]
            forked = start(
                address,
                RUN,
                arguments,
                [nothing, *outputs],
                environment=kwargs["env"],
                folder=folder,
                at_exit=True,
            )
            self.pid = self.pgid = forked.pid
        except OSError:  # the server ended meanwhile
            return await super().launch_kernel(cmd, **kwargs)
        finally:
            os.close(nothing)
        self.process = cast("Popen[bytes]", forked)  # has the methods that Jupyter calls
        self.cwd = folder
        return self.connection_info


def metadata(address: str) -> dict[str, Any]:
    """Return the metadata with which a kernel specification selects the server at this address.

    Registers the provisioner, too.
    """
    register()
    return {"kernel_provisioner": {"provisioner_name": NAME, "config": {"address": address}}}


def register() -> None:
    """Register the provisioner with Jupyter in this process."""
    value = f"{__name__}:{ForkedProvisioner.__name__}"
    entry = EntryPoint(NAME, value, KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[NAME] = entry


def _arguments(cmd: list[str]) -> list[str] | None:
    """Return the arguments of ipykernel in a command of this interpreter; None if it is another command."""
    if not cmd or cmd[0] != sys.executable:
        return None
    for n in range(1, len(cmd) - 1):
        if cmd[n : n + 2] == LAUNCHER:
            return cmd[n + 2 :]
    return None


def _descriptor(file: Any, usual: int) -> int:
    if file is None:
        return usual
    return file if isinstance(file, int) else int(file.fileno())
