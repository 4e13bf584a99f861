"""Checks of one's own: one passes, and one warns at the lab."""

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target

from .lengths import DIGITS


@check("ACME-CLOCK-1", "the time has ten digits")
async def ten_digits(target: Target) -> None:
    response = await target.client("token-open").request("GET", "/timestamp")
    expect.equal("number of digits", len(expect.status(response, 200).text), DIGITS, response)


@check("ACME-CLOCK-7", "the time has a header of Acme")
async def header(target: Target) -> None:
    response = await target.client("token-open").request("GET", "/timestamp")
    expect.header(response, "X-Acme", "yes")
