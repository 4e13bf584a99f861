"""Code mutants of the configuration of services, for faults that no fault row can express."""

from __future__ import annotations

from typing import Any

from labkit.conformance.mutant import patch


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
