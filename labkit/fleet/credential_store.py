"""Credentials and epochs of the devices of a product's fleets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from labkit.core.errors import LabError, TakenError
from labkit.fleet.device import Credentials
from labkit.fleet.plan import Member


class CredentialStore:
    """Store of the credentials and the last epoch of each device.

    Fleets of a product with the same identity have the same device, which can be in one run at a time.
    """

    def __init__(self) -> None:
        self._credentials: dict[str, Credentials] = {}
        self._epochs: dict[str, int] = {}  # the last epoch, by identity
        self._running: set[str] = set()  # identities of devices in a run

    def put(self, credentials: Mapping[str, Credentials]) -> None:
        """Store new credentials, by identity; the epochs of these devices start from 1 again."""
        self._credentials.update(credentials)
        for identity in credentials:
            self._epochs.pop(identity, None)

    def get(self, identity: str) -> Credentials | None:
        """Return the credentials of a device, None if no fleet has it."""
        return self._credentials.get(identity)

    def snapshot(self) -> dict[str, tuple[Credentials, int]]:
        """Return the credentials and the last epoch of each device."""
        return {name: (each, self._epochs.get(name, 0)) for name, each in self._credentials.items()}

    def restore(self, state: Mapping[str, tuple[Credentials, int]]) -> None:
        """Replace all devices."""
        self.clear()
        self._credentials.update({name: each for name, (each, _) in state.items()})
        self._epochs.update({name: epoch for name, (_, epoch) in state.items() if epoch})

    def clear(self) -> None:
        """Delete all devices, after a reset of the platform."""
        self._credentials.clear()
        self._epochs.clear()

    def check_idle(self, identities: Iterable[str]) -> None:
        """Raise LabError if one of these devices is in a run."""
        for identity in identities:
            if identity in self._running:
                raise TakenError(
                    f"device {identity!r} is in the run of another fleet: wait() for that or stop() it, "
                    f"or make this fleet of other devices, with prefix=… or identities=…"
                )

    def begin(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """Return the members of a new run with current credentials and epochs, and reserve them until `end`.

        Raises LabError if one has lost its credentials to a reset of the lab, or is in another run.
        """
        identities = [member.identity for member in members]
        self.check_idle(identities)
        for identity in identities:
            if identity not in self._credentials:
                raise LabError(
                    f"device {identity!r} holds no credentials since the lab was reset: make the fleet anew"
                )
        self._running.update(identities)
        return tuple(
            replace(
                member,
                credentials=self._credentials[member.identity],
                epoch=self._epochs.get(member.identity, 0) + 1,
            )
            for member in members
        )

    def end(
        self, members: Sequence[Member], credentials: Mapping[int, Credentials], epochs: Mapping[int, int]
    ) -> None:
        """Release the members of a run. credentials, epochs: final values of the devices that started, by number."""
        for member in members:
            self._running.discard(member.identity)
            if member.identity in self._credentials:  # the lab may have been reset meanwhile
                self._credentials[member.identity] = credentials.get(member.number, member.credentials)
                self._epochs[member.identity] = epochs.get(member.number, member.epoch - 1)
