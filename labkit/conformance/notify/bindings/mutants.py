"""Code mutants of bindings, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.breaking import change_arguments, change_result
from labkit.conformance.mutant import patch
from labkit.providers.messaging.bindings import PER_IDENTITY, Binding, fetch
from labkit.providers.messaging.errors import ApiError
from labkit.storage.database import execute

DELETE = "labkit.providers.messaging.bindings:delete"
OF_IDENTITY = "SELECT count(*) FROM messaging_binding WHERE service = ? AND identity = ?"
ITS_IDENTITY = "DELETE FROM messaging_binding WHERE identity = ?"

seconds_lost = patch(
    "NTF-BIND-10", "labkit.providers.messaging.resources:iso", "dates are cut to the full minute"
)(change_arguments(second=lambda second: second // 60 * 60))


@patch("NTF-BIND-18", DELETE)
def identity_deleted(original: Any, connection: Any, *named: Any) -> bool:
    """deleteBinding deletes all bindings of the identity"""
    found = fetch(connection, *named)
    return found is not None and bool(execute(connection, ITS_IDENTITY, (found.identity,)))


@patch("NTF-BIND-20", "labkit.providers.messaging.bindings:create")
def renewal_counts(original: Any, connection: Any, binding: Binding) -> None:
    """a binding that replaces another counts towards the limit of an identity"""
    (there,) = execute(connection, OF_IDENTITY, (binding.service, binding.identity)).fetchone()
    if there >= PER_IDENTITY:
        raise ApiError(400, "Identity: this one has too many bindings")
    original(connection, binding)


@patch("NTF-CALL-12 NTF-CALL-7", "labkit.providers.messaging.bindings:fetch")
def of_any_service(original: Any, connection: Any, service: str, sid: str) -> Any:
    """a binding is found by its sid in every service"""
    query = "SELECT service FROM messaging_binding WHERE sid = ?"
    row = execute(connection, query, (sid,)).fetchone()
    return original(connection, row[0] if row else service, sid)


deleted_again = patch("NTF-BIND-18", DELETE, "deleteBinding succeeds for a deleted binding")(
    change_result(lambda found: True)
)
