"""Environment variables of a program on lab time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

CA_VARIABLES = (
    "SSL_CERT_FILE",  # OpenSSL where a program asks for the default locations; httpx; Python's ssl
    "CURL_CA_BUNDLE",  # the command curl; requests
    "REQUESTS_CA_BUNDLE",  # requests
    "NODE_EXTRA_CA_CERTS",  # Node, which trusts its own list as well
)
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
CLEARED = (
    "SSL_CERT_DIR",
    "NODE_TLS_REJECT_UNAUTHORIZED",
)  # what is trusted beside or instead of the lab's CA
# So that two runs are the same, on any machine: no buffer that is written whenever it is full, no chance of its own.
REPEATABLE = {
    "PYTHONUNBUFFERED": "1",
    "UV_USE_IO_URING": "0",  # waits of io_uring are not seen
    "TZ": "UTC",
    "LC_ALL": "C.UTF-8",
}
FOLDER = "LABKIT_FIRMWARE"
SEED = "LABKIT_FIRMWARE_SEED"


def environment(
    outer: Mapping[str, str],
    own: Mapping[str, str | None],
    *,
    library: Path,
    folder: Path,
    ca_file: Path,
    seed: int,
) -> dict[str, str]:
    """Return the environment of a program.

    outer: of this process; own: variables of the run, None for one that is to be absent; library: the preloaded one;
    folder: of the conversation; ca_file: certificate of the lab's CA; seed: of all chance.
    """
    cleared = {*CLEARED, *PROXIES, *(each.upper() for each in PROXIES)}
    variables = {name: value for name, value in outer.items() if name not in cleared}
    variables |= REPEATABLE | {"PYTHONHASHSEED": str(seed % 2**32), "NO_PROXY": "*", "no_proxy": "*"}
    variables |= dict.fromkeys(CA_VARIABLES, str(ca_file))
    variables |= {name: value for name, value in own.items() if value is not None}
    for name, value in own.items():
        if value is None:
            variables.pop(name, None)
    before = variables.get("LD_PRELOAD")
    variables["LD_PRELOAD"] = f"{library} {before}" if before else str(library)
    return variables | {FOLDER: str(folder), SEED: str(seed)}
