"""Faults of accounts."""

from __future__ import annotations

from typing import Any

from labkit.conformance.faults import CALL, failed, gives, with_parameters, with_result
from labkit.conformance.mutant import mutant
from labkit.core.database import execute
from labkit.core.errors import ServiceError
from labkit.services.user.accounts import ACTIVE

ACCOUNTS = "labkit.services.user.accounts"
FILTERS = "labkit.services.user.users.filters"


@mutant("USR-USER-1 USR-USER-17 USR-TOKEN-12 USR-GUIDE-7", f"{ACCOUNTS}:change")
def password_kept(original: Any) -> Any:
    """a new password is not stored"""
    return lambda *args, **changes: original(*args, **{**changes, "password": None})


@mutant("USR-USER-2 USR-USER-3", f"{ACCOUNTS}:User.shown")
def no_date(original: Any) -> Any:
    """users have no creation_date"""
    return lambda self: {name: value for name, value in original(self).items() if name != "creation_date"}


@mutant("USR-USER-3", f"{ACCOUNTS}:User.shown")
def milliseconds(original: Any) -> Any:
    """creation_date is in milliseconds"""
    return lambda self: {**original(self), "creation_date": self.creation_date * 1000}


@mutant("USR-USER-4 USR-TOKEN-1 USR-GUIDE-1", f"{ACCOUNTS}:add")
def active_at_once(original: Any) -> Any:
    """a user is active without activation"""
    return lambda *args, **given: original(*args, **{**given, "activation": None})


@mutant("USR-USER-4 USR-USER-9 USR-GUIDE-3", f"{ACCOUNTS}:activate")
def never_active(original: Any) -> Any:
    """no code activates"""
    return lambda connection, solution, activation: None


@mutant("USR-USER-9", f"{ACCOUNTS}:activate")
def all_active(original: Any) -> Any:
    """a code activates whoever waits for one"""

    def broken(connection: Any, solution: str, activation: str) -> Any:
        user = original(connection, solution, activation)
        if user is not None:
            execute(connection, "UPDATE user SET status = 1")
        return user

    return broken


@mutant("USR-USER-5", CALL)
def failure_as_text(original: Any) -> Any:
    """createUser that fails gives a text"""

    def text(operation: str, result: Any) -> Any:
        return result["error"] if operation == "createUser" and failed(result) else result

    return gives(original, "User", text)


@mutant("USR-USER-5 USR-USER-7", CALL)
def any_password(original: Any) -> Any:
    """a short password is filled up"""

    def fill(parameters: dict[str, Any]) -> dict[str, Any]:
        password = parameters.get("password")
        return {**parameters, "password": password.ljust(6)} if isinstance(password, str) else parameters

    return with_parameters(original, "createUser", fill)


@mutant("USR-USER-6", "labkit.core.identifiers:Identifiers.alphanumeric")
def short_codes(original: Any) -> Any:
    """codes are too short"""
    return lambda self, actor, length: original(self, actor, 8)


@mutant("USR-USER-8", f"{ACCOUNTS}:add")
def taken_twice(original: Any) -> Any:
    """an address is taken in one letter case alone"""

    def broken(connection: Any, solution: str, email: str, *args: Any, **given: Any) -> Any:
        return original(connection, solution, email if email.islower() else f"{email}.x", *args, **given)

    return broken


@mutant("USR-USER-10 USR-GUIDE-4", CALL)
def any_code(original: Any) -> Any:
    """activateUser is 'OK' for every code"""
    return gives(original, "User", lambda operation, result: "OK" if operation == "activateUser" else result)


@mutant("USR-USER-10", "labkit.services.user.errors:error_object")
def no_message(original: Any) -> Any:
    """an error has no message"""
    return lambda error: {name: value for name, value in original(error).items() if name != "message"}


@mutant("USR-USER-11", f"{ACCOUNTS}:activate")
def codes_stay(original: Any) -> Any:
    """a code can be used again"""

    def broken(connection: Any, solution: str, activation: str) -> Any:
        user = original(connection, solution, activation)
        if user is not None:
            again = "UPDATE user SET activation = ? WHERE solution = ? AND id = ?"
            execute(connection, again, (activation, solution, user.id))
        return user

    return broken


@mutant("USR-USER-12 USR-USER-13 USR-USER-14 USR-USER-15", f"{FILTERS}:fitting")
def not_filtered(original: Any) -> Any:
    """filters are ignored"""
    return lambda connection, solution, conditions, *page: original(connection, solution, [], *page)


@mutant("USR-USER-12", CALL)
def nil_for_nobody(original: Any) -> Any:
    """listUsers gives nil where nobody fits"""
    return gives(original, "User", lambda operation, result: None if result == [] else result)


@mutant("USR-USER-13", f"{FILTERS}:fitting")
def last_filter_alone(original: Any) -> Any:
    """of several filters one counts"""
    return lambda connection, solution, conditions, *page: original(
        connection, solution, conditions[-1:], *page
    )


@mutant("USR-USER-14", f"{FILTERS}:condition")
def by_id_alone(original: Any) -> Any:
    """who fits exactly does not come first"""
    return lambda text: original(text)._replace(exact=None)


@mutant("USR-USER-15", f"{FILTERS}:fitting")
def offset_ignored(original: Any) -> Any:
    """offset is ignored"""
    return lambda connection, solution, conditions, offset, limit: original(
        connection, solution, conditions, 0, limit
    )


@mutant("USR-USER-16", f"{FILTERS}:condition")
def lenient_filters(original: Any) -> Any:
    """what is no filter finds everybody"""

    def broken(text: str) -> Any:
        try:
            return original(text)
        except ServiceError:
            return original("id::gt::0")

    return broken


@mutant("USR-USER-18", CALL)
def silent_failure(original: Any) -> Any:
    """resetUserPassword that fails gives an object without status"""

    def silent(operation: str, result: Any) -> Any:
        if operation != "resetUserPassword" or not failed(result):
            return result
        return {name: value for name, value in result.items() if name != "status"}

    return gives(original, "User", silent)


@mutant("USR-USER-19", CALL)
def status_of_the_user(original: Any) -> Any:
    """resetUserPassword gives the user with status"""
    return with_result(original, "resetUserPassword", lambda user: {**user, "status": ACTIVE})


@mutant("USR-USER-20", f"{FILTERS}:condition")
def cut_at_a_nul(original: Any) -> Any:
    """a filter ends at a NUL"""
    return lambda text: original(text.partition("\0")[0])


@mutant("USR-USER-21", CALL)
def cut_addresses(original: Any) -> Any:
    """of a long address the last 60 characters count"""
    return with_parameters(
        original,
        "createUser",
        lambda parameters: {**parameters, "email": str(parameters.get("email"))[-60:]},
    )


@mutant("USR-USER-22", f"{FILTERS}:folded")
def compared_as_written(original: Any) -> Any:
    """a filter compares addresses as they are written"""
    return lambda text: text
