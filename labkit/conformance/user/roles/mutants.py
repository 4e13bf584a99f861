"""Code mutants of roles and their parameters, for faults that no fault row can express."""

from __future__ import annotations

from labkit.conformance.breaking import change_result
from labkit.conformance.mutant import patch

ARGUMENTS = "labkit.services.user.roles.arguments"
ROLES = "labkit.services.user.roles.roles"
NAMES_AND_VALUES = "USR-ROLE-2 USR-ROLE-5 USR-PERM-1 USR-PERM-2 USR-ASSIGN-1"

ends_unseen = patch(
    NAMES_AND_VALUES, f"{ARGUMENTS}:matching", "only the beginning of names and values is validated"
)(
    lambda original, value, pattern, expected: (
        value if isinstance(value, str) and pattern.match(value) else original(value, pattern, expected)
    )
)
shorter_by_one = patch(
    NAMES_AND_VALUES, f"{ARGUMENTS}:matching", "names and values of the maximum length are refused"
)(
    lambda original, value, pattern, expected: original(
        value if value == "" or pattern.fullmatch(f"{value}{str(value)[-1:]}") else None, pattern, expected
    )
)
case_counts = patch(
    "USR-ROLE-3 USR-ROLE-4 USR-ROLE-6 USR-ROLE-7 USR-ROLE-9 USR-PERM-13 USR-ASSIGN-18",
    f"{ARGUMENTS}:fold",
    "names are case-sensitive",
)(lambda original, name: name)
word_forgotten = patch("USR-ROLE-8", f"{ARGUMENTS}:unreserved", "one of the reserved words is allowed")(
    lambda original, name: name if name == "parameters" else original(name)
)
empty_unlisted = patch("USR-ROLE-12", f"{ROLES}:all_roles", "a role without parameters is not listed")(
    change_result(lambda roles: [role for role in roles if role["parameter"]])
)
