"""Scripts that raise errors, exceed their limits, or reach outside their sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.conformance import device_client, expect
from labkit.conformance.check import check
from labkit.conformance.probe import PROBE, WITNESS, Probe, decoded
from labkit.conformance.target import Target

if TYPE_CHECKING:
    import httpx

    from labkit.control.journal import Entry

FAILING = ("/scripts/raises", "/scripts/throws")
RUNAWAY = ("/scripts/endless", "/scripts/stubborn", "/scripts/hungry")


@check("SOL-ERR-1", "a script that raises is answered with a server error")
async def raises(target: Target) -> None:
    probe = Probe(target)
    for path in FAILING:
        _server_error(await probe.request("GET", path))


@check("SOL-ERR-2", "that is 500 with an error in JSON, and the next request is served")
async def message(target: Target) -> None:
    probe = Probe(target)
    for path in FAILING:
        response = expect.status(await probe.request("GET", path), 500)
        error = decoded(response).get("error")
        expect.true("error is a text", isinstance(error, str) and error, error, response)
        expect.body(expect.status(await probe.request("GET", "/scripts/well"), 200), "well")


@check("SOL-ERR-2", "the details of an error are in the journal", needs={"journal"})
async def details(target: Target) -> None:
    response = expect.status(await Probe(target).request("GET", "/scripts/raises"), 500)
    records: list[Entry] = await target.in_lab(target.lab.journal.select, "script", PROBE)
    record, detail = records[-1], records[-1].detail or {}
    expect.equal(
        "the run's summary and status", (record.summary, record.status), ("GET /scripts/raises", 500)
    )
    expect.equal("the error in the journal", detail.get("error"), decoded(response).get("error"))
    expect.true("the error names the line", "endpoints/scripts.lua:3" in str(detail.get("error")), detail)
    expect.true("there is a trace", detail.get("trace"), detail)


@check("SOL-ERR-3", "a script that runs wild is stopped, and others are served")
async def wild(target: Target) -> None:
    probe, witness = Probe(target), Probe(target, WITNESS)
    device = await target.activated("token-open")
    for path in RUNAWAY:
        running = target.start(probe.request("GET", path))
        expect.body(expect.status(await witness.request("GET", "/scripts/well"), 200), "well")
        expect.status(await device_client.write(device, {"text": path}), 204)
        _server_error(await running)
        expect.body(expect.status(await probe.request("GET", "/scripts/well"), 200), "well")


@check("SOL-ERR-7", "a script that takes too long has another status than one that fails")
async def too_long(target: Target) -> None:
    probe = Probe(target)
    response = expect.status(await probe.request("GET", "/scripts/endless"), 504)
    error = decoded(response).get("error")
    expect.true("error is a text", isinstance(error, str) and error, error, response)
    for path in ("/scripts/hungry", *FAILING):
        expect.status(await probe.request("GET", path), 500)


@check("SOL-ERR-4", "a service or operation that does not exist gives an error, and the script runs on")
async def no_such_service(target: Target) -> None:
    probe = Probe(target)
    for service, operation in (("Nonsense", "get"), ("Keystore", "nonsense"), ("Keystore", "Get")):
        kind, result = await probe.call(service, operation, {"key": target.identity()})
        expect.equal("what the call gives", kind, "table", probe.last)
        given = {name: result.get(name) for name in ("type", "status")}
        probe.same("type and status", given, {"type": "QueryError", "status": 404})
        error = result.get("error")
        expect.true("error is a text", isinstance(error, str) and error, error, probe.last)


@check("SOL-ERR-6", "the journal has the arguments of calls to unknown operations", needs={"journal"})
async def arguments_of_nothing(target: Target) -> None:
    probe, secret, body = Probe(target), target.identity(), target.identity()
    service = "Telephony"
    given = {"To": "+15005550006", "message": {"body": body, "apiKey": secret}, "AuthToken": secret}
    await probe.call(service, "postMessage", given)
    await probe.call("Keystore", "postMessage", given)
    for each in (service, "Keystore"):
        written = await target.journaled_calls(f"{each}.postMessage")
        expect.true("the journal has the arguments", body in written, "nothing")
        expect.true(
            "the journal names all of them", "AuthToken" in written and "apiKey" in written, "nothing"
        )
        expect.true("the journal has no secret", secret not in written, "a secret")


@check("SOL-ERR-5", "of the outside scripts reach the time functions of os and getenv alone")
async def sandbox(target: Target) -> None:
    probe = Probe(target)
    found = await probe.ask("GET", "/scripts/sandbox")
    probe.same(
        "what is in reach", found, [f"os.{name}" for name in "clock date difftime getenv time".split()]
    )


def _server_error(response: httpx.Response) -> None:
    expect.true("status is 500 to 599", 500 <= response.status_code <= 599, response.status_code, response)
