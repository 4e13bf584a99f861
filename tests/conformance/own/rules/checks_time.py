"""A check of one's own that fails at the lab."""

from labkit.conformance import expect
from labkit.conformance.check import check
from labkit.conformance.target import Target


@check("RULES-2", "the time is below that of 1980", needs={"clock"})
async def since_2020(target: Target) -> None:
    response = await target.client("token-open").request("GET", "/timestamp")
    expect.true("seconds since 2020", int(response.text) < 315_532_800, response.text, response)
