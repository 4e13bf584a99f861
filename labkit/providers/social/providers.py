"""All identity providers of a lab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from labkit.context import Context
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import LabError, unknown
from labkit.providers.social.pages import Pages
from labkit.providers.social.provider import IdentityProviderSite
from labkit.settings import SOCIAL, SocialSettings


class SocialProviders(Component):
    """The identity providers: those that are always there, and those that were added."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._pages = Pages()
        self._providers = cast("Directory[IdentityProviderSite]", context.providers)  # nobody else adds to it
        for name in SOCIAL:
            self.add(SocialSettings(name=name))

    def add(self, settings: SocialSettings) -> IdentityProviderSite:
        """Add a provider, or add to one that is there. Raises SettingsError (Provider.extend; a name is taken)."""
        known = self._providers.find(settings.name)
        if known is not None:
            known.extend(settings)
            return known
        made = IdentityProviderSite(settings, self._context, self._pages)
        self._context.hosts.add(made)
        self._providers.add(made.name, made)
        return made

    def get(self, name: str) -> IdentityProviderSite:
        """The provider of this name, in any letter case. Raises LabError naming those that are there."""
        if name not in self:
            raise LabError(unknown("provider", name, self._providers.names()))
        return self._providers.get(name.lower())

    async def listening(self) -> None:
        """Add those of the settings: the port is part of the URLs of their applications."""
        for each in self._context.settings.providers.social:
            self.add(each)

    async def resume(self) -> None:
        """The port is another one, so it is in the URLs of the applications."""
        for provider in self:
            provider.register_all()

    async def clear(self) -> None:
        """Forget all but what the settings say."""
        for provider in self:
            provider.clear()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._providers

    def __iter__(self) -> Iterator[IdentityProviderSite]:
        return iter(self._providers)
