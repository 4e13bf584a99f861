"""Arguments that the services for devices share: identities, products, and values as devices read them."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from labkit.context import Context
from labkit.core.errors import LabError, ServiceError
from labkit.devices.identities import LONGEST
from labkit.devices.products import PlatformProduct
from labkit.services.arguments import as_text, is_unicode, json_number
from labkit.services.bounds import shown_name

LONGEST_VALUE = 2**20  # characters, the same limit as for values that devices write


Identity = Annotated[str, BeforeValidator(as_text), Field(min_length=1, max_length=LONGEST)]
Pid = Annotated[str, Field(min_length=1, max_length=LONGEST)]


def product_id(context: Context, solution: str, pid: str | None) -> str:
    """Return the id of the requested product, or of the solution's only one. Raises ServiceError 404 or 400."""
    products = context.solutions.get(solution).products
    if pid is not None:
        if pid not in products:
            raise ServiceError(404, f"Product {shown_name(pid)} Not Found")
        return pid
    if len(products) == 1:
        return products[0]
    if not products:
        raise ServiceError(404, "the solution is linked to no product")
    raise ServiceError(400, f"Parameter pid is required: expected one of: {', '.join(products)}.")


def value_text(alias: str, value: object) -> str:
    """Return a value as a device reads it. Raises ServiceError 400 unless it is a number, boolean or text."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return json_number(value)
    if not isinstance(value, str) or not is_unicode(value) or len(value) > LONGEST_VALUE:
        raise ServiceError(
            400,
            f"Parameter {shown_name(alias)} validation failed: expected a number, a boolean or a text of at most "
            f"{LONGEST_VALUE} characters.",
        )
    return value


async def add_identity(product: PlatformProduct, identity: str) -> None:
    """Whitelist an identity. Raises ServiceError 409 if it exists, 400 if the product does not accept it."""
    try:
        added = await product.access.add(identity)
    except LabError as error:
        raise ServiceError(400, f"Parameter identity validation failed: {error}.") from None
    if not added:
        raise ServiceError(409, f"Identity {shown_name(identity)} already exists")


def missing_identity(identity: str) -> ServiceError:
    """Return the error for an identity that the product does not have."""
    return ServiceError(404, f"Identity {shown_name(identity)} Not Found")
