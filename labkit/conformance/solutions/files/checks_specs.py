"""Roles of people, and resources of products, that a solution's folder describes."""

from __future__ import annotations

import warnings
from typing import Any

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.interface.partners import solution_id
from labkit.conformance.probe import same
from labkit.conformance.solutions.files.checks_folders import (
    GOOD,
    NEWER,
    PROJECT,
    folders,
    load,
    write_folder,
)
from labkit.conformance.target import Target
from labkit.core.errors import LabWarning


@check("SOL-FORM-8", "roles of two solutions, set up once and again", needs={"settings", "files"})
async def roles(target: Target) -> None:
    await target.in_lab(_roles, target)


def _roles(target: Target) -> None:
    text = "- role_id: owner\n  parameter:\n    - name: sn\n- {role_id: guest, parameter: }\n- role_id: me\n"
    script = "local role = User.getRole{role_id = 'owner'} Keystore.set{key = 'seen', value = role.role_id}"
    project = f"{NEWER}init_script: first.lua\n"
    with folders() as root:
        folder = write_folder(root, "one", {"roles.yaml": text, "first.lua": script, PROJECT: project})
        one, other = load(target, solution_id(target), folder), target.lab.solution(solution_id(target))
        assert one is not None
        wanted: list[dict[str, Any]] = [
            {"role_id": "owner", "parameter": [{"name": "sn"}]},
            {"role_id": "guest", "parameter": []},
        ]
        same("the roles", one.User.listRoles(), wanted)
        same("those of another solution", other.User.listRoles(), [])
        expect.equal("what its first script saw", one.Keystore.get(key="seen"), {"value": "owner"})
        one.User.addRoleParam(role_id="guest", body=[{"name": "house"}])
        one.User.deleteRoleParam(role_id="owner", parameter_name="sn")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabWarning)
            one.reload()
        wanted[1]["parameter"] = [{"name": "house"}]
        same("the roles after a reload", one.User.listRoles(), wanted)


@check("SOL-FORM-8", "resources of a product that names none, and of one that does", needs={"settings"})
async def resources(target: Target) -> None:
    await target.in_lab(_resources, target)


def _resources(target: Target) -> None:
    text = (
        "temperature: {format: number, unit: °C, sync: true, initial: 5, settable: false}\n"
        "mode: {format: string, allowed: ['on', 'off']}\nwrong: {format: colour}\nplain:\n"
    )
    names = [solution_id(target) for _ in range(3)]
    empty, other = target.lab.product(names[0]), target.lab.product(names[2])
    own = target.lab.product(names[1], resources={"text": "string"})
    with folders() as root:
        folder = write_folder(root, "one", {"specs/resources.yaml": text, **GOOD})
        load(target, solution_id(target), folder, products=names[:2])
    for product, wanted in (
        (empty, {"temperature": "21.5", "plain": "x"}),
        (own, {"text": "y"}),
        (other, {}),
    ):
        device = product.device(target.identity()).activate()
        device.write(temperature="21.5", plain="x", text="y", wrong="z")
        aliases = ("temperature", "mode", "plain", "text", "wrong")
        expect.equal("what is stored", device.read(*aliases), wanted)
    answer = (
        empty.device(target.identity()).activate().request("POST", device_client.ALIAS, data={"mode": "odd"})
    )
    expect.equal("status of a value that is not allowed", answer.status_code, 400)
