"""Registry of a lab's identity providers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import cast

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import UnknownError, unknown
from labkit.providers.social.provider import IdentityProviderSite, ProviderState
from labkit.settings import SOCIAL, SocialSettings


class SocialProviders(Component):
    """All identity providers: the built-in ones and those of the settings."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._providers = cast(
            "Directory[IdentityProviderSite]", context.providers
        )  # only this class adds to it
        for name in SOCIAL:
            self.add(_built_in(name))

    state_type = list[ProviderState]

    def snapshot(self) -> list[ProviderState]:
        return [each.snapshot() for each in self]

    async def restore(self, state: list[ProviderState]) -> None:
        """Take over all providers; those that the other lab does not have are removed."""
        for each in self._providers.names():
            self._context.hosts.remove(self._providers.remove(each).host)
        for given in state:
            self.add(given.settings).restore(given)

    def add(self, settings: SocialSettings) -> IdentityProviderSite:
        """Add a provider, or extend the existing one. Raises SettingsError as `extend`, or if the host is in use."""
        known = self._providers.find(settings.name)
        if known is not None:
            known.extend(settings)
            return known
        made = IdentityProviderSite(settings, self._context)
        self._context.hosts.add(made)
        self._providers.add(made.name, made)
        return made

    def get(self, name: str) -> IdentityProviderSite:
        """Return the provider with this name, in any letter case. Raises UnknownError, listing the existing names."""
        if name not in self:
            raise UnknownError(unknown("provider", name, self._providers.names()))
        return self._providers.get(name.lower())

    async def listening(self) -> None:
        """Add the providers of the settings, once the port, a part of their applications' URLs, is known."""
        for each in self._context.settings.providers.social:
            self.add(each)

    async def resume(self) -> None:
        """Register the applications again, since the port in their URLs has changed."""
        for provider in self:
            provider.register_all()

    async def clear(self) -> None:
        """Reset every provider to its settings."""
        for provider in self:
            provider.clear()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._providers

    def __iter__(self) -> Iterator[IdentityProviderSite]:
        return iter(self._providers)


@cache
def _built_in(name: str) -> SocialSettings:
    return SocialSettings(name=name)
