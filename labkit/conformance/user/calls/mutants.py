"""Code mutants of calls of the User service, for faults that no fault row can express."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from labkit.conformance.breaking import CALL
from labkit.conformance.mutant import mutant, patch
from labkit.services.user.keys import Keys
from labkit.storage.database import execute

secrets_shown = patch(
    "USR-OAUTH-39 USR-SOC-23 USR-JWT-17",
    "labkit.services.operation:Operation.shown",
    "the journal contains secret parameters",
)(lambda original, self, parameters, **_: dict(parameters))


@patch("USR-CALL-12", CALL)
def one_people(original: Any, self: Any, caller: Any, service: str, *call: Any) -> Any:
    """all solutions share the same users"""
    caller = replace(caller, solution="probe") if service == "User" else caller
    return original(self, caller, service, *call)


@patch("USR-CALL-12", "labkit.services.user.accounts:activate", alone=True)
def code_of_any_solution(original: Any, connection: Any, solution: str, code: str) -> Any:
    """an activation code is valid in every solution"""
    row = execute(connection, "SELECT solution FROM user WHERE activation = ?", (code,)).fetchone()
    return original(connection, row[0] if row else solution, code)


@patch("USR-CALL-12", "labkit.services.user.roles.assignments:delete_value", alone=True)
def value_of_all_solutions(original: Any, connection: Any, solution: str, *named: Any) -> None:
    """deleteRoleParamValue removes the value from the users of all solutions"""
    original(connection, solution, *named)
    execute(connection, "DELETE FROM assigned_value WHERE role = ? AND value = ?", (named[0], named[2]))


@mutant("USR-CALL-15", "labkit.services.user.keys:Keys.secret", alone=True)
def secret_of_each_start(original: Any) -> Any:
    """the secret of user tokens changes with every start"""
    starts: WeakKeyDictionary[Keys, int] = WeakKeyDictionary()
    numbers = itertools.count()

    async def secret(self: Keys, solution: str) -> bytes:
        made = starts.get(self)
        if made is None:
            made = starts[self] = next(numbers)
        return bytes(await original(self, solution)) + str(made).encode()

    return secret
