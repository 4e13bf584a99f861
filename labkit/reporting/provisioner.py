"""Kernels from a kernel server, where there is one, in Jupyter's own terms: a provisioner starts a kernel's process."""

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

from labkit.reporting.kernel_server import is_ready, start

NAME = "labkit-forked"
ADDRESS = "LABKIT_KERNEL_SERVER"  # the environment variable with the address of a kernel server
LAUNCHER = ["-m", "ipykernel_launcher"]


class ForkedProvisioner(LocalProvisioner):
    """Has a kernel server fork the kernel; starts it as Jupyter does where none is there, or another is asked for."""

    address = Unicode()

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Start the kernel's process."""
        address = self.address or os.environ.get(ADDRESS, "")
        arguments = _arguments(cmd)
        if arguments is None or not address or not is_ready(address):
            return await super().launch_kernel(cmd, **kwargs)
        folder = str(kwargs.get("cwd") or os.curdir)
        nothing = os.open(os.devnull, os.O_RDONLY)
        try:
            outputs = [_descriptor(kwargs.get("stdout"), 1), _descriptor(kwargs.get("stderr"), 2)]
            forked = start(address, arguments, kwargs["env"], folder, [nothing, *outputs])
        except OSError:  # the server ended meanwhile
            return await super().launch_kernel(cmd, **kwargs)
        finally:
            os.close(nothing)
        self.process = cast("Popen[bytes]", forked)  # what is used of one
        self.pid = self.pgid = forked.pid
        self.cwd = folder
        return self.connection_info


def metadata(address: str) -> dict[str, Any]:
    """What a kernel's specification says so that a server forks it."""
    register()
    return {"kernel_provisioner": {"provisioner_name": NAME, "config": {"address": address}}}


def register() -> None:
    """Make the provisioner known to Jupyter in this process."""
    value = f"{__name__}:{ForkedProvisioner.__name__}"
    entry = EntryPoint(NAME, value, KernelProvisionerFactory.GROUP_NAME)
    KernelProvisionerFactory.instance().provisioners[NAME] = entry


def _arguments(cmd: list[str]) -> list[str] | None:
    """What follows the launcher in a command of this interpreter's ipykernel; None if it is another command."""
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
