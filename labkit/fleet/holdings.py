"""What the devices of a product's fleets hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from labkit.core.errors import LabError
from labkit.fleet.device import Credentials
from labkit.fleet.plan import Member


class Holdings:
    """Credentials by identity, and the epoch in which each device begins next.

    Fleets with an identity in common share what it holds: it is one device, which lives in one run at a time.
    """

    def __init__(self) -> None:
        self._credentials: dict[str, Credentials] = {}
        self._epochs: dict[str, int] = {}  # those that are over
        self._playing: set[str] = set()

    def hand_out(self, credentials: Mapping[str, Credentials]) -> None:
        """The platform gave these, which replace those from before; a device that gets them begins from epoch 1."""
        self._credentials.update(credentials)
        for identity in credentials:
            self._epochs.pop(identity, None)

    def get(self, identity: str) -> Credentials | None:
        """Return what a device of a fleet holds, None where no fleet has it."""
        return self._credentials.get(identity)

    def clear(self) -> None:
        """The platform knows nobody any more."""
        self._credentials.clear()
        self._epochs.clear()

    def free(self, identities: Iterable[str]) -> None:
        """Raises LabError where one of these devices is in a run."""
        for identity in identities:
            if identity in self._playing:
                raise LabError(
                    f"device {identity!r} is in the run of another fleet: wait() for that or stop() it, "
                    f"or make this fleet of other devices, with prefix=… or identities=…"
                )

    def begin(self, members: Sequence[Member]) -> tuple[Member, ...]:
        """The members of a run as they begin; they are in it until `end`.

        Raises LabError where one holds nothing since the lab was reset, or is in another run.
        """
        identities = [member.identity for member in members]
        self.free(identities)
        for identity in identities:
            if identity not in self._credentials:
                raise LabError(
                    f"device {identity!r} holds no credentials since the lab was reset: make the fleet anew"
                )
        self._playing.update(identities)
        return tuple(
            replace(
                member,
                credentials=self._credentials[member.identity],
                epoch=self._epochs.get(member.identity, 0) + 1,
            )
            for member in members
        )

    def end(
        self, members: Sequence[Member], held: Mapping[int, Credentials], epochs: Mapping[int, int]
    ) -> None:
        """The run of these is over. held, epochs: by number, of those that have begun."""
        for member in members:
            self._playing.discard(member.identity)
            if member.identity in self._credentials:  # the lab may have been reset meanwhile
                self._credentials[member.identity] = held.get(member.number, member.credentials)
                self._epochs[member.identity] = epochs.get(member.number, member.epoch - 1)
