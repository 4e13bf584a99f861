"""Edits of lab.yaml while the platform runs: what changes at once, what needs a restart, and what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.control.faults import FaultsControl
from labkit.control.providers import ProvidersControl
from labkit.settings import FaultSettings
from tests.reload.edited import LAB_YAML, EditedLab, edited_lab, write_route

MORE = """
guard: {header: 5}
faults:
  - {where: POST /provision/activate, name: refused, status: 503, first: 2}
providers:
  social:
    - name: google
      people: [{id: p-1, name: Ann}]
"""


async def test_settings_of_a_product_change_at_once(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        lab.edit("{temperature: number}", "{temperature: number, lamp: string}\n    auth: password")
        assert await lab.said() == "product thermostat: takes over: auth, resources"
        product = lab.platform.devices.products.get("thermostat")
        assert (product.settings.auth, [*product.settings.resources]) == ("password", ["temperature", "lamp"])


async def test_a_product_and_a_solution_that_uses_it_are_added(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        write_route(tmp_path / "third", "three")
        lab.edit(
            "solutions:",
            "  - id: lamp\nsolutions:\n  - {id: third, path: third, products: [lamp]}",
        )
        assert await lab.said() == "product lamp: is added"
        assert await lab.said() == "solution third: is added"
        assert await lab.get("third") == "three"
        write_route(tmp_path / "third", "edited")  # its folder is watched, too
        assert await lab.said() == "solution third: runs its new files"
        assert await lab.get("third") == "edited"


async def test_settings_of_a_solution_change_and_it_is_removed(tmp_path: Path) -> None:
    route = '--#ENDPOINT GET /env text/plain\nreturn os.getenv("ROOM") or "none"\n'
    async with edited_lab(tmp_path) as lab:
        (tmp_path / "other" / "endpoints" / "env.lua").write_text(route)
        assert await lab.said() == "solution other: runs its new files"
        assert await lab.get("other", "/env") == "none"
        lab.edit("path: other", "path: other\n    environment: {ROOM: hall}")
        assert await lab.said() == "solution other: takes over: environment"
        assert await lab.get("other", "/env") == "hall"
        lab.edit("  - id: other\n    path: other\n    environment: {ROOM: hall}\n", "")
        assert await lab.said() == "solution other: is removed"
        assert [each.id for each in lab.platform.solutions] == ["acme"]


async def test_faults_are_those_of_the_edited_file_and_others_keep_their_counts(tmp_path: Path) -> None:
    async with edited_lab(tmp_path, LAB_YAML + MORE) as lab:
        faults = FaultsControl(lab.platform)
        await faults.add(FaultSettings(where="GET /timestamp", name="by hand", status=500))
        lab.edit("faults:\n", "faults:\n  - {where: GET /v, name: new, status: 502, solution: acme}\n")
        assert await lab.said() == "faults: there are 2 in lab.yaml now"
        assert await lab.get() == "502"
        lab.edit("name: refused, status: 503", "name: refused, status: 504")
        assert await lab.said() == "faults: there are 2 in lab.yaml now"
        found = {each.name: (each.does, each.hits, each.origin) for each in await faults.all()}
        assert found["new"] == ("status 502", 1, "settings")
        assert found["refused"][0] == "status 504"
        assert found["by hand"][2] == "hand"
        lab.edit("solution: acme", "solution: acne")
        assert (await lab.said()).startswith("faults: faults.new: no solution 'acne', there are: acme, other")
        assert await lab.get() == "502"
        lab.edit(", solution: acne", "")
        assert await lab.said() == "faults: there are 2 in lab.yaml now"
        await lab.platform.reset()
        assert {each.name for each in await faults.all()} == {"new", "refused"}


async def test_a_fault_at_a_misspelt_path_is_a_warning(tmp_path: Path) -> None:
    async with edited_lab(tmp_path, LAB_YAML + MORE) as lab:
        lab.edit("faults:\n", "faults:\n  - {where: GET /timestam, name: new, status: 502}\n")
        assert await lab.said() == (
            "faults: there are 2 in lab.yaml now; fault 'new' at 'GET /timestam': no request has the path "
            "'/timestam'; did you mean /timestamp?"
        )


async def test_people_of_a_provider_are_added_and_anything_else_needs_a_restart(tmp_path: Path) -> None:
    async with edited_lab(tmp_path, LAB_YAML + MORE) as lab:
        lab.edit("people: [", "people: [{id: p-2, name: Bob}, ")
        assert await lab.said() == "provider google: takes over: people, applications"
        people = await ProvidersControl(lab.platform).people("google")
        assert [each.id for each in people] == ["p-1", "p-2"]
        lab.edit("{id: p-1, name: Ann}", "{id: p-1, name: Anna}")
        assert await lab.said() == "providers.social: its new value needs a restart"


RESTART = {
    "a limit": ("guard: {header: 5}", "guard: {header: 6}", "guard.header"),
    "the domain": ("https_port: 0", "https_port: 0\ndomain: x.localhost", "domain"),
    "a switch of the wire": ("https_port: 0", "https_port: 0\nwire: {range_status: 200}", "wire"),
    "the domain of a solution": (
        "path: acme",
        "path: acme\n    domain: acme.localhost",
        "solutions.acme.domain",
    ),
    "the domain of a product": (
        "id: thermostat",
        "id: thermostat\n    domain: t.localhost",
        "products.thermostat.domain",
    ),
}


@pytest.mark.parametrize(("old", "new", "key"), RESTART.values(), ids=RESTART)
async def test_a_setting_that_cannot_change_says_once_that_it_needs_a_restart(
    tmp_path: Path, old: str, new: str, key: str
) -> None:
    async with edited_lab(tmp_path, LAB_YAML + MORE) as lab:
        lab.edit(old, new)
        assert await lab.said() == f"{key}: its new value needs a restart"
        write_route(tmp_path / "acme", "two")
        assert await lab.said() == "solution acme: runs its new files"
        lab.edit(new, old)
        assert await lab.said() == f"{key}: is in order again"


async def test_a_product_is_removed_with_a_restart_only(tmp_path: Path) -> None:
    lamp = "  - id: lamp\n"
    async with edited_lab(tmp_path, LAB_YAML.replace("solutions:", f"{lamp}solutions:")) as lab:
        lab.edit("products: [thermostat]", "products: []")
        assert await lab.said() == "solution acme: takes over: products"
        lab.edit("  - id: thermostat\n    resources: {temperature: number}\n", "")
        assert await lab.said() == "products.thermostat: is removed with a restart only"
        assert "thermostat" in lab.platform.devices.products


async def test_a_broken_file_changes_nothing_and_says_the_line(tmp_path: Path) -> None:
    async with edited_lab(tmp_path, LAB_YAML + MORE) as lab:
        lab.edit("header: 5", "header: 6")
        assert await lab.said() == "guard.header: its new value needs a restart"
        lab.edit("id: thermostat", "id: thermostat\n    auht: password")
        wrong = "products.thermostat.auht: unknown key (line 5); did you mean auth?"
        assert await lab.said() == f"{lab.yaml}: {wrong}; what runs stays"
        lab.edit("auht: password", "auth: [")
        wrong = "is not YAML: a list without its ']', or without a ',' (line 5)"
        assert await lab.said() == f"{lab.yaml}: {wrong}; what runs stays"
        write_route(tmp_path / "acme", "two")  # folders are taken over meanwhile
        assert await lab.said() == "solution acme: runs its new files"
        lab.edit("auth: [", "auth: password")
        assert await lab.said() == "product thermostat: takes over: auth"
        assert await lab.said() == f"{lab.yaml}: is in order again"


async def test_a_solution_whose_new_folder_is_broken_stays_as_it_was(tmp_path: Path) -> None:
    write_route(tmp_path / "new", '" .. ')
    async with edited_lab(tmp_path) as lab:
        lab.edit("path: acme", "path: new")
        said = await lab.said()
        assert said.startswith(f"solution acme: {tmp_path}/new: endpoints/v.lua:2: ")
        assert said.endswith("; the old one stays")
        assert await lab.get() == "one"
        write_route(tmp_path / "new", "new")
        assert await lab.said() == "solution acme: takes over: path"
        assert await lab.get() == "new"


async def replaced(lab: EditedLab) -> None:
    """Save lab.yaml by way of a file beside it."""
    text = lab.yaml.read_text().replace("number", "string")
    beside = lab.folder / ".lab.yaml.swp"
    beside.write_text(text)
    beside.replace(lab.yaml)


async def removed_and_restored(lab: EditedLab) -> None:
    text = lab.yaml.read_text().replace("number", "string")
    lab.yaml.unlink()
    assert await lab.said() == f"{lab.yaml}: cannot be read: No such file or directory; what runs stays"
    lab.yaml.write_text(text)


@pytest.mark.parametrize("save", [replaced, removed_and_restored])
async def test_lab_yaml_is_watched_however_it_is_saved(tmp_path: Path, save: object) -> None:
    assert callable(save)
    async with edited_lab(tmp_path) as lab:
        await save(lab)
        assert await lab.said() == "product thermostat: takes over: resources"
        if save is removed_and_restored:
            assert await lab.said() == f"{lab.yaml}: is in order again"
        lab.edit("string", "boolean")
        assert await lab.said() == "product thermostat: takes over: resources"


async def test_lab_yaml_may_be_a_link(tmp_path: Path) -> None:
    async with edited_lab(tmp_path) as lab:
        real = tmp_path / "elsewhere" / "real.yaml"
        real.parent.mkdir()
        real.write_text(
            lab.yaml.read_text().replace("number", "string").replace("path: ", f"path: {tmp_path}/")
        )
        lab.yaml.unlink()
        lab.yaml.symlink_to(real)
        said = await lab.said()
        while said != "product thermostat: takes over: resources":  # it may be missing for a moment
            said = await lab.said()
        real.write_text(real.read_text().replace("string", "boolean"))
        while (said := await lab.said()) != "product thermostat: takes over: resources":
            assert said.endswith(("in order again", "takes over: path"))
