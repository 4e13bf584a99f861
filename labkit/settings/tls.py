"""What the HTTPS port shows its clients."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from labkit.settings.values import Model


class TlsSettings(Model):
    """The server's keys, or a certificate of one's own.

    key: of the certificates that the lab makes; `rsa` and `both` serve devices that know no elliptic curves.
    certificate: a PEM file with those that it rests on behind it, and with its key unless private_key names
    another file; clients of the lab trust what is in it.
    """

    key: Literal["ec", "rsa", "both"] = "ec"
    certificate: Path | None = None
    private_key: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.private_key is not None and self.certificate is None:
            raise ValueError("private_key is given without certificate")
        return self
