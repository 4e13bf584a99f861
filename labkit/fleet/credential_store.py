"""Credentials, epochs and kept state of the devices of a product's fleets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from labkit.core.errors import LabError, TakenError
from labkit.fleet.device import Credentials
from labkit.fleet.kept_device import KeptDevice
from labkit.fleet.plan import Member


class CredentialStore:
    """Store of the credentials and the last epoch of each device, and of what it keeps after a run.

    Fleets of a product with the same identity have the same device, which can be in one run at a time.
    """

    def __init__(self) -> None:
        self._credentials: dict[str, Credentials] = {}
        self._epochs: dict[str, int] = {}  # the last epoch, by identity
        self._kept: dict[str, KeptDevice] = {}  # by identity, of devices that may go on
        self._running: set[str] = set()  # identities of devices in a run

    def put(self, credentials: Mapping[str, Credentials]) -> None:
        """Store new credentials, by identity; the epochs of these devices start from 1 again."""
        self._credentials.update(credentials)
        for identity in credentials:
            self._epochs.pop(identity, None)
            self._kept.pop(identity, None)

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
        self._kept.clear()

    def check_idle(self, identities: Iterable[str]) -> None:
        """Raise LabError if one of these devices is in a run."""
        for identity in identities:
            if identity in self._running:
                raise TakenError(
                    f"device {identity!r} is in the run of another fleet: wait() for that or stop() it, "
                    f"or make this fleet of other devices, with prefix=… or identities=…"
                )

    def begin(self, members: Sequence[Member], *, anew: bool = True) -> tuple[Member, ...]:
        """Return the members of a new run with current credentials and epochs, and reserve them until `end`.

        anew: whether devices start anew, in their next epoch; otherwise they go on with what they have kept.

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
        if anew:
            for identity in identities:
                self._kept.pop(identity, None)
        return tuple(map(self._begun, members))

    def _begun(self, member: Member) -> Member:
        kept = self._kept.get(member.identity)
        starts = 1 if kept is None or kept.counts else 0
        return replace(
            member,
            credentials=self._credentials[member.identity],
            epoch=self._epochs.get(member.identity, 0) + starts,
            kept=kept,
        )

    def end(
        self,
        members: Sequence[Member],
        credentials: Mapping[int, Credentials],
        epochs: Mapping[int, int],
        kept: Mapping[int, KeptDevice],
    ) -> None:
        """Release the members of a run. credentials, epochs, kept: final values of devices that started, by number."""
        for member in members:
            self._running.discard(member.identity)
            if member.identity in self._credentials:  # the lab may have been reset meanwhile
                self._credentials[member.identity] = credentials.get(member.number, member.credentials)
                if member.number in epochs:
                    self._epochs[member.identity] = epochs[member.number]
                if member.number in kept:
                    self._kept[member.identity] = kept[member.number]
