"""Closer of a fleet's run when its lab is closed."""

from __future__ import annotations

from labkit.control.fleet_runs import FleetRunsControl
from labkit.fleet.fleet_play import FleetPlay


class RunCloser:
    """Closes a run when its lab is closed."""

    def __init__(self, control: FleetRunsControl, play: FleetPlay) -> None:
        self._control = control
        self._play = play

    async def close(self) -> None:
        await self._control.close(self._play)
