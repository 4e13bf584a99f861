"""The handles of handsets: simulated phones and messenger accounts that receive notifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labkit.control.handsets import MessageInfo
from labkit.core.errors import LabError
from labkit.core.handle import Handle
from labkit.core.words import counted
from labkit.lab.phone import phone, phones
from labkit.lab.runtime import Runtime
from labkit.lab.show import messages_frame

if TYPE_CHECKING:
    import pandas

SHOWN = 12  # handsets in a picture
LISTED = 20  # further handsets whose addresses are listed


class Handset(Handle):
    """A simulated device, phone or messenger account that a lab's solutions notify."""

    def __init__(self, runtime: Runtime, address: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.handsets
        self.address = address

    @property
    def messages(self) -> list[MessageInfo]:
        """The delivered messages, in the order of delivery."""
        return self._runtime.run(self._control.received, self.address)

    @property
    def waiting(self) -> list[MessageInfo]:
        """The messages that wait until the handset is online again."""
        return self._runtime.run(self._control.messages, self.address, "waiting")

    @property
    def is_online(self) -> bool:
        """Whether the handset is online."""
        return self._runtime.run(self._control.get, self.address).online

    @property
    def dropped(self) -> int:
        """Number of its messages that were deleted for lack of space."""
        return self._runtime.run(self._control.get, self.address).dropped

    def offline(self) -> None:
        """Turn the handset off: messages wait for it until their ttl ends."""
        self._runtime.run(self._control.switch, self.address, False)

    def online(self) -> None:
        """Turn the handset on: it receives the waiting messages that have not expired."""
        self._runtime.run(self._control.switch, self.address, True)

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame of all messages to this handset, delivered or not."""
        return messages_frame(self._runtime.run(self._control.messages, self.address))

    def __repr__(self) -> str:
        off = "" if self.is_online else ", offline"
        return f"<handset {self.address}: {counted(len(self.messages), 'message')}{off}>"

    def _repr_html_(self) -> str:
        return phones([self._picture()])

    def _picture(self) -> str:
        run = self._runtime.run
        return phone(run(self._control.get, self.address), run(self._control.messages, self.address))


class LabHandsets(Handle, Mapping[str, Handset]):
    """All handsets of a lab, by device token, phone number or messenger id.

    A handset exists from its first message on. `lab.handsets["+15550001"]` also returns a handset that has received
    nothing yet, if a binding names its address.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.handsets

    def frame(self) -> pandas.DataFrame:
        """Return a DataFrame of all messages to handsets, delivered or not."""
        return messages_frame(self._runtime.run(self._control.messages))

    def clear(self) -> None:
        """Delete all handsets and their messages."""
        self._runtime.run(self._control.clear)

    def __getitem__(self, address: str) -> Handset:
        return Handset(self._runtime, self._runtime.run(self._control.get, address).address)

    def __contains__(self, address: object) -> bool:
        return address in list(self)

    def get(self, address: str, default: Any = None) -> Any:
        """Return the handset at this address, or `default` if there is none."""
        try:
            return self[address]
        except LabError:
            return default

    def __iter__(self) -> Iterator[str]:
        return (each.address for each in self._runtime.run(self._control.all))

    def __len__(self) -> int:
        return len(self._runtime.run(self._control.all))

    def __repr__(self) -> str:
        return f"<handsets: {', '.join(self) or 'none yet'}>"

    def _repr_html_(self) -> str:
        addresses = list(self)
        if not addresses:
            return "<b>handsets</b>: none yet"
        more = len(addresses) - SHOWN
        note = f"and {more} more: {', '.join(addresses[SHOWN : SHOWN + LISTED])}" if more > 0 else ""
        note += ", …" if more > LISTED else ""
        return phones([self[each]._picture() for each in addresses[:SHOWN]], note)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)
