"""A client that openapi-python-client makes from the document of a served lab, and calls of it."""

from __future__ import annotations

import base64
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.rig import ran

pytestmark = pytest.mark.xdist_group("served")  # one process that the others are forked from

PACKAGE = "generated_lab_client"


class GeneratedClient:
    """The made package in a folder, with a client of a served lab."""

    def __init__(self, control: dict[str, str]) -> None:
        self.connection = self.module("client").AuthenticatedClient(control["url"], control["token"])

    def module(self, name: str) -> Any:
        return importlib.import_module(f"{PACKAGE}.{name}")

    def model(self, name: str, **fields: Any) -> Any:
        return getattr(self.module("models"), name)(**fields)

    def call(self, key: str, **arguments: Any) -> Any:
        """Return the result of an operation, or the problem details, as the client reads them."""
        subject, _, operation = key.partition(".")
        name = f"{subject}_{operation}"
        title = "".join(part.title() for part in name.split("_"))
        body = self.model(f"{title}Arguments", **arguments)
        return self.module(f"api.{subject}.{name}").sync(client=self.connection, body=body)


@pytest.fixture
def client(
    served_control: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[GeneratedClient]:
    """A client made from the served document, whose package is imported."""
    make(served_control, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == PACKAGE]:
        monkeypatch.delitem(sys.modules, name)
    made = GeneratedClient(served_control)
    with made.connection:
        yield made


def make(control: dict[str, str], folder: Path) -> None:
    """Make the package in a folder; a part of the document that the tool cannot express is an error."""
    headers = {"Authorization": f"Bearer {control['token']}"}
    document = httpx.get(f"{control['url']}/openapi.json", headers=headers)
    (folder / "openapi.json").write_bytes(document.content)
    (folder / "config.yaml").write_text("post_hooks: []\n")  # else it formats the package with ruff from PATH
    tool = [sys.executable, "-m", "openapi_python_client", "generate", "--meta", "none", "--fail-on-warning"]
    files = ["--path", "openapi.json", "--config", "config.yaml", "--output-path", PACKAGE]
    made = ran(*tool, *files, cwd=folder)
    assert made.returncode == 0, made.stdout + made.stderr


@pytest.mark.sampled
def test_a_generated_client_runs_against_a_served_lab(client: GeneratedClient) -> None:
    assert client.module("api.default.health").sync(client=client.connection).to_dict() == {"status": "ok"}

    began = client.call("clock.state")
    assert client.call("clock.advance", hours=1).time == began.time + 3600

    resources = client.model("ProductSettingsInputResources")
    resources["temperature"] = "number"
    settings = client.model("ProductSettingsInput", id="thermostat", resources=resources)
    assert client.call("products.ensure", settings=settings).domain == "thermostat.m2.lab.localhost"

    firmware = bytes(range(256))
    info = client.call("content.add", product="thermostat", id="fw", data=base64.b64encode(firmware).decode())
    assert info.size == len(firmware)

    [given] = client.call("fleets.provision", product="thermostat", identities=["t-1"])
    assert len(given.token) == 40
    [identity] = client.call("identities.all", product="thermostat")
    assert identity.identity == "t-1"

    table = client.call("database.sql", query="select id, 9e999 from content")
    assert table.to_dict()["rows"] == [["fw", {"$number": "Infinity"}]]

    refused = client.call("products.get", id="thermostad")
    assert (refused.status, refused.error) == (404, "UnknownError")
    assert "did you mean thermostat?" in refused.detail

    called = {"solution": "a", "service": "Keystore", "parameters": {"key": "k", "value": "é"}}
    assert client.call("services.call", operation="set", **called).notes == []
    assert client.call("services.call", operation="get", **called).to_dict()["value"] == {"value": "é"}
    assert {each.kind for each in client.call("journal.last", count=1000)} == {"call"}
