"""Faults of permissions, and of the answer whether a user has them."""

from __future__ import annotations

import re
from typing import Any

from labkit.conformance.faults import CALL, failed, gives
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.core.errors import ServiceError
from labkit.services.user.roles import permissions
from labkit.services.user.roles.arguments import WILDCARD, Permission
from labkit.services.user.roles.permissions import AND_HELD, AS_VALUE, ROLE_THAT_HAS

PERMISSIONS = "labkit.services.user.roles.permissions"


@mutant("USR-PERM-4", f"{PERMISSIONS}:detach")
def every_method(original: Any) -> Any:
    """deleteRolePerm takes the permissions of all methods for the end_point"""

    def broken(connection: Any, solution: str, role_id: str, permission: Permission) -> Any:
        for other in permissions.permissions_of_role(connection, solution, role_id):
            if other["end_point"] == permission.end_point:
                original(connection, solution, role_id, Permission(**other))
        return permissions.permissions_of_role(connection, solution, role_id)

    return broken


@mutant("USR-PERM-4", f"{PERMISSIONS}:delete_row")
def not_taken(original: Any) -> Any:
    """a permission is not taken"""
    return lambda *args: True


@mutant("USR-PERM-6", f"{PERMISSIONS}:attach")
def only_new(original: Any) -> Any:
    """addRolePerm gives the new permissions alone"""

    def broken(connection: Any, solution: str, role_id: str, given: Any) -> Any:
        original(connection, solution, role_id, given)
        return [{"method": each.method, "end_point": each.end_point} for each in given]

    return broken


@mutant("USR-PERM-6 USR-PERM-8", f"{PERMISSIONS}:listed")
def as_perm_ids(original: Any) -> Any:
    """permissions are listed as texts"""
    return lambda *args: ["{method}/{end_point}".format(**each) for each in original(*args)]


@mutant("USR-PERM-6 USR-PERM-8", f"{PERMISSIONS}:permissions_of_role")
def of_all_roles(original: Any) -> Any:
    """the permissions of a role are those of the whole solution"""
    return lambda connection, solution, role_id: permissions._all(connection, solution)


@mutant("USR-PERM-9 USR-PERM-10", f"{PERMISSIONS}:register")
def unregistered(original: Any) -> Any:
    """createPermission registers nothing"""
    return lambda *args: None


@mutant("USR-PERM-11 USR-PERM-16", f"{PERMISSIONS}:is_allowed")
def nobody_may(original: Any) -> Any:
    """hasUserPerm denies whatever it is asked"""
    return lambda *args: False


@mutant("USR-PERM-16 USR-PERM-17", f"{PERMISSIONS}:is_allowed")
def everybody_may(original: Any) -> Any:
    """hasUserPerm allows whatever it is asked"""
    return lambda *args: True


@mutant("USR-ASSIGN-2", f"{PERMISSIONS}:is_allowed")
def no_wildcard(original: Any) -> Any:
    """hasUserPerm does not know the wildcard"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> bool:
        held = execute(connection, "SELECT value FROM assigned_value WHERE user_id = ?", (id,))
        values = {value for (value,) in held.fetchall()}
        return original(connection, solution, id, permission, given) and values.issuperset(given.values())

    return broken


@mutant("USR-ROLE-1 USR-PERM-11", f"{PERMISSIONS}:is_allowed")
def any_value(original: Any) -> Any:
    """hasUserPerm takes any value that the user holds"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> bool:
        held = execute(connection, "SELECT value FROM assigned_value WHERE user_id = ?", (id,))
        return any(
            original(connection, solution, id, permission, dict.fromkeys(permission.placeholders, value))
            for (value,) in held.fetchall()
        )

    return broken


@mutant("USR-PERM-11", CALL)
def denied_as_401(original: Any) -> Any:
    """hasUserPerm denies with 401"""

    def change(operation: str, result: Any) -> Any:
        denied = operation == "hasUserPerm" and failed(result)
        return {**result, "status": 401} if denied else result

    return gives(original, "User", change)


@mutant("USR-PERM-11", f"{PERMISSIONS}:is_allowed")
def malformed_values(original: Any) -> Any:
    """a value that can be nobody's is 400, which scripts do not take for a denial"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> Any:
        if None in given.values():
            raise ServiceError(400, "expected name::value")
        return original(connection, solution, id, permission, given)

    return broken


@mutant("USR-PERM-3", f"{PERMISSIONS}:is_allowed")
def odd_braces(original: Any) -> Any:
    """braces that enclose no name of a parameter are not looked at"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> Any:
        if re.fullmatch(r".*\{[A-Za-z]{1,40}\}", permission.end_point):
            return original(connection, solution, id, permission, given)
        statement_values = [solution, permission.method, permission.end_point, id]
        return execute(connection, f"{ROLE_THAT_HAS}{AND_HELD})", statement_values).fetchone() is not None

    return broken


@mutant("USR-PERM-5 USR-PERM-15", CALL)
def malformed_is_400(original: Any) -> Any:
    """hasUserPerm says 400 for what is missing or malformed, which scripts do not take for a denial"""

    def change(operation: str, result: Any) -> Any:
        malformed = operation == "hasUserPerm" and failed(result) and "malformed" in result["message"]
        if not malformed:
            return result
        return {**result, "status": 400, "error": result["error"].replace("403", "400")}

    return gives(original, "User", change)


@mutant("USR-PERM-13", f"{PERMISSIONS}:is_allowed")
def over_roles(original: Any) -> Any:
    """one placeholder may be held in one role, another in another"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> bool:
        wanted = [solution, permission.method, permission.end_point, id]
        return all(
            execute(
                connection,
                f"{ROLE_THAT_HAS}{AND_HELD}{AS_VALUE})",
                [*wanted, name, given.get(name), WILDCARD],
            ).fetchone()
            for name in permission.placeholders
        )

    return broken


@mutant("USR-PERM-13", f"{PERMISSIONS}:is_allowed")
def not_given(original: Any) -> Any:
    """a placeholder that is not given is not looked at"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> bool:
        query = ROLE_THAT_HAS
        statement_values: list[object] = [solution, permission.method, permission.end_point]
        for name in given.keys() & set(permission.placeholders):
            query += f"{AND_HELD}{AS_VALUE})"
            statement_values += [id, name, given[name], WILDCARD]
        return execute(connection, query, statement_values).fetchone() is not None

    return broken


@mutant("USR-ASSIGN-6", f"{PERMISSIONS}:is_allowed")
def role_is_enough(original: Any) -> Any:
    """who holds a role without values may use its end_points without placeholders"""

    def broken(connection: Any, solution: str, id: int, permission: Permission, given: Any) -> bool:
        if permission.placeholders:
            return bool(original(connection, solution, id, permission, given))
        holds = f"{AND_HELD})".replace("assigned_value", "assignment")
        statement_values = [solution, permission.method, permission.end_point, id]
        return execute(connection, ROLE_THAT_HAS + holds, statement_values).fetchone() is not None

    return broken
