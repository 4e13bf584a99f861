"""What five kinds of caller learn of a user: GET /api/user/info/{email}."""

from urllib.parse import quote

import httpx

from tests.solutions.guide.visitors import FOLDER, Guide, Person, Visitor, refused

ROLES = [{"role_id": role, "parameter": [{"name": "infoUserId"}]} for role in ("owner", "guest")]


def info(caller: Visitor, email: str) -> httpx.Response:
    return caller.get(f"/api/user/info/{quote(email)}")


def assign(guide: Guide, person: Person, role: str, value: object) -> None:
    """What the developer of the solution does: no endpoint gives these roles."""
    parameters = [{"name": "infoUserId", "value": value}]
    assigned = guide.solution.User.assignUser(
        id=person.id, roles=[{"role_id": role, "parameters": parameters}]
    )
    assert isinstance(assigned, list), assigned


class TestInit:
    def test_creates_the_roles_and_may_run_again(self, guide: Guide) -> None:
        solution = guide.lab.solution("fresh-guide", path=FOLDER)
        for _ in range(2):
            answer = solution.get("/_init")
            assert (answer.status_code, answer.json()) == (200, ROLES)
            assert solution.User.listRoles() == ROLES

    def test_gives_nobody_a_role(self, guide: Guide) -> None:
        person = guide.member()
        assert person.get("/_init").status_code == 200
        assert guide.solution.User.listUserRoles(id=person.id) == []


class TestInfo:
    def test_the_owner_sees_everything(self, guide: Guide) -> None:
        owner, shown = guide.member(), guide.member()
        assign(guide, owner, "owner", shown.id)
        assign(guide, shown, "guest", owner.id)
        answer = info(owner, shown.email)
        assert answer.status_code == 200
        user = answer.json()
        assert set(user) == {"id", "name", "email", "status", "creation_date", "roles"}
        assert (user["id"], user["name"], user["email"], user["status"]) == (shown.id, "Ann", shown.email, 1)
        guest = {"role_id": "guest", "parameters": [{"name": "infoUserId", "value": str(owner.id)}]}
        assert user["roles"] == [guest]

    def test_roles_are_a_list_where_there_are_none(self, guide: Guide, ann: Person) -> None:
        owner = guide.member()
        assign(guide, owner, "owner", {"type": "wildcard"})
        assert info(owner, ann.email).json()["roles"] == []

    def test_the_guest_sees_address_and_date(self, guide: Guide) -> None:
        guest, shown = guide.member(), guide.member()
        assign(guide, guest, "guest", shown.id)
        created = shown.get("/api/session/user").json()["creation_date"]
        assert info(guest, shown.email).json() == {"email": shown.email, "creation_date": created}

    def test_who_has_no_role_for_a_user_sees_the_address(self, guide: Guide, ann: Person) -> None:
        caller = guide.member()
        assert info(caller, ann.email).json() == {"email": ann.email}
        assign(guide, caller, "owner", caller.id)
        assert info(caller, ann.email).json() == {"email": ann.email}

    def test_the_owner_role_wins_over_the_guest_role(self, guide: Guide) -> None:
        caller = guide.member()
        assign(guide, caller, "guest", caller.id)
        assign(guide, caller, "owner", caller.id)
        assert "roles" in info(caller, caller.email).json()

    def test_an_unknown_address_is_404_to_who_is_logged_in(self, guide: Guide) -> None:
        refused(info(guide.member(), "nobody@example.com"), 404)

    def test_who_is_not_logged_in_learns_whether_an_address_is_free(self, guide: Guide, ann: Person) -> None:
        taken, free = ann.email, guide.email()
        answer = info(guide.visitor(), taken)
        assert (answer.status_code, answer.json()) == (200, {"message": f"{taken} is already taken"})
        answer = info(guide.visitor(), free)
        assert (answer.status_code, answer.json()) == (200, {"message": f"{free} is available"})

    def test_a_bad_session_is_none(self, guide: Guide, ann: Person) -> None:
        answer = guide.visitor().get(f"/api/user/info/{ann.email}", headers={"Cookie": "sid=nonsense"})
        assert answer.json() == {"message": f"{ann.email} is already taken"}

    def test_part_of_an_address_is_nobody(self, guide: Guide, ann: Person) -> None:
        member = guide.member()
        for part in ("%", "_", ann.email[1:], f"_{ann.email[1:]}"):
            refused(info(member, part), 404)
            assert info(guide.visitor(), part).json() == {"message": f"{part} is available"}
