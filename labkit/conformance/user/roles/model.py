"""Reference model of roles, permissions and assignments in one solution, from the documents alone.

Names of roles and parameters ignore letter case, and the first spelling is shown; values are case-sensitive.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from labkit.conformance.models.calls import Refused

ANY = "*"  # the wildcard, as a value
PLACEHOLDER = re.compile(r"\{([A-Za-z]+)\}")
RESERVED = frozenset(
    "me user users permission permissions role roles parameter parameters group groups member members".split()
)

Perm = tuple[str, str]  # method, end_point
Role = dict[str, object]
Assignments = list[dict[str, object]]
Assigned = Sequence[tuple[str, Sequence[tuple[str, str]]]]  # role_id, names and values


def check_role_id(role_id: str) -> None:
    """Raise Refused for an invalid or reserved role_id."""
    if re.fullmatch("[A-Za-z0-9_-]{1,80}", role_id) is None:
        raise Refused("USR-ROLE-2", 400, choice="USR-ROLE-10")
    if role_id.lower() in RESERVED:
        raise Refused("USR-ROLE-8" if role_id in RESERVED else "USR-ROLE-9", 400, choice="USR-ROLE-10")


def check_names(names: Iterable[str]) -> None:
    """Raise Refused for an invalid or reserved parameter name."""
    for each in names:
        if re.fullmatch("[A-Za-z]{1,40}", each) is None:
            raise Refused("USR-ROLE-5", 400, choice="USR-ROLE-10")
        if each.lower() in RESERVED:
            raise Refused("USR-ROLE-8" if each in RESERVED else "USR-ROLE-9", 400, choice="USR-ROLE-10")


def check_perms(perms: Iterable[Perm]) -> None:
    """Raise Refused for an invalid method or end_point."""
    for method, end_point in perms:
        if re.fullmatch("[A-Z]{1,10}", method) is None:
            raise Refused("USR-PERM-1", 400, choice="USR-ROLE-10")
        if re.fullmatch("[A-Za-z0-9/_{}-]{1,150}", end_point) is None:
            raise Refused("USR-PERM-2", 400, choice="USR-ROLE-10")


def is_valid_value(value: str) -> bool:
    """Return whether a parameter may have this value."""
    return value == ANY or re.fullmatch("[A-Za-z0-9]{1,100}", value) is not None


@dataclass(slots=True)
class StoredRole:
    """A role. names: the first spelling by folded name; held: folded names and values by user, in order."""

    role_id: str
    names: dict[str, str] = field(default_factory=dict)
    perms: list[Perm] = field(default_factory=list)
    held: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    def shown(self) -> Role:
        """Return the role as operations show it."""
        return {"role_id": self.role_id, "parameter": [{"name": each} for each in self.names.values()]}

    def name(self, name: str) -> str:
        """Return the folded name of a parameter. Raises Refused for an unknown one."""
        if name.lower() not in self.names:
            raise Refused("USR-ROLE-18", 400)
        return name.lower()


@dataclass(slots=True)
class Access:
    """The roles, permissions and assignments of a solution. order: each user's roles in order of assignment."""

    roles: dict[str, StoredRole] = field(default_factory=dict)
    perms: list[Perm] = field(default_factory=list)
    order: dict[int, list[str]] = field(default_factory=dict)
    deleted: set[int] = field(default_factory=set)

    def role(self, role_id: str) -> StoredRole:
        """Return a role. Raises Refused for an unknown one."""
        if role_id.lower() not in self.roles:
            raise Refused("USR-ROLE-18", 404)
        return self.roles[role_id.lower()]

    def user(self, user: int) -> None:
        """Raise Refused for a deleted user."""
        if user in self.deleted:  # 400 if the role or name is missing too
            raise Refused("USR-ASSIGN-23", 404, 400)

    def delete_user(self, user: int) -> None:
        """Delete a user with its assignments."""
        self.deleted.add(user)
        self.order.pop(user, None)
        for role in self.roles.values():
            role.held.pop(user, None)

    # ---- roles

    def create(self, role_id: str, names: Sequence[str]) -> Role:
        """Create a role. Raises Refused."""
        check_role_id(role_id)
        check_names(names)
        if role_id.lower() in self.roles:
            raise Refused("USR-ROLE-4", 409)
        self.roles[role_id.lower()] = StoredRole(role_id)
        return self.add_names(role_id, names)

    def add_names(self, role_id: str, names: Sequence[str]) -> Role:
        """Add parameters to a role. Raises Refused."""
        check_names(names)
        role = self.role(role_id)
        for each in names:
            role.names.setdefault(each.lower(), each)
        return role.shown()

    def remove_name(self, role_id: str, name: str) -> Role:
        """Remove a parameter from a role, with its values. Raises Refused."""
        role = self.role(role_id)
        folded = role.name(name)
        del role.names[folded]
        for values in role.held.values():
            values[:] = [each for each in values if each[0] != folded]
        return role.shown()

    def delete(self, role_id: str) -> None:
        """Delete a role with its assignments. Raises Refused."""
        role = self.role(role_id)
        del self.roles[role_id.lower()]
        for roles in self.order.values():
            roles[:] = [each for each in roles if each != role.role_id.lower()]

    def listed(self) -> list[Role]:
        """Return all roles, in order of creation."""
        return [each.shown() for each in self.roles.values()]

    # ---- permissions

    def register(self, perm: Perm) -> dict[str, str]:
        """Register a permission, once. Raises Refused."""
        check_perms([perm])
        if perm not in self.perms:
            self.perms.append(perm)
        return shown(perm)

    def unregister(self, perm: Perm) -> None:
        """Remove a permission, also from all roles. Raises Refused."""
        if perm not in self.perms:
            raise Refused("USR-PERM-5", 404)
        self.perms.remove(perm)
        for role in self.roles.values():
            role.perms[:] = [each for each in role.perms if each != perm]

    def add_perms(self, role_id: str, perms: Sequence[Perm]) -> list[dict[str, str]]:
        """Add permissions to a role and return all of the role's. Raises Refused."""
        check_perms(perms)
        role = self.role(role_id)
        for each in perms:
            self.register(each)
            if each not in role.perms:
                role.perms.append(each)
        return [shown(each) for each in role.perms]

    def remove_perm(self, role_id: str, perm: Perm) -> list[dict[str, str]]:
        """Remove a permission from a role and return the remaining ones. Raises Refused."""
        role = self.role(role_id)
        if perm not in role.perms:
            raise Refused("USR-PERM-5", 404)
        role.perms.remove(perm)
        return [shown(each) for each in role.perms]

    def has_permission(self, user: int, perm: Perm, given: Sequence[tuple[str, str]]) -> bool:
        """Return whether one role grants a permission with these placeholder values."""
        wanted = [each.lower() for each in PLACEHOLDER.findall(perm[1])]
        values = {name.lower(): value for name, value in given}
        if perm not in self.perms or any(each not in values for each in wanted):
            return False
        if any(character in PLACEHOLDER.sub("", perm[1]) for character in "{}"):
            return False
        for role in self.roles.values():
            held = role.held.get(user, [])
            if perm not in role.perms or not held:
                continue
            if all((name, values[name]) in held or (name, ANY) in held for name in wanted):
                return True
        return False

    # ---- assignments

    def assign(self, user: int, given: Assigned) -> Assignments:
        """Assign roles with values to a user: all or, with Refused raised, none."""
        for _, values in given:
            if not all(is_valid_value(value) for _, value in values):
                raise Refused("USR-ASSIGN-1", 400, 404, choice="USR-ASSIGN-3")
        self.user(user)
        wrong: list[int] = []
        for role_id, values in given:
            try:
                role = self.role(role_id)
                for name, _ in values:
                    role.name(name)
            except Refused as refused:
                wrong += refused.statuses
        if wrong:
            raise Refused("USR-ASSIGN-8", *wrong)
        for role_id, values in given:
            role = self.role(role_id)
            mine = self.order.setdefault(user, [])
            if role.role_id.lower() not in mine:
                mine.append(role.role_id.lower())
            held = role.held.setdefault(user, [])
            folded = [(role.name(name), value) for name, value in values]
            held += [each for each in dict.fromkeys(folded) if each not in held]
        return self.assignments(user)

    def assignments(self, user: int) -> Assignments:
        """Return a user's roles and values, in order of assignment. Raises Refused."""
        self.user(user)
        found: Assignments = []
        for each in self.order.get(user, []):
            role = self.roles[each]
            values = [
                {"name": role.names[name], "value": {"type": "wildcard"} if value == ANY else value}
                for name, value in role.held[user]
            ]
            found.append({"role_id": role.role_id, "parameters": values})
        return found

    def deassign(self, user: int, role_id: str) -> Assignments:
        """Remove a role from a user and return the remaining assignments. Raises Refused."""
        self.user(user)
        role = self.role(role_id)
        role.held.pop(user, None)
        mine = self.order.setdefault(user, [])
        mine[:] = [each for each in mine if each != role.role_id.lower()]
        return self.assignments(user)

    def remove_values(
        self, user: int | None, role_id: str, name: str, value: str | None = None
    ) -> Assignments | None:
        """Remove a parameter's value, or all its values, from a user's role; with user None, from all users."""
        if user is not None:
            self.user(user)
        role = self.role(role_id)
        folded = role.name(name)
        for holder, values in role.held.items():
            if user is None or holder == user:
                values[:] = [each for each in values if each[0] != folded or value not in (None, each[1])]
        return None if user is None else self.assignments(user)

    def has_value(self, user: int, role_id: str, name: str, value: str) -> bool:
        """Return whether a user holds a value or the wildcard. Raises Refused."""
        self.user(user)
        role = self.role(role_id)
        held = role.held.get(user, [])
        return (role.name(name), value) in held or (name.lower(), ANY) in held

    def users(self, role_id: str) -> list[int]:
        """Return the ids of a role's users. Raises Refused."""
        return sorted(self.role(role_id).held)

    def users_of(self, role_id: str, name: str, value: str) -> list[int]:
        """Return the ids of all users with a value, or with the wildcard. Raises Refused."""
        role = self.role(role_id)
        role.name(name)
        return sorted(user for user in role.held if self.has_value(user, role_id, name, value))

    def values(self, user: int, role_id: str, name: str, offset: int, limit: int) -> dict[str, object]:
        """Return a page of a user's values of a parameter, and their number. Raises Refused."""
        if not 1 <= limit <= 100:
            raise Refused("USR-ASSIGN-21", 400, choice="USR-ASSIGN-22")
        if offset < 0:
            raise Refused("USR-ASSIGN-22", 400)
        self.user(user)
        role = self.role(role_id)
        folded = role.name(name)
        found = [value for each, value in role.held.get(user, []) if each == folded]
        return {"items": found[offset : offset + limit], "total": len(found)}


def shown(perm: Perm) -> dict[str, str]:
    """Return a permission as operations show it."""
    return {"method": perm[0], "end_point": perm[1]}
