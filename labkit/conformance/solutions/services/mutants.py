"""Code mutants of the configuration of services, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from pydantic import Secret

from labkit.conformance.breaking import always, change_arguments
from labkit.conformance.mutant import patch
from labkit.solutions import scripted


@patch("SOL-SVC-5", "labkit.services.calls:Services.with_defaults")
def defaults_first(
    original: Any, self: Any, caller: Any, declared: Any, parameters: Any
) -> dict[str, object]:
    """configured values replace those that a call names"""
    defaults = original(self, caller, declared, {})
    return {**original(self, caller, declared, parameters), **defaults}


@patch("SOL-SVC-3", "labkit.providers.mail:Mailbox.receive")
def blind_copies_shown(original: Any, self: Any, **given: Any) -> None:
    """recipients of blind copies are shown to all recipients"""
    original(self, **{**given, "cc": (*given["cc"], *given["bcc"]), "bcc": ()})


credentials_anywhere = patch(
    "SOL-SVC-8",
    "labkit.services.http.targets:OutgoingRequest.without",
    "redirects to another host keep all headers",
)(lambda original, self, names: self)
names_ignored = patch(
    "SOL-SVC-12", "labkit.services.scripts.service:redacted", "the journal has all data of a trigger"
)(lambda original, value, depth=8: value)
query_instead_of_form = patch(
    "SOL-SVC-14", "labkit.services.http.service:request_of", "params are the query of every request"
)(
    lambda original, method, url, headers, body, json_, params: original(
        method, url, headers, Secret("") if body is None and json_ is None else body, json_, params
    )
)
never_midnight = patch("SOL-SVC-17", "labkit.services.email:utc_day", "mails of earlier days count, too")(
    always(0)
)
other_words = patch(
    "SOL-SVC-23", "labkit.services.operation:Operation.warnings", "arguments without an effect are not named"
)(always([]))
endless_day = patch("SOL-SVC-24", "labkit.services.config:call_usage", "calls are counted without their day")(
    lambda original, calls, today: original({today: sum(calls.values())}, today)
)
scripts_get_nil = patch("SOL-SVC-20", "labkit.services.calls:with_status", "nil stays nil with no_content")(
    change_arguments(result=lambda result: result or {})
)
services_in_sandbox = patch(
    "SOL-SVC-21", "labkit.solutions.scripted:Scripts.sandbox", "the script is one of the solution's"
)(lambda original, self, source, parameters, cpu: of_the_solution(self, source, parameters))


async def of_the_solution(scripts: Any, source: str, parameters: object) -> object:
    """Run a text among the scripts of the solution."""
    function = scripts._host.load(
        "sandbox", source, ("parameters",), preamble=scripted.ALONE.replace("setmetatable", "type")
    )
    return (await scripts._host.run(function, parameters)).value


always_bad_request = patch(
    "SOL-SVC-22", "labkit.services.http.service:HttpService.refusal", "invalid arguments are 400 in every lab"
)(lambda original, self, error: error)
