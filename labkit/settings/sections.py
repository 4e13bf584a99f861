"""Settings of small sections of lab.yaml: `stubs`, `control`, `journal`, `datapoints`, `passwords` and `tls`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, StrictBool, Tag, model_validator

from labkit.settings.values import Model, OperationName, Port


def _form(value: Any) -> str | None:
    """Return the tag of a stub's form: an own error for each form is clearer than one for both."""
    if isinstance(value, Mapping):
        return "results"
    return "file" if isinstance(value, str | Path) else None


Results = Annotated[dict[OperationName, Any], Field(min_length=1)]  # by operation

Stub = Annotated[
    Annotated[Path, Tag("file")] | Annotated[Results, Tag("results")],
    Discriminator(
        _form,
        custom_error_type="stub",
        custom_error_message="expected the name of a Python file, or a mapping with the result of each operation",
    ),
]


class ControlSettings(Model):
    """Listener of `labkit serve` for control over HTTP: plain on 127.0.0.1 without a host, else TLS by the lab's CA.

    host: IP address or name at which it listens, and by which clients know it; port: its port; 0 is any free one.

    A request is refused (403) unless its Host is that host, localhost, 127.0.0.1 or ::1: so no web page reaches the lab
    by a name of its own. 0.0.0.0 and :: listen at all addresses of the machine, or of a container; clients do not know
    it by them, so that only the loopback names remain. For clients on other machines, set the name that they use.
    """

    host: str | None = None
    port: Port = 0


def _switch(value: Any) -> Any:
    return {True: {}, False: None}[value] if isinstance(value, bool) else value


ControlSwitch = Annotated[
    ControlSettings | None,
    BeforeValidator(_switch, json_schema_input_type=bool | ControlSettings | None),
]


class JournalSettings(Model):
    """Limits of the journal.

    records: number of records kept; the oldest are overwritten. field: characters kept of a summary, and of each text
    in a detail; a whole detail may have four times as many. per_run: records kept of one run of a handler, including
    its service calls. What exceeds `field` or `per_run` is only counted. values: record the values in a Keystore,
    those of resources and people that scripts set, the answers of service calls, and the bodies of requests of devices
    and of clients of solutions (`given`) and of the answers to them (`body`), not only their lengths; what types and
    names mark as secret stays hidden.
    """

    records: Annotated[int, Field(strict=True, ge=1)] = 200_000
    field: Annotated[int, Field(strict=True, ge=64)] = 4096
    per_run: Annotated[int, Field(strict=True, ge=1)] = 10_000
    values: StrictBool = False


class DatapointSettings(Model):
    """Number of datapoints kept.

    kept: number of the newest datapoints kept for each alias of a device (and up to a tenth more). At least
    100, so that recorded values with a future timestamp, of at most a minute ahead, never displace the current value.
    """

    kept: Annotated[int, Field(strict=True, ge=100)] = 10_000


class PasswordSettings(Model):
    """Cost of hashing a password with Argon2id (RFC 9106).

    memory: memory for one hash in KiB; passes: number of iterations.

    The defaults are the minimum of OWASP's password storage cheat sheet. A lab without real users may use less. A
    stored password keeps the cost with which it was hashed.
    """

    memory: Annotated[int, Field(strict=True, ge=8, le=4 * 1024 * 1024)] = 19 * 1024
    passes: Annotated[int, Field(strict=True, ge=1, le=1000)] = 2


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
