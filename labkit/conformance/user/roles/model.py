"""A reference model of roles, permissions and assignments in one solution, written from the documents alone.

Names of roles and parameters count in any letter case, and the first spelling is shown; values count as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

ANY = "*"  # the wildcard, as a value
PLACEHOLDER = re.compile(r"\{([A-Za-z]+)\}")

Perm = tuple[str, str]  # method, end_point
Role = dict[str, object]
Assignments = list[dict[str, object]]


class Refused(Exception):
    """An error object. status: what it has; rule: whose it is."""

    def __init__(self, status: int, rule: str) -> None:
        super().__init__(status)
        self.status = status
        self.rule = rule


@dataclass(slots=True)
class Kept:
    """A role. names: folded to their first spelling, in order; held: by user, folded names and values in order."""

    role_id: str
    names: dict[str, str] = field(default_factory=dict)
    perms: list[Perm] = field(default_factory=list)
    held: dict[int, list[tuple[str, str]]] = field(default_factory=dict)

    def shown(self) -> Role:
        return {"role_id": self.role_id, "parameter": [{"name": each} for each in self.names.values()]}

    def name(self, name: str) -> str:
        if name.lower() not in self.names:
            raise Refused(400, "USR-ROLE-18")
        return name.lower()


@dataclass(slots=True)
class Access:
    """What there is in a solution. order: by user, the roles in the order in which they were assigned."""

    roles: dict[str, Kept] = field(default_factory=dict)
    perms: list[Perm] = field(default_factory=list)
    order: dict[int, list[str]] = field(default_factory=dict)

    def role(self, role_id: str) -> Kept:
        if role_id.lower() not in self.roles:
            raise Refused(404, "USR-ROLE-18")
        return self.roles[role_id.lower()]

    # ---- roles

    def create(self, role_id: str, names: Sequence[str]) -> Role:
        if role_id.lower() in self.roles:
            raise Refused(409, "USR-ROLE-4")
        self.roles[role_id.lower()] = Kept(role_id)
        return self.add_names(role_id, names)

    def add_names(self, role_id: str, names: Sequence[str]) -> Role:
        role = self.role(role_id)
        for each in names:
            role.names.setdefault(each.lower(), each)
        return role.shown()

    def remove_name(self, role_id: str, name: str) -> Role:
        role = self.role(role_id)
        folded = role.name(name)
        del role.names[folded]
        for values in role.held.values():
            values[:] = [each for each in values if each[0] != folded]
        return role.shown()

    def delete(self, role_id: str) -> None:
        role = self.role(role_id)
        del self.roles[role_id.lower()]
        for roles in self.order.values():
            roles[:] = [each for each in roles if each != role.role_id.lower()]

    def listed(self) -> list[Role]:
        return [each.shown() for each in self.roles.values()]

    # ---- permissions

    def register(self, perm: Perm) -> dict[str, str]:
        if perm not in self.perms:
            self.perms.append(perm)
        return shown(perm)

    def unregister(self, perm: Perm) -> None:
        if perm not in self.perms:
            raise Refused(404, "USR-PERM-5")
        self.perms.remove(perm)
        for role in self.roles.values():
            role.perms[:] = [each for each in role.perms if each != perm]

    def add_perms(self, role_id: str, perms: Sequence[Perm]) -> list[dict[str, str]]:
        role = self.role(role_id)
        for each in perms:
            self.register(each)
            if each not in role.perms:
                role.perms.append(each)
        return [shown(each) for each in role.perms]

    def remove_perm(self, role_id: str, perm: Perm) -> list[dict[str, str]]:
        role = self.role(role_id)
        if perm not in role.perms:
            raise Refused(404, "USR-PERM-5")
        role.perms.remove(perm)
        return [shown(each) for each in role.perms]

    def may(self, user: int, perm: Perm, given: Sequence[tuple[str, str]]) -> bool:
        wanted = [each.lower() for each in PLACEHOLDER.findall(perm[1])]
        values = {name.lower(): value for name, value in given}
        if perm not in self.perms or any(each not in values for each in wanted):
            return False
        for role in self.roles.values():
            held = role.held.get(user, [])
            if perm not in role.perms or not held:
                continue
            if all((name, values[name]) in held or (name, ANY) in held for name in wanted):
                return True
        return False

    # ---- assignments

    def assign(self, user: int, role_id: str, values: Sequence[tuple[str, str]]) -> Assignments:
        role = self.role(role_id)
        folded = [(role.name(name), value) for name, value in values]
        mine = self.order.setdefault(user, [])
        if role.role_id.lower() not in mine:
            mine.append(role.role_id.lower())
        held = role.held.setdefault(user, [])
        held += [each for each in dict.fromkeys(folded) if each not in held]
        return self.held(user)

    def held(self, user: int) -> Assignments:
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
        role = self.role(role_id)
        role.held.pop(user, None)
        mine = self.order.setdefault(user, [])
        mine[:] = [each for each in mine if each != role.role_id.lower()]
        return self.held(user)

    def take(self, user: int | None, role_id: str, name: str, value: str | None = None) -> Assignments:
        """Take a value, or all of a name, from a user, or from all."""
        role = self.role(role_id)
        folded = role.name(name)
        for who, values in role.held.items():
            if user is None or who == user:
                values[:] = [each for each in values if each[0] != folded or value not in (None, each[1])]
        return [] if user is None else self.held(user)

    def holds(self, user: int, role_id: str, name: str, value: str) -> bool:
        role = self.roles.get(role_id.lower())
        held = role.held.get(user, []) if role else []
        return (name.lower(), value) in held or (name.lower(), ANY) in held

    def users(self, role_id: str) -> list[int]:
        return sorted(self.role(role_id).held)

    def users_of(self, role_id: str, name: str, value: str) -> list[int]:
        self.role(role_id).name(name)
        return sorted(user for user in self.role(role_id).held if self.holds(user, role_id, name, value))

    def values(self, user: int, role_id: str, name: str, offset: int, limit: int) -> dict[str, object]:
        role = self.role(role_id)
        folded = role.name(name)
        found = [value for each, value in role.held.get(user, []) if each == folded]
        return {"items": found[offset : offset + limit], "total": len(found)}


def shown(perm: Perm) -> dict[str, str]:
    return {"method": perm[0], "end_point": perm[1]}
