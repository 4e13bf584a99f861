"""What has a life in a lab: it is started, stopped, and cleared when the lab is reset."""

from __future__ import annotations


class Component:
    """What a platform starts, stops and resets in a loop. Each step does nothing unless it says otherwise."""

    async def start(self) -> None:
        """Begin, once the components before it have begun. Raises SettingsError where a setting cannot work."""

    async def listening(self) -> None:
        """Go on once every component has begun and the lab listens, so that its URLs are known: set up what the
        settings name. Raises SettingsError where that cannot be.
        """

    async def stop(self) -> None:
        """End; those after it have ended. What is durable stays."""

    async def suspend(self) -> None:
        """Let go of the loop: end what is under way there. What is held stays; those after it have let go."""

    async def resume(self) -> None:
        """Go on after `suspend`, on the loop that runs now; those before it go on."""

    async def crash(self) -> None:
        """The platform loses its power: what is under way ends where it is, and what only memory held is lost; those
        after it have.
        """

    async def recover(self) -> None:
        """Power is back: go on with what is stored; those before it do."""

    async def clear(self) -> None:
        """Forget what happened, for a reset; what was set up stays."""

    async def refill(self) -> None:
        """After a reset, once everything is cleared: put back what the settings name."""
