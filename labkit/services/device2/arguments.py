"""Arguments of Device2: credentials and tags of devices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    SecretStr,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
)

from labkit.core.errors import ServiceError
from labkit.devices.tags import Tag
from labkit.services.arguments import as_list, as_text
from labkit.services.device_values import Identity

LONGEST_TAG = 256  # characters of a name or a value
MOST_TAGS = 100  # in a call
MOST_IDENTITIES = 1000  # in a call


TagName = Annotated[str, BeforeValidator(as_text), Field(min_length=1, max_length=LONGEST_TAG)]
TagValue = Annotated[str, BeforeValidator(as_text), Field(max_length=LONGEST_TAG)]


class GivenTag(BaseModel):
    """A tag: name, value."""

    name: TagName
    value: TagValue


class ChosenTag(BaseModel):
    """Selection of tags: by name, and by value if there is one."""

    name: TagName
    value: TagValue | None = None


GivenTags = Annotated[list[GivenTag], BeforeValidator(as_list), Field(min_length=1, max_length=MOST_TAGS)]
ChosenTags = Annotated[list[ChosenTag], BeforeValidator(as_list), Field(max_length=MOST_TAGS)]


class Auth(BaseModel):
    """A credential. key: token, password or certificate (PEM); type: which, by default that of the product."""

    key: SecretStr
    type: Literal["token", "password", "certificate"] | None = None


class NewIdentity(BaseModel):
    """An identity to add or change. auth: its credential; locked: whether it is refused."""

    identity: Identity
    auth: Auth | None = None
    locked: StrictBool | None = None


def _as_identities(value: object) -> object:
    """Return a list in which a text is an identity alone."""
    found = as_list(value)
    return (
        [{"identity": each} if isinstance(each, str) else each for each in found]
        if isinstance(found, list | tuple)
        else found
    )


Identities = Annotated[
    list[NewIdentity], BeforeValidator(_as_identities), Field(min_length=1, max_length=MOST_IDENTITIES)
]
Status = Literal["whitelisted", "provisioned", "locked"]
Statuses = Annotated[list[Status], BeforeValidator(as_list), Field(max_length=3)]
AliasName = Annotated[str, Field(min_length=1, max_length=64)]
Plain = StrictBool | StrictInt | StrictFloat | StrictStr
Allowed = Annotated[list[Plain | dict[str, Plain]], BeforeValidator(as_list), Field(max_length=1000)]


class Provisioning(BaseModel):
    """Changes of provisioning. enabled: devices may activate themselves; generate_identity: unknown ones too."""

    enabled: StrictBool | None = None
    generate_identity: StrictBool | None = None


def as_tags(given: Sequence[GivenTag | ChosenTag]) -> list[Tag]:
    """Return given tags as the store has them."""
    return [Tag(each.name, each.value) for each in given]


def shown_tags(tags: Sequence[Tag]) -> list[dict[str, object]]:
    """Return tags as scripts receive them."""
    return [{"name": name, "value": value} for name, value in tags]


def credential(auth: Auth, expected: str, identity: str) -> str | bytes:
    """Return a credential as it is stored: text, or a certificate in DER. expected: type of the product's credentials.

    Raises ServiceError 400 for another type, and for a certificate that is not PEM or not of this identity.
    """
    key = auth.key.get_secret_value()
    if auth.type not in (None, expected):
        raise ServiceError(
            400, f"Parameter auth.type validation failed: expected {expected}, as in the product."
        )
    if expected != "certificate":
        return key
    try:
        certificate = x509.load_pem_x509_certificate(key.encode())
        names = certificate.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    except (ValueError, x509.InvalidVersion):
        raise ServiceError(
            400, "Parameter auth.key validation failed: expected a certificate in PEM."
        ) from None
    if [name.value for name in names] != [identity]:
        raise ServiceError(400, "Parameter auth.key validation failed: its CN is not the identity.")
    return certificate.public_bytes(Encoding.DER)
