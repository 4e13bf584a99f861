"""Access control of endpoints, in the six steps of document 2."""

import httpx

from tests.solutions.guide.visitors import FOLDER, Guide, Person, refused

SEE = {"method": "GET", "end_point": "api/devices/{sn}"}
READERS = {"method": "PUT", "end_point": "api/devices/{sn}/readers"}
DISMISS = {"method": "DELETE", "end_point": "api/devices/{sn}/readers"}


def keeper(guide: Guide, sn: str) -> Person:
    """Create a person with the role of keeper of a device, assigned by the solution's developer."""
    person = guide.member()
    parameters = [{"name": "sn", "value": sn}]
    roles = [{"role_id": "keeper", "parameters": parameters}]
    assert guide.solution.User.assignUser(id=person.id, roles=roles) == roles
    return person


def add_reader(caller: Person, sn: str, reader: str) -> httpx.Response:
    """Add a reader of a device."""
    url = caller.guide.url(f"/api/devices/{sn}/readers")
    return caller.browser.request("PUT", url, json={"email": reader})


def remove_reader(caller: Person, sn: str, reader: str) -> httpx.Response:
    """Remove a reader of a device."""
    url = caller.guide.url(f"/api/devices/{sn}/readers")
    return caller.browser.request("DELETE", url, params={"email": reader})


def test_set_up_creates_permissions_and_roles_and_may_run_again(guide: Guide) -> None:
    solution = guide.lab.solution("guarded", path=FOLDER)
    parameter = [{"name": "sn"}]
    roles = [
        {"role_id": "reader", "parameter": parameter},
        {"role_id": "keeper", "parameter": parameter},
    ]
    for _ in range(2):
        answer = solution.post("/_init/devices")
        assert (answer.status_code, answer.json()) == (200, roles)
        assert solution.User.listRolePerms(role_id="reader") == [SEE]
        assert solution.User.listRolePerms(role_id="keeper") == [SEE, READERS, DISMISS]


def test_removing_a_reader_of_one_device_leaves_the_others(guide: Guide) -> None:
    reader = guide.member()
    bosses = {sn: keeper(guide, sn) for sn in ("B1", "B2")}
    for sn, boss in bosses.items():
        assert add_reader(boss, sn, reader.email).status_code == 200
    assert remove_reader(bosses["B1"], "B1", reader.email).status_code == 200
    refused(reader.get("/api/devices/B1"), 403)
    assert reader.get("/api/devices/B2").status_code == 200


def test_only_the_number_in_the_path_selects_the_device(guide: Guide) -> None:
    boss = keeper(guide, "E1")
    for path in ("not-a-value", "a::b", "%E9%9F%B3", "x" * 101, "E2?sn=E1", "E1%2f", "e1"):
        refused(boss.get(f"/api/devices/{path}"), 403)
    assert boss.get("/api/devices/E1?sn=E2").json()["sn"] == "E1"
