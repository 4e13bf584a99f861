"""All identity providers of a lab."""

from __future__ import annotations

from collections.abc import Iterator

from labkit.core.errors import LabError
from labkit.providers.social.provider import Provider, Surroundings
from labkit.settings import SOCIAL, SocialSettings


class Social:
    """The identity providers: those that are always there, and those that were added."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._providers = {name: Provider(SocialSettings(name=name), around) for name in SOCIAL}
        self._hosts = {provider.host: provider for provider in self._providers.values()}

    def add(self, settings: SocialSettings) -> Provider:
        """Add a provider, or add to one that is there. Raises SettingsError (Provider.extend)."""
        known = self._providers.get(settings.name)
        if known is not None:
            known.extend(settings)
            return known
        made = Provider(settings, self._around)
        self._providers[made.name] = self._hosts[made.host] = made
        return made

    def get(self, name: str) -> Provider:
        """The provider of this name, in any letter case. Raises LabError naming those that are there."""
        if name.lower() not in self._providers:
            raise LabError(f"no provider {name!r}, there are: {', '.join(self._providers)}")
        return self._providers[name.lower()]

    def at(self, host: str) -> Provider | None:
        """The provider at a host name (lower case, no port)."""
        return self._hosts.get(host)

    def clear(self) -> None:
        """Forget all but what the settings say."""
        for provider in self:
            provider.clear()

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._providers

    def __iter__(self) -> Iterator[Provider]:
        return iter(tuple(self._providers.values()))
