"""Servers of labs for tests, and connections to them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from labkit import Lab

Serve = Callable[..., dict[str, Any]]


def with_token(token: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "labkit", *arguments],
        env={**os.environ, "LABKIT_TOKEN": token},
        stdout=subprocess.PIPE,
        text=True,
    )


def connected(ready: dict[str, Any], ca_file: str | None = None) -> Lab:
    return Lab.connect(ready["control"]["url"], ready["control"]["token"], ca_file)
