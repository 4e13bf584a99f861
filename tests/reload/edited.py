"""A platform in this process that takes over edits of a test's files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from labkit.fleet.flow import FlowClient, LabAddress
from labkit.platform import Platform
from labkit.reload import reloading
from labkit.settings import load
from tests.guard import PATIENCE

LAB_YAML = """
https_port: 0
products:
  - id: thermostat
    resources: {temperature: number}
solutions:
  - id: acme
    path: acme
    products: [thermostat]
  - id: other
    path: other
"""


def write_route(folder: Path, answer: str, name: str = "v") -> Path:
    """Write a solution folder with a script that answers GET /`name`; return its file."""
    file = folder / "endpoints" / f"{name}.lua"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(script(answer, name))
    return file


def script(answer: str, name: str = "v") -> str:
    return f'--#ENDPOINT GET /{name} text/plain\nreturn "{answer}"\n'


class EditedLab:
    """A platform, the folder of its files, and the lines that it says about edits."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self.platform = platform
        self.folder = folder
        self.lines: asyncio.Queue[str] = asyncio.Queue()

    @property
    def yaml(self) -> Path:
        return self.folder / "lab.yaml"

    def edit(self, old: str, new: str) -> None:
        """Replace a text in lab.yaml."""
        text = self.yaml.read_text()
        assert old in text
        self.yaml.write_text(text.replace(old, new))

    async def said(self) -> str:
        """Return the next line about an edit."""
        async with asyncio.timeout(PATIENCE):
            return (await self.lines.get()).removeprefix("reload: ")

    async def get(self, solution: str = "acme", path: str = "/v") -> str:
        """Return the answer of a solution, or its status if it is no success."""
        address = self.platform.context.address
        where = LabAddress("127.0.0.1", address.https_port, address.ca_pem)
        client = FlowClient(where, f"{solution}.apps.lab.localhost")
        try:
            response = await client.request("GET", path)
        finally:
            await client.close()
        return response.text if response.is_success else str(response.status_code)


@asynccontextmanager
async def edited_lab(folder: Path, yaml: str = LAB_YAML) -> AsyncIterator[EditedLab]:
    """Provide a started platform of the solutions `acme` and `other`, which answer GET /v with `one`."""
    for each in ("acme", "other"):
        if not (folder / each).exists():
            write_route(folder / each, "one")
    file = folder / "lab.yaml"
    file.write_text(yaml)
    async with Platform(load(file), seed=7) as platform:
        lab = EditedLab(platform, folder)
        async with reloading(platform, file, partial(load, file), lab.lines.put_nowait):
            yield lab
            assert lab.lines.empty(), lab.lines
