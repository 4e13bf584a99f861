"""Two solutions with equal users, ids, roles, clients and socials, across restarts with a data file."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from labkit.conformance import twins
from labkit.conformance.check import check
from labkit.conformance.target import Target
from labkit.conformance.twins import MARKS, Act, Twin, act

if TYPE_CHECKING:
    from labkit.lab.lab import Lab

APP = "https://app.example/§"
READ, LIST, OWN = "GET/things/{sn}", "GET/things", "PUT/things/{sn}/{zone}"


def has_permission(id: int, perm_id: str, *pairs: str) -> Act:
    """Return an act that asks whether a user has a permission."""
    return act("User.hasUserPerm", id=id, perm_id=perm_id, parameters=list(pairs))


def has_value(id: int, role_id: str, name: str, value: object) -> Act:
    """Return an act that asks whether a user holds a value."""
    return act("User.hasUserRoleParam", id=id, role_id=role_id, parameter_name=name, parameter_value=value)


VIEWS: dict[str, list[Act]] = {
    "roles": [
        act("User.listRoles"),
        act("User.getRole", role_id="keeper"),
        act("User.listPerms"),
        act("User.listRolePerms", role_id="keeper"),
        act("User.listRolePerms", role_id="reader"),
    ],
    "held": [
        act("User.listUserRoles", id=1),
        act("User.listUserRoles", id=2),
        act("User.listRoleUsers", role_id="keeper"),
        act("User.listRoleUsers", role_id="reader"),
        act("User.listRoleParamUsers", role_id="keeper", parameter_name="sn", parameter_value="1"),
        act("User.listUserRoleParamValues", id=1, role_id="keeper", parameter_name="sn"),
        act("User.listUserRoleParamValues", id=2, role_id="keeper", parameter_name="sn", limit=1),
        *(
            has_value(id, "keeper", "sn", value)
            for id, value in ((1, "1"), (2, "1"), (1, "own§"), (1, "own¤"))
        ),
        has_permission(1, READ, "sn::1"),
        has_permission(2, READ, "sn::7"),
        has_permission(1, LIST),
        has_permission(2, LIST),
        has_permission(1, OWN, "sn::1", "zone::a"),
    ],
    "users": [
        act("User.listUsers"),
        act("User.listUsers", filter="email::eq::ann@example.com"),
        act("User.getUser", id=2),
        act("User.getUser", id=3),
        act("User.getCurrentUser", token="<session>"),
        act("User.getCurrentUser", token="<other-session>"),
    ],
    "data": [
        act("User.listUserData", id=1),
        act("User.listUserData", id=2),
        act("User.getUserData", id=1, key="color"),
    ],
    "oauth": [
        act("User.getOauthClients", id=1),
        act("User.getOauthClients", id=2),
        act("User.getOauthClientRedirectPath", client_id=1),
        act("User.getCurrentUser", token="<access>"),
        act("User.getCurrentUser", token="<other-access>"),
    ],
    "socials": [
        act("User.socialList"),
        act("User.getSocial", consumer="google"),
        act("User.getSocial", consumer="github"),
    ],
}


def sign_up(email: str, code: str) -> Act:
    """Return an act that signs a user up and keeps the activation code."""
    return act("User.createUser", "users", keep=code, email=email, name="Ann §", password="the password of §")


def sign_up_and_activate(email: str, code: str) -> list[Act]:
    """Return acts that sign a user up and activate it."""
    return [
        sign_up(email, code),
        act("User.activateUser", "users", crossed=True, code=f"<{code}>"),
    ]


def approve(code: str, client_id: int, session: str = "session") -> Act:
    """Return an act that approves a client and keeps the code."""
    return act("User.getOauthAuthorizeApproved", "oauth", keep=code, crossed=True, token=f"<{session}>",
               client_id=client_id, redirect_uri=APP, response_type="code", scope="profile")  # fmt: skip


def redeem(code: str, access: str, refresh: str, client_id: int, secret: str) -> Act:
    """Return an act that exchanges a code and keeps its tokens."""
    return act("User.getOauthToken", "oauth", keep=f"access_token={access} refresh_token={refresh}", crossed=True,
               grant_type="authorization_code", client_id=client_id, client_secret=f"<{secret}>",
               code=f"<{code}>", redirect_uri=APP)  # fmt: skip


def refresh(old: str, access: str, refresh: str, client_id: int) -> Act:
    """Return an act that exchanges a refresh token and keeps the new tokens."""
    return act("User.getOauthToken", "oauth", keep=f"access_token={access} refresh_token={refresh}", crossed=True,
               grant_type="refresh_token", client_id=client_id, refresh_token=f"<{old}>")  # fmt: skip


def redeem_again(code: str, client_id: int) -> Act:
    """Return an act that exchanges a used code: it fails and ends the code's tokens."""
    return act("User.getOauthToken", "oauth", fails=True, grant_type="authorization_code", client_id=client_id,
               code=f"<{code}>", redirect_uri=APP)  # fmt: skip


def refresh_refused(refresh: str, client_id: int) -> Act:
    """Return an act that exchanges an invalid refresh token: it fails."""
    return act("User.getOauthToken", "oauth", fails=True, grant_type="refresh_token", client_id=client_id,
               refresh_token=f"<{refresh}>")  # fmt: skip


def login(email: str, session: str, password: str = "the password of §") -> Act:
    """Return an act that logs a user in and keeps the user token."""
    return act("User.getUserToken", "users", keep=session, email=email, password=password)


def wrong_login(email: str, password: str) -> Act:
    """Return an act that logs in with a wrong password: it fails."""
    return act("User.getUserToken", "users", fails=True, email=email, password=password)


def create_social(consumer: str) -> Act:
    """Return an act that creates a social."""
    return act("User.createSocial", "socials", consumer=consumer, redirect="https://§.example/callback",
               client_id="§", client_secret="the secret of §", scope=["profile", "§"])  # fmt: skip


def assign(id: int, role_id: str, *values: tuple[str, object]) -> Act:
    """Return an act that assigns a role with values to a user."""
    parameters = [{"name": name, "value": value} for name, value in values]
    return act("User.assignUser", "held", id=id, roles=[{"role_id": role_id, "parameters": parameters}])


def permit(role_id: str, *perm_ids: str) -> Act:
    """Return an act that adds permissions to a role."""
    body = [dict(zip(("method", "end_point"), each.split("/", 1), strict=True)) for each in perm_ids]
    return act("User.addRolePerm", "roles held", role_id=role_id, body=body)


FIRST_STORY = [
    *sign_up_and_activate("ann@example.com", "code-of-ann"),
    *sign_up_and_activate("bea@example.com", "code-of-bea"),
    sign_up("cid@example.com", "code-of-cid"),
    login("ann@example.com", "session"),
    login("bea@example.com", "other-session"),
    wrong_login("ann@example.com", "the password of ¤"),
    wrong_login("cid@example.com", "the password of §"),
    act("User.createRole", "roles", role_id="keeper", parameter=[{"name": "sn"}, {"name": "zone"}]),
    act("User.createRole", "roles", role_id="reader", parameter=[{"name": "sn"}]),
    act("User.createRole", "roles held", role_id="only§"),
    permit("keeper", READ, LIST, OWN),
    permit("reader", LIST, "POST/of/§"),
    act("User.createPermission", "roles", method="GET", end_point="only/§"),
    act("User.addRoleParam", "roles", role_id="reader", body=[{"name": "color"}]),
    assign(1, "keeper", ("sn", "1"), ("sn", "own§"), ("zone", "a")),
    assign(2, "keeper", ("sn", "2"), ("sn", "3")),
    assign(2, "reader", ("sn", {"type": "wildcard"}), ("color", "red")),
    act("User.createUserData", "data", id=1, color="§", shared=[1, {"of": "§"}]),
    act("User.createUserData", "data", id=2, color="§"),
    act("User.createOauthClient", "oauth", keep="secret=secret", id=1, name="an app of §", redirect=APP),
    act("User.createOauthClient", "oauth", keep="secret=other-secret", id=2, name="another", redirect=[APP, "https://b.example/"]),
    approve("oauth-code", 1),
    redeem("oauth-code", "access", "refresh", 1, "secret"),
    approve("code-of-another", 2, "other-session"),
    redeem("code-of-another", "other-access", "other-refresh", 2, "other-secret"),
    approve("late-code", 2, "other-session"),
    approve("third-code", 1),
    create_social("google"),
    create_social("github"),
]  # fmt: skip

SECOND_STORY = [
    act("User.activateUser", "users", crossed=True, code="<code-of-cid>"),
    act("User.activateUser", "users", fails=True, code="<code-of-ann>"),
    login("cid@example.com", "third-session"),
    sign_up("dan@example.com", "code-of-dan"),
    act("User.updateUser", "users", id=4, status=1),
    act("User.updateUser", "users", id=4, status=0),
    act("User.activateUser", "users", fails=True, code="<code-of-dan>"),
    wrong_login("dan@example.com", "the password of §"),
    refresh("refresh", "access", "refresh", 1),
    redeem("late-code", "late-access", "late-refresh", 2, "other-secret"),
    redeem("third-code", "access", "refresh", 1, "secret"),
    redeem_again("third-code", 1),
    approve("fourth-code", 1),
    redeem("fourth-code", "access", "refresh", 1, "secret"),
    act("User.updateUser", "users", id=3, name="Cid §"),
    act("User.updateUser", "users oauth", id=2, status=0),
    wrong_login("bea@example.com", "the password of §"),
    refresh_refused("late-refresh", 2),
    act("User.updateUser", "users oauth", id=2, status=1),
    act("User.updateUserData", "data", id=1, color="changed by §"),
    act("User.deleteUserData", "data", id=1, keys=["shared"]),
    act("User.deleteRoleParamValue", "held", role_id="keeper", parameter_name="sn", parameter_value="2"),
    act("User.deassignUserParam", "held", id=1, role_id="keeper", parameter_name="sn", parameter_value="1"),
    act("User.deassignUserParamName", "held", id=2, role_id="keeper", parameter_name="sn"),
    act("User.deassignUser", "held", id=2, role_id="keeper"),
    act("User.deleteRolePerm", "roles held", role_id="keeper", perm_id=OWN),
    act("User.deletePerm", "roles held", perm_id=LIST),
    act("User.deleteRoleParam", "roles held", role_id="keeper", parameter_name="zone"),
    act("User.deleteRole", "roles held", role_id="reader"),
    act("User.createRole", "roles held", role_id="reader", parameter=[{"name": "sn"}]),
    act("User.updateOauthClient", "oauth", id=2, client_id=2, name="of §", redirect=APP),
    act("User.deleteOauthClient", "oauth", id=1, client_id=1),
    refresh_refused("refresh", 1),
    act("User.updateSocial", "socials", consumer="github", client_secret="another of §"),
    act("User.deleteSocial", "socials", consumer="google"),
    act("User.resetUserPassword", "users oauth", id=2, password="a new one of §"),
    wrong_login("bea@example.com", "the password of §"),
    refresh_refused("late-refresh", 2),
    login("bea@example.com", "other-session", "a new one of §"),
    act("User.deleteUser", "", id=1),
    sign_up("ann@example.com", "code-of-the-next"),
]  # fmt: skip


@check("USR-CALL-12 USR-CALL-15", "two solutions play the same story, over a restart", needs={"settings"})
async def story(target: Target) -> None:
    with tempfile.TemporaryDirectory() as folder:
        await target.in_lab(_story, Path(folder) / "lab.db")


def _story(file: Path) -> None:
    from labkit.lab.lab import Lab

    settings: dict[str, Any] = {"passwords": {"memory": 8, "passes": 1}, "data": file}
    secrets: list[dict[str, str]] = []
    seen: list[dict[str, Any]] = []
    with Lab(1, **settings) as lab:
        both = _both(lab)
        twins.play(both, FIRST_STORY, VIEWS)
        twins.store_views(both, VIEWS)
        lab.restart()
        twins.unchanged(both, VIEWS, "after a restart")
        secrets, seen = [each.secrets for each in both], [each.seen for each in both]
    with Lab(1, **settings) as lab:
        both = _both(lab)
        for each, held, was in zip(both, secrets, seen, strict=True):
            each.secrets, each.seen = held, was
        twins.unchanged(both, VIEWS, "after a stop and a start")
        twins.play(both, SECOND_STORY, VIEWS)
        twins.store_views(both, VIEWS)
        lab.restart()
        twins.unchanged(both, VIEWS, "after another restart")


def _both(lab: Lab) -> tuple[Twin, Twin]:
    one, other = (Twin(lab.solution(f"of{mark}"), mark) for mark in MARKS)
    return one, other
