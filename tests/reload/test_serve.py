"""`labkit serve --reload` as a process."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
from pathlib import Path

import pytest

from labkit.fleet.flow import FlowClient
from tests.served import Served
from tests.test_serve import address, folder, serving

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from


def test_a_served_lab_takes_over_edits_and_ends_cleanly(tmp_path: Path) -> None:
    config = folder(tmp_path)
    with serving(config, "--reload") as (process, ready):
        (tmp_path / "acme" / "endpoints" / "new.lua").write_text(
            '--#ENDPOINT GET /new text/plain\nreturn "new"\n'
        )
        assert process.stderr.readline() == "reload: solution acme: runs its new files\n"

        async def get() -> str:
            client = FlowClient(address(ready), "acme.apps.lab.localhost")
            text = (await client.request("GET", "/new")).text
            await client.close()
            return text

        assert asyncio.run(get()) == "new"
        config.write_text(config.read_text() + "guard: {header: 3}\n")
        assert process.stderr.readline() == "reload: guard.header: its new value needs a restart\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate() == ("", "")
        assert process.returncode == 0


def test_the_lines_of_the_readme_are_said(tmp_path: Path) -> None:
    [shown] = re.findall(r"```text\n(reload: .*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    notebooks = tmp_path / "notebooks"
    shutil.copytree(ROOT / "notebooks", notebooks)
    script, config = notebooks / "solutions" / "metrics" / "endpoints" / "metrics.lua", notebooks / "lab.yaml"
    right = script.read_text()
    with serving(config, "--reload", "--set", "https_port=0") as (process, _):
        said = []
        for file, text in (
            (script, right.replace("local count =", "local count = =")),
            (script, f"{right}-- edited\n"),
            (config, config.read_text().replace("setpoint: number", "setpoint: integer")),
            (
                config,
                f"{config.read_text()}guard: {{header: 3}}\n".replace(
                    "setpoint: number", "setpoint: integer"
                ),
            ),
        ):
            file.write_text(text)
            said.append(process.stderr.readline().replace(f"{tmp_path}/", ""))
    assert "".join(said) == shown


def test_reload_without_a_file_is_refused() -> None:
    process = Served("serve", "--reload")
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err == "labkit: --reload: needs --config, whose edits it takes over; see labkit serve --help\n"
