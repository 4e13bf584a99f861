"""Base class of the parts of a platform that are started, stopped and reset together."""

from __future__ import annotations

from typing import Any, ClassVar


class Component:
    """A part of a platform with a life cycle. Each step does nothing unless overridden.

    state_type: type of the state that `snapshot` returns, as pydantic validates it: a dataclass of plain values; None
    for a component whose state is in the database alone.

    Components start, resume and recover in a fixed order, and stop, suspend, crash and clear in the reverse order.
    """

    state_type: ClassVar[Any] = None

    async def start(self) -> None:
        """Start, after the components before it. Raises SettingsError for a setting that cannot work."""

    async def listening(self) -> None:
        """Set up what needs the lab's URLs: called once every component has started and the lab listens.

        Raises SettingsError where the settings cannot be applied.
        """

    async def stop(self) -> None:
        """Stop, after the components behind it. Durable state stays."""

    async def suspend(self) -> None:
        """Detach from the event loop and end the tasks there. State in memory stays."""

    async def resume(self) -> None:
        """Attach to the running event loop after `suspend`."""

    async def crash(self) -> None:
        """Simulate a power loss: abort all work and lose the state in memory."""

    async def recover(self) -> None:
        """Restart from the stored state after `crash`."""

    async def recovered(self) -> None:
        """Continue with work of its own after a power cut, once all components have recovered."""

    async def clear(self) -> None:
        """Drop all run-time state, for a reset; the configuration stays."""

    async def refill(self) -> None:
        """Restore the objects that the settings define, after a reset has cleared all components."""

    def snapshot(self) -> Any:
        """Return the state that is not in the database, for a settled lab. Raises LabError for what cannot be kept."""
        return None

    async def restore(self, state: Any) -> None:
        """Take over the state of another lab, after `clear`; the database has that lab's content already.

        state: of `state_type`. Components restore in the order of their start, once products exist and timers are
        gone; no script runs.
        """


async def stop_all(components: list[Component]) -> None:
    """Stop components in the reverse order, also behind one that fails, and empty the list. Raises the last error."""
    failed: BaseException | None = None
    while components:
        try:
            await components.pop().stop()
        except BaseException as error:  # noqa: BLE001  raised again
            failed = error
    if failed is not None:
        raise failed
