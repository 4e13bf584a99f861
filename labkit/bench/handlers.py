"""The bare handlers that a load is measured against, in several processes that share a port."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from labkit.bench.control import Answer, Child
from labkit.edge.certificates import Authority

DOMAIN = "bench.m2.lab.localhost"


@contextmanager
def handlers(cores: Sequence[int]) -> Iterator[Answer]:
    """A bare server on each of these cores, all at one address: `port`, `ca` (PEM) and `domain`.

    The system spreads connections over them.
    """
    authority = Authority.create()
    with ExitStack() as stack:
        file = certificate(authority, Path(stack.enter_context(tempfile.TemporaryDirectory())))
        port = 0
        for core in cores:
            settings = json.dumps({"port": port, "certificate": str(file)})
            server = stack.enter_context(Child("labkit.bench.server", "reference", settings, core=core))
            port = server.ready["port"]
        yield {"port": port, "ca": authority.ca_pem.decode(), "domain": DOMAIN}


def certificate(authority: Authority, folder: Path) -> Path:
    """A new file with a certificate of the bare server's and its key."""
    pem, key = authority.leaf([DOMAIN])
    file = folder / "leaf.pem"
    file.touch(mode=0o600)
    file.write_bytes(key + pem)
    return file
