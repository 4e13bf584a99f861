"""`labkit serve --reload` as a process."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import pytest

from labkit.dev.book import SOURCES
from labkit.fleet.flow import FlowClient
from tests.forked_starts import labkit
from tests.rig import written
from tests.test_serve import address, folder, serving

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


def test_the_lines_of_the_page_are_said(tmp_path: Path) -> None:
    page = (SOURCES / "how-to" / "run-the-platform-for-curl.md").read_text()
    [shown] = re.findall(r"```text\n(reload: .*?)```", page, re.DOTALL)
    files = re.findall(r"```\{code-block\} \w+\n:caption: (\S+)\n\n(.*?)```", page, re.DOTALL)
    written(tmp_path, dict(files))
    script, config = tmp_path / "acme" / "services" / "count.lua", tmp_path / "lab.yaml"
    right, changed = script.read_text(), config.read_text().replace("message: string", "message: number")
    with serving(config, "--reload", "--set", "https_port=0") as (process, _):
        said = []
        for file, text in (
            (script, right.replace("Keystore.command", "local count = = Keystore.command")),
            (script, f"{right}-- edited\n"),
            (config, changed),
            (config, f"{changed}guard: {{header: 3}}\n"),
        ):
            file.write_text(text)
            said.append(process.stderr.readline().replace(f"{tmp_path}/", ""))
    assert "".join(said) == shown


def test_reload_without_a_file_is_refused() -> None:
    with labkit("serve", "--reload") as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert (
        err
        == "labkit: --reload: needs FOLDER or --config, whose edits it takes over; see labkit serve --help\n"
    )
