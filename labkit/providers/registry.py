"""List of a lab's providers. A new provider is a folder beside this file and an entry here."""

from __future__ import annotations

from collections.abc import Callable

from labkit.context import Context
from labkit.core.component import Component
from labkit.providers.messaging.provider import Messaging
from labkit.providers.social.providers import SocialProviders

PROVIDERS: tuple[Callable[[Context], Component], ...] = (
    SocialProviders,
    Messaging,
)
