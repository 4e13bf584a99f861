"""An identity provider as plain data, for snapshots."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.providers.inbox import ReceivedRequest
from labkit.providers.social.forms import PendingForm
from labkit.providers.social.issued import ProtocolState
from labkit.providers.social.messages import Application
from labkit.settings import Person, SocialSettings


@dataclass(frozen=True, slots=True)
class ProviderState:
    """An identity provider as plain data. key: that signs ID tokens, in PEM; empty for none."""

    settings: SocialSettings
    people: list[Person]
    applications: list[Application]
    forms: list[PendingForm]
    consents: list[Person]
    inbox: list[ReceivedRequest]
    protocol: ProtocolState
    key: str = ""
