"""The handles of handsets: what device tokens, phone numbers and messenger ids got."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from labkit.control.handsets import Message
from labkit.core.errors import LabError
from labkit.lab.phone import phone, phones
from labkit.lab.runtime import Runtime
from labkit.lab.show import of_messages

if TYPE_CHECKING:
    import pandas

SHOWN = 12  # handsets in a picture of all
LISTED = 20  # of the others whose addresses are named


class Handset:
    """A device, phone or messenger account of the people whom a lab's solutions notify."""

    def __init__(self, runtime: Runtime, address: str) -> None:
        self._runtime = runtime
        self._control = runtime.control.handsets
        self.address = address

    @property
    def messages(self) -> list[Message]:
        """What reached it, in the order in which it did."""
        return self._runtime.run(self._control.received, self.address)

    @property
    def waiting(self) -> list[Message]:
        """What waits until it is back online."""
        return self._runtime.run(self._control.messages, self.address, "waiting")

    @property
    def is_online(self) -> bool:
        return self._runtime.run(self._control.get, self.address).online

    @property
    def dropped(self) -> int:
        """How many messages of it were let go for lack of room."""
        return self._runtime.run(self._control.get, self.address).dropped

    def offline(self) -> None:
        """Turn it off: what is sent to it waits for as long as its ttl says."""
        self._runtime.run(self._control.switch, self.address, False)

    def online(self) -> None:
        """Turn it on again: it gets what waits and has not expired."""
        self._runtime.run(self._control.switch, self.address, True)

    def frame(self) -> pandas.DataFrame:
        """All that was sent to it, also what did not reach it, as a DataFrame, a row a message."""
        return of_messages(self._runtime.run(self._control.messages, self.address))

    def __repr__(self) -> str:
        count = len(self.messages)
        off = "" if self.is_online else ", offline"
        return f"<handset {self.address}: {count} message{'' if count == 1 else 's'}{off}>"

    def _repr_html_(self) -> str:
        return phones([self._picture()])

    def _picture(self) -> str:
        run = self._runtime.run
        return phone(run(self._control.get, self.address), run(self._control.messages, self.address))


class LabHandsets(Mapping[str, Handset]):
    """All handsets, by device token, phone number or messenger id. One is there from its first delivery.

    `lab.handsets["+15550001"]` also gives one that has got nothing yet, where a binding names it.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._control = runtime.control.handsets

    def frame(self) -> pandas.DataFrame:
        """All that was sent to handsets, also what did not reach them, as a DataFrame, a row a message."""
        return of_messages(self._runtime.run(self._control.messages))

    def clear(self) -> None:
        """Forget them all, and what they got."""
        self._runtime.run(self._control.clear)

    def __getitem__(self, address: str) -> Handset:
        return Handset(self._runtime, self._runtime.run(self._control.get, address).address)

    def __contains__(self, address: object) -> bool:
        return address in list(self)

    def get(self, address: str, default: Any = None) -> Any:
        """The handset, or `default` where there is none."""
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
