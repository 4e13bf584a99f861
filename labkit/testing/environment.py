"""Environment variables by which clients in other processes trust a lab and find it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from labkit.firmware.environment import CA_VARIABLES


def client_environment(ca_file: Path, hosts: Iterable[str], proxy: str | None = None) -> dict[str, str]:
    """Return the variables for a lab's clients, to be merged into those of the process.

    ca_file: certificate of its CA; hosts: its names; proxy: URL of its CONNECT listener. Without `proxy`, the hosts are
    exempt from a proxy that the environment names. libcurl reads none of them: its program sets CURLOPT_CAINFO.
    """
    variables = dict.fromkeys(CA_VARIABLES, str(ca_file))
    exempt = ",".join(hosts) if proxy is None else ""
    if proxy is not None:
        variables |= {"HTTPS_PROXY": proxy, "https_proxy": proxy}
    return variables | {"NO_PROXY": exempt, "no_proxy": exempt}
