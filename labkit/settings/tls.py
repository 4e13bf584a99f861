"""Settings of the section `tls`: the server's keys and certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self

from pydantic import model_validator

from labkit.settings.values import Model


class TlsSettings(Model):
    """Keys and certificate of the HTTPS port.

    key: type of the keys of generated certificates; `rsa` and `both` serve devices without elliptic curves.
    certificate: PEM file with your own certificate, followed by its intermediate certificates, and by its key unless
    private_key names another file; clients of the lab trust all certificates in it. private_key: PEM file with its key.
    """

    key: Literal["ec", "rsa", "both"] = "ec"
    certificate: Path | None = None
    private_key: Path | None = None

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.private_key is not None and self.certificate is None:
            raise ValueError("private_key is given without certificate")
        return self
