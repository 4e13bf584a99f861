"""Build hook of a wheel: the library that programs on lab time preload, for each machine with a compiler here."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PreloadedLibraries(BuildHookInterface[Any]):
    """Adds the libraries to a wheel for all systems; where one is missing, the user's `cc` builds it on first use."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the libraries. version: of the target, "editable" for an installation that copies nothing."""
        self.folder = tempfile.TemporaryDirectory()
        if version == "editable" or sys.platform != "linux":
            return
        sys.path.insert(0, self.root)
        from labkit.core.errors import LabError  # of the folder that is built
        from labkit.firmware.library import MACHINES, SOURCES, build_for

        for machine in MACHINES:
            try:
                built = build_for(machine, Path(self.folder.name))
            except LabError as error:
                self.app.display_warning(f"labkit: no library for {machine} in this wheel: {error}")
            else:
                place = SOURCES.relative_to(self.root) / built.name
                build_data["force_include"][str(built)] = str(place)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was built."""
        self.folder.cleanup()
