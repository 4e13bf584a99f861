"""Values of every kind for resources of every format, with every kind of rule for allowed values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

if TYPE_CHECKING:
    from labkit.lab.product import Product

RANGE = {"min": -10, "max": 11.5}
ANY = (1, 2.5, {"min": 10, "max": 11}, "on", "1.50", True)
RESOURCES: dict[str, tuple[str, tuple[Any, ...], str, str]] = {
    # format, allowed values, fitting values, and others, separated by spaces
    "text": ("string", (), "a  1 é😀 on ON 0x1 nan %", ""),
    "any": (
        "string",
        ANY,
        "1 1.0 01 1e0 2.5 2.50 10 10.5 11 on 1.50 true",
        "0 2 9.99 11.01 ON one nan inf false -1",
    ),
    "listed": ("string", ("a", "b c", ""), "a", "b c A aa"),
    "ranged": ("string", (RANGE,), "-10 0 -0 11.5 1e1 -1.0e+1", "-10.01 11.6 1e2 a nan inf -inf"),
    "truth": ("string", (True,), "true 1", "false 0 TRUE a 1.0"),
    "number": (
        "number",
        (),
        "0 -0 1 -2.5 1e300 .5 5. 007 +1 1E-5 123456789012345678901234567890",
        "a 1,5 nan inf -inf 1e309 0x1 1_0 ٣ --1 on",
    ),
    "float": ("float", (), "0 -2.5 1e3", "a nan inf true"),
    "counted": ("number", ANY, "1 1.0 2.5 10 11 1.50", "0 2 9.99 12 on true"),
    "bounded": ("number", (RANGE,), "-10 -10.0 0 11.5 11.50", "-10.001 11.501 1e2 a"),
    "whole": ("integer", (), "0 -0 7 -7 +3 007 1234567890123456789", "1.0 1.5 1e3 a 1_0 ٣ inf 0x1 - +"),
    "some": ("integer", ({"min": -2, "max": 2}, 5), "-2 -1 0 2 5 +2 02", "-3 3 4 6 2.0 a"),
    "flag": ("boolean", (), "true false 1 0", "True FALSE yes 2 a 1.0 01"),
    "never": ("boolean", (False,), "false 0", "true 1 a"),
    "ever": ("boolean", (True,), "true 1", "false 0 a"),
}


@check("DEV-ALIAS-6", "values of every kind at resources of every format and rule", needs={"settings"})
async def every_kind(target: Target) -> None:
    resources = {
        alias: {"format": format, "allowed": list(allowed)}
        for alias, (format, allowed, _, _) in RESOURCES.items()
    }
    product = await target.in_lab(target.lab.product, target.identity(), resources=resources)
    await target.in_lab(_every_kind, product)


def _every_kind(product: Product) -> None:
    device = product.device("d-1").activate()
    for alias, (format, allowed, fitting, others) in RESOURCES.items():
        what = f"{alias}, a {format} with {allowed}"
        for value in fitting.split(" "):
            response = device.request("POST", "/onep:v1/stack/alias", data={alias: value})
            expect.equal(f"status of {value!r} for {what}", response.status_code, 204, response)
            expect.equal(f"what is read of {what}", device.read(alias), {alias: value})
        kept = device.read(alias)
        for value in others.split(" ") if others else ():
            response = device.request("POST", "/onep:v1/stack/alias", data={alias: value})
            expect.equal(f"status of {value!r} for {what}", response.status_code, 400, response)
        expect.equal(f"what is read of {what}", device.read(alias), kept)
