"""Environment variables by which clients in other processes trust a lab and find it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

CA_VARIABLES = (
    "SSL_CERT_FILE",  # OpenSSL where a program asks for the default locations; httpx; Python's ssl
    "CURL_CA_BUNDLE",  # the command curl; requests
    "REQUESTS_CA_BUNDLE",  # requests
    "NODE_EXTRA_CA_CERTS",  # Node, which trusts its own list as well
)


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
