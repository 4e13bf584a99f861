"""The settings that a running platform works by, and their change to those of an edited lab.yaml."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from labkit.control.faults import FaultsControl
from labkit.control.products import ProductsControl
from labkit.control.providers import ProvidersControl
from labkit.core.errors import LabkitError
from labkit.platform import Platform
from labkit.settings import LabSettings, ProductSettings, SocialSettings, SolutionSettings

RESTART = "its new value needs a restart"


@dataclass
class Notes:
    """Notes on one look at the files. done: what was changed; problems: what was not, each by its subject."""

    done: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def restart(self, key: str) -> None:
        """Note a setting that changes with a restart only."""
        self.problems[key] = RESTART

    def lines(self, before: Notes) -> list[str]:
        """Return lines about these notes, without the problems that the notes before them have said."""
        said = [f"{subject}: {text}" for subject, text in self.done.items()]
        said += [
            f"{subject}: {text}"
            for subject, text in self.problems.items()
            if before.problems.get(subject) != text
        ]
        gone = before.problems.keys() - self.problems.keys() - self.done.keys()
        return [*said, *(f"{subject}: is in order again" for subject in before.problems if subject in gone)]


S = TypeVar("S", ProductSettings, SolutionSettings)

# Sections that can change while the platform runs, at least in parts.
CHANGEABLE = frozenset({"products", "solutions", "faults"})


class RunningSettings:
    """The settings that a running platform works by. A new one that needs a restart is not among them."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._products = ProductsControl(platform)
        self._providers = ProvidersControl(platform)
        self._faults = FaultsControl(platform)
        self.settings = platform.context.settings

    async def change(self, new: LabSettings, notes: Notes) -> None:
        """Change the platform to new settings as far as it can while it runs. notes: where each change is noted.

        Each product, solution and provider changes on its own: where its new settings are wrong, its old ones stay.
        """
        products = await self._change_each(
            "product", self.settings.products, new.products, self._put_product, notes
        )
        for id in {each.id for each in products} - {each.id for each in new.products}:
            notes.problems[f"products.{id}"] = "is removed with a restart only"
        solutions = await self._change_each(
            "solution", self.settings.solutions, new.solutions, self._put_solution, notes
        )
        solutions = await self._remove_solutions(solutions, new.solutions, notes)
        self.settings = self.settings.model_copy(update={"products": products, "solutions": solutions})
        await self._change_social(new.providers.social, notes)
        await self._change_faults(new, notes)
        for key in differing(self.settings, new):
            if key.partition(".")[0] not in CHANGEABLE:
                notes.restart(key)

    async def _change_each(
        self,
        kind: str,
        present: Iterable[S],
        new: Iterable[S],
        put: Callable[[S], Awaitable[None]],
        notes: Notes,
    ) -> tuple[S, ...]:
        """Add and change products or solutions. Returns the settings that they have then."""
        running = {each.id: each for each in present}
        for each in new:
            before = running.get(each.id)
            chosen = each
            if before is not None and each.domain != before.domain:
                notes.restart(f"{kind}s.{each.id}.domain")
                chosen = each.model_copy(update={"domain": before.domain})
            if chosen == before:
                continue
            try:
                await put(chosen)
            except LabkitError as error:
                notes.problems[f"{kind} {each.id}"] = (
                    f"{error}; {'the old one stays' if before else 'not added'}"
                )
                continue
            running[each.id] = chosen
            notes.done[f"{kind} {each.id}"] = "is added" if before is None else _taken_over(before, chosen)
        return tuple(running.values())

    async def _put_product(self, settings: ProductSettings) -> None:
        await self._products.ensure(settings, replace=True)

    async def _put_solution(self, settings: SolutionSettings) -> None:
        if settings.id in self._platform.context.solutions:
            await self._platform.solutions.replace(settings, keep=True)
        else:
            await self._platform.solutions.add(settings)

    async def _remove_solutions(
        self, present: tuple[SolutionSettings, ...], new: Iterable[SolutionSettings], notes: Notes
    ) -> tuple[SolutionSettings, ...]:
        """Remove the solutions that are not among the new ones. Returns the others."""
        left = {each.id for each in new}
        for each in present:
            if each.id not in left:
                await self._platform.solutions.remove(each.id)
                notes.done[f"solution {each.id}"] = "is removed"
        return tuple(each for each in present if each.id in left)

    async def _change_social(self, new: Iterable[SocialSettings], notes: Notes) -> None:
        """Add people and applications to identity providers; whatever else is new needs a restart."""
        before = {each.name: each for each in self.settings.providers.social}
        running: dict[str, SocialSettings] = {}  # in the order of the new ones
        for each in new:
            if each.name in before:
                running[each.name] = before[each.name]
            if each == running.get(each.name) or not _extends(running.get(each.name), each):
                continue
            try:
                await self._providers.add(each)
            except LabkitError as error:
                notes.problems[f"provider {each.name}"] = str(error)
                continue
            running[each.name] = each
            notes.done[f"provider {each.name}"] = "takes over: people, applications"
        social = tuple({**running, **before, **running}.values())
        providers = self.settings.providers.model_copy(update={"social": social})
        self.settings = self.settings.model_copy(update={"providers": providers})

    async def _change_faults(self, new: LabSettings, notes: Notes) -> None:
        if new.faults == self.settings.faults:
            return
        try:
            self._platform.context.faults.configure(new.faults)
        except LabkitError as error:
            notes.problems["faults"] = f"{error}; the old ones stay"
        else:
            self.settings = self.settings.model_copy(update={"faults": new.faults})
            added = [each for each in await self._faults.all() if each.origin == "settings"]
            warnings = [text for each in added for text in each.warnings]
            notes.done["faults"] = "; ".join([f"there are {len(new.faults)} in lab.yaml now", *warnings])


def _taken_over(before: BaseModel, new: BaseModel) -> str:
    """Return the keys that have changed, and whether some of what they had before stays."""
    stays = isinstance(before, ProductSettings) and any(
        set(getattr(before, name)) - set(getattr(new, name)) for name in ("identities", "content")
    )
    keys = ", ".join(differing(before, new))
    return f"takes over: {keys}{'; what was removed stays until a restart' if stays else ''}"


def _extends(before: SocialSettings | None, new: SocialSettings) -> bool:
    """Return whether new settings of a provider only have more people and applications than it had before."""
    if before is None:
        return True
    if not all(each in new.people for each in before.people):
        return False
    if not all(each in new.applications for each in before.applications):
        return False
    grown = {"people": new.people, "applications": new.applications}
    return before.model_copy(update=grown) == new


def differing(before: BaseModel, new: BaseModel, where: str = "") -> Iterator[str]:
    """Yield the keys whose values differ in two settings of one type: `guard.header`."""
    for name in type(before).model_fields:
        old, other = getattr(before, name), getattr(new, name)
        if old == other:
            continue
        if isinstance(old, BaseModel) and type(old) is type(other):
            yield from differing(old, other, f"{where}{name}.")
        else:
            yield f"{where}{name}"
