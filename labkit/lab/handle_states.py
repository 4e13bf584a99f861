"""State of handles as plain data: what devices of this process hold, which the platform does not know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from labkit.control.fleet_run_data import described_credentials
from labkit.core.certificates import KeyPair
from labkit.core.errors import LabError
from labkit.fleet.device import Credentials

CredentialsData = dict[str, str]


@dataclass(frozen=True, slots=True)
class HandleStates:
    """Credentials of a product's devices by identity. devices: of handles; fleets: with the last epoch of each."""

    devices: dict[str, CredentialsData] = field(default_factory=dict)
    fleets: dict[str, tuple[CredentialsData, int]] = field(default_factory=dict)


STATES = TypeAdapter(HandleStates)


def states_data(states: HandleStates) -> dict[str, Any]:
    """Return states as JSON has them."""
    data: dict[str, Any] = STATES.dump_python(states, mode="json")
    return data


def states_of(data: object) -> HandleStates:
    """Return states from `states_data`. Raises LabError for data that is none."""
    try:
        return STATES.validate_python(data)
    except ValidationError as error:
        text = f"restore: this snapshot is damaged: handles: {error.errors(include_url=False)[0]['msg']}"
    raise LabError(text)


def credentials_data(credentials: Credentials) -> CredentialsData:
    """Return credentials as plain data."""
    found = described_credentials(credentials).model_dump(exclude_none=True)
    return {name: each.decode() if isinstance(each, bytes) else each for name, each in found.items()}


def credentials_of(data: CredentialsData) -> Credentials:
    """Return credentials of plain data."""
    pair = None
    if "certificate" in data and "key" in data:
        pair = KeyPair.from_pem(data["certificate"].encode(), data["key"].encode())
    return Credentials(data.get("token"), data.get("password"), pair)
