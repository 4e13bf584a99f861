"""Errors of services, as scripts see them."""

from labkit.core.errors import LabError, LabkitError, ServiceError, SettingsError
from tests.cases import cases


@cases(
    ("status", "type"), [(400, "QueryError"), (404, "QueryError"), (499, "QueryError"), (500, "ServerError")]
)
def test_the_type_of_an_error_object_follows_from_its_status(status: int, type: str) -> None:
    error = ServiceError(status, "no such key")
    expected = {"type": type, "error": "no such key", "status": status, "status_code": status}
    assert error.as_object() == expected
    assert str(error) == "no such key"


def test_all_errors_have_one_base() -> None:
    assert {LabError, ServiceError, SettingsError} <= set(LabkitError.__subclasses__())
