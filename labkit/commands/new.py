"""The command `labkit new`, which writes a first solution."""

from __future__ import annotations

from pathlib import Path

import click

from labkit.core.commands import FOLDER, say
from labkit.core.errors import SettingsError

FILES = {
    "services/device2.yaml": """\
resources:
  temperature: {format: number, unit: C}
  target: {format: number, unit: C, settable: true, initial: 21}
provisioning:
  generate_identity: true # devices may register their own identity
""",
    "services/device_datapoint.lua": """\
-- runs for each value that a device writes
Keystore.set{key = data.device_sn .. "." .. data.alias, value = data.value[2]}
""",
    "endpoints/values.lua": """\
--#ENDPOINT GET /values/{identity}
local kept = Keystore.get{key = request.parameters.identity .. ".temperature"}
return {temperature = kept.value}
""",
    "tests/values.lua": """\
it("shows what a device writes", function()
  lab.device("t-001"):write{temperature = 21.5}
  assert.same({temperature = "21.5"}, solution.get("/values/t-001").json)
end)
""",
}


@click.command(short_help="Write a first solution into a new folder.")
@click.argument("folder", type=FOLDER)
def new(folder: Path) -> None:
    """Write a solution into FOLDER: its product, an event handler, a route and a test, to check, test and serve."""
    try:
        if folder.is_dir() and any(folder.iterdir()):
            raise SettingsError(f"{folder}: has files already: expected a new or an empty folder")
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    except OSError as error:
        raise SettingsError(f"{error.filename or folder}: {error.strerror}") from None
    say(
        f"{folder}: has {', '.join(FILES)}; next: labkit check {folder}, labkit test {folder}, labkit serve {folder}"
    )
