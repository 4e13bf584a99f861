"""Bare servers as the reference for a load, in several processes that share a port."""

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
    """Run a bare server on each of these cores, and yield their common address: `port`, `ca` (PEM) and `domain`.

    The system distributes connections over them.
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
    """Write a new file with a certificate and key for the bare server, and return its path."""
    pem, key = authority.leaf([DOMAIN])
    file = folder / "leaf.pem"
    file.touch(mode=0o600)
    file.write_bytes(key + pem)
    return file
