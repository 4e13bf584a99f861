"""Products: their settings, which may change while the lab runs, and their domains.

What scripts change of a product is stored, and goes over its settings until a reset, or until a cell changes the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

from labkit.core.errors import SettingsError
from labkit.devices.access import DeviceAccess
from labkit.settings import ProductSettings, build
from labkit.settings.products import as_text, value_error

RESOURCE = "resources."  # before an alias, in the key of a change


class PlatformProduct:
    """A product at its own domain (document 1, What the service does, 1).

    own: settings of lab.yaml, handles and cells; settings: these, with what solutions give where they leave it out, and
    with what scripts changed; initial: by alias, the values that are set from the start; changes: of scripts, by key.
    """

    def __init__(self, settings: ProductSettings, domain: str, changes: dict[str, Any] | None = None) -> None:
        """changes: changed in place, so that another product of this id has them, too."""
        self.domain = domain
        self.changes: dict[str, Any] = {} if changes is None else changes
        self._use(settings, {}, {}, dict(self.changes))
        self.access: DeviceAccess  # set with the first of its devices' data, in `Devices.add`

    @property
    def id(self) -> str:
        """The product's id, from its settings."""
        return self.settings.id

    def change(self, **values: object) -> ProductSettings:
        """Change settings while the lab runs. Raises SettingsError and changes nothing where one is wrong."""
        for fixed in ("id", "domain"):
            if fixed in values:
                raise SettingsError(f"{fixed}: cannot change while the lab runs")
        own = {**self.own.model_dump(exclude_unset=True), **values}
        changes = {key: each for key, each in self.changes.items() if key.partition(".")[0] not in values}
        self.replace(build(ProductSettings, own, f"product {self.id!r}"), changes)
        return self.settings

    def replace(self, own: ProductSettings, changes: Mapping[str, Any] | None = None) -> None:
        """Replace its own settings, and what scripts changed if that is given. Raises SettingsError as `change`."""
        self._use(own, self._described, self._given, self.changes if changes is None else changes)

    async def change_by_script(self, changes: Mapping[str, Any]) -> None:
        """Change settings by key, and store that: `provisioning`, or `resources.<alias>`, None to remove it.

        Raises SettingsError, and changes nothing, where one is wrong.
        """
        whole = {**self.changes, **changes}
        self._merged(self.own, self._described, self._given, whole)
        await self.access.store_changes(changes)
        self.replace(self.own, whole)

    def adopt_resources(self, resources: Mapping[str, Any]) -> None:
        """Add resources that a solution's folder describes, unless the product has some of its own.

        resources: by alias. Raises SettingsError, and changes nothing, where one is wrong.
        """
        self._use(self.own, {**self._described, **resources}, self._given, self.changes)

    def adopt(self, solution: str, settings: Mapping[str, Any] | None) -> None:
        """Use settings that a solution gives, in place of its earlier ones, where the product's own leave them out.

        None: it gives none any more. Raises SettingsError, and changes nothing, where one is wrong.
        """
        given = {name: each for name, each in self._given.items() if name != solution}
        if settings is not None:
            given[solution] = settings
        self._use(self.own, self._described, given, self.changes)

    def _use(
        self,
        own: ProductSettings,
        described: Mapping[str, Any],
        given: Mapping[str, Mapping[str, Any]],
        changes: Mapping[str, Any],
    ) -> None:
        """Merge settings. described: resources in solutions' specs; given: by solution; changes: of scripts."""
        self.settings = self._merged(own, described, given, changes)
        self.own, self._described, self._given = own, described, given
        if changes is not self.changes:
            self.changes.clear()
            self.changes.update(changes)
        self.initial: Mapping[str, str] = {
            alias: as_text(each.initial)
            for alias, each in self.settings.resources.items()
            if each.settable and each.initial is not None
        }

    @staticmethod
    def _merged(
        own: ProductSettings,
        described: Mapping[str, Any],
        given: Mapping[str, Mapping[str, Any]],
        changes: Mapping[str, Any],
    ) -> ProductSettings:
        """Return settings as `_use` merges them. Raises SettingsError where one is wrong."""
        found: dict[str, Any] = {"resources": described} if described else {}
        for settings in given.values():
            resources = {**found.get("resources", {}), **settings.get("resources", {})}
            found |= {**settings, "resources": resources}
        name = f"product {own.id!r}"
        merged = build(ProductSettings, found | own.model_dump(exclude_unset=True), name) if found else own
        if not changes:
            return merged
        values = merged.model_dump()
        for key, value in changes.items():
            if not key.startswith(RESOURCE):
                values[key] = value
            elif value is None:
                values["resources"].pop(key.removeprefix(RESOURCE), None)
            else:
                values["resources"][key.removeprefix(RESOURCE)] = value
        return build(ProductSettings, values, name)

    def provisions(self, address: str) -> bool:
        """Return whether devices may provision from an IP address."""
        networks = self.settings.provisioning_from
        return networks is None or any(ip_address(address) in each for each in networks)

    def with_initial(self, aliases: Iterable[str], found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return (alias, value) of each alias that has a value in `found`, or else an initial one."""
        values = {**self.initial, **dict(found)}
        return [(alias, values[alias]) for alias in aliases if alias in values]

    def accepts_all(self, alias: str) -> bool:
        """Return whether the resource `alias` accepts every value."""
        resource = self.settings.resources[alias]
        return resource.format == "string" and not resource.allowed

    def value_error(self, alias: str, value: str) -> str | None:
        """Return why `value` is invalid for the resource `alias`; None for a valid one."""
        resource = self.settings.resources[alias]
        if resource.format == "string" and not resource.allowed:
            return None
        wrong = value_error(resource, value)
        return None if wrong is None else f"{alias}: {wrong}"
