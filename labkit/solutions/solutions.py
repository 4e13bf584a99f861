"""Component that adds, replaces and removes the solutions of a lab."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar, cast

from labkit.context import Context
from labkit.core.code_lines import LineCounts, summed
from labkit.core.component import Component
from labkit.core.directory import Directory
from labkit.core.errors import SettingsError, unknown
from labkit.services.calls import Services
from labkit.services.operation import Caller
from labkit.settings import ProductSettings, SolutionSettings
from labkit.solutions import events
from labkit.solutions.checking.review import DEVICE2, findings, warnings_at_load
from labkit.solutions.delivery import Delivery
from labkit.solutions.folders import folder as folders
from labkit.solutions.folders.folder import SolutionFolder
from labkit.solutions.folders.folder_finding import FolderFinding
from labkit.solutions.folders.specs import ROLES, RoleEntry
from labkit.solutions.handlers import Handler, explain
from labkit.solutions.lua.program import Module
from labkit.solutions.parameters import check_parameters, layers
from labkit.solutions.site import SolutionSite
from labkit.solutions.solution import PlatformSolution, SolutionState
from labkit.solutions.web import web_settings
from labkit.solutions.web.request import Request
from labkit.solutions.workers import Workers


class LineCounter:
    """Counter of the lines that run in solutions' scripts, from `begin` on. It costs nothing before."""

    def __init__(self) -> None:
        self._counts: dict[
            str, list[Callable[[], LineCounts]]
        ] = {}  # of each Lua state, by the id of its solution

    def begin(self, solution: PlatformSolution) -> None:
        """Count the lines of a solution's scripts from now on."""
        solution.cover(self._counts.setdefault(solution.id, []))

    def replace(self, solution: PlatformSolution) -> None:
        """Count the lines of a new solution, too, if it replaces one whose lines are counted."""
        if solution.id in self._counts:
            self.begin(solution)

    def counts(self, solution: PlatformSolution) -> LineCounts:
        """Return how often each line ran, by the file's path below the solution's folder. No run may be active.

        Scripts of cells, which have no file there, keep the name that they have in messages.
        """
        files = {Module(name, "").file: script.file for name, script in solution.folder.modules.items()}
        found = (each() for each in self._counts.get(solution.id, ()))
        return summed({files.get(file, file): lines for file, lines in each.items()} for each in found)


AT_ONCE = 10  # solutions that are set up before others may run
TAKEN = 409  # status of createRole for a role that exists


async def provide_for(solution: PlatformSolution, context: Context, services: Services) -> None:
    """Add what a solution's folder describes and the lab lacks; warn of what is refused.

    Resources go to each of its products whose own settings name none; existing roles get the parameters that they lack.
    """
    if solution.folder.resources:
        for product in solution.products:
            try:
                context.products.get(product).adopt_resources(solution.folder.resources)
            except SettingsError as error:
                solution.warn(f"specs/resources.yaml: {error}")
    for role in solution.folder.roles:
        await _create(role, solution, services)


async def _create(role: RoleEntry, solution: PlatformSolution, services: Services) -> None:
    """Create a role, or add the parameters that it lacks."""
    caller = Caller(solution.id)
    given = {"role_id": role.role_id, "parameter": list(role.parameter)}
    made = await services.call(caller, "User", "createRole", given)
    if isinstance(made, dict) and made.get("status") == TAKEN and role.parameter:
        more = {"role_id": role.role_id, "body": list(role.parameter)}
        made = await services.call(caller, "User", "addRoleParam", more)
    if isinstance(made, dict) and made.get("status", TAKEN) != TAKEN:
        solution.warn(f"{ROLES}: role {role.role_id!r}: {made.get('message', made.get('error'))}")


T = TypeVar("T")


class Solutions(Component):
    """Solutions of a lab, which answer requests to their domains and handle events."""

    def __init__(
        self,
        context: Context,
        services: Services,
        make_product: Callable[[str], object],
        remove_product: Callable[[str], object],
    ) -> None:
        self._context = context
        self._make_product = make_product
        self._remove_product = remove_product
        self._made: set[str] = set()  # ids of products that solutions of the same ids have made
        self._services = services
        self._workers = Workers(while_waiting=context.turns.released)
        self._retiring: dict[
            asyncio.Task[None], PlatformSolution
        ] = {}  # replaced and removed solutions with runs that have not ended
        self._solutions = cast(
            "Directory[PlatformSolution]", context.solutions
        )  # only this component adds to it
        context.events.declare(events.EVENTS)
        self.line_counter = LineCounter()
        self.delivery = Delivery(self._solutions)
        context.events.set_receivers(self.delivery.receivers, self._solutions.values())

    state_type = list[SolutionState]

    def snapshot(self) -> list[SolutionState]:
        return [each.snapshot() for each in self]

    async def restore(self, state: list[SolutionState]) -> None:
        """Take over all solutions; their folders are read again. No script runs.

        Raises SettingsError for a solution whose folder or scripts are wrong.
        """
        for each in state:
            self._register(each.settings).restore(each)
        for solution in self:
            self._expect_products(solution)
            self._check(solution)
            self._configure(solution)
        await self._services.set_up(*(each.id for each in self))
        for solution, given in zip(self, state, strict=True):
            solution.warnings[:] = given.warnings

    async def remove_all(self) -> None:
        """Remove all solutions, and keep the data of their services. No script may run."""
        for each in tuple(self):
            self._unregister(each)
            each.close()
        self._made.clear()

    async def add(self, settings: SolutionSettings) -> PlatformSolution:
        """Add a solution, read its folder if it has one, and run the folder's initial scripts.

        Raises SettingsError, and adds nothing, if a product is unknown, the id or the domain is in use, the
        folder is wrong (with file and line), or a service refuses its configuration.
        """
        [solution] = await self.add_all([settings])
        return solution

    async def add_all(self, settings: Iterable[SolutionSettings]) -> list[PlatformSolution]:
        """Add several solutions, as `add` does; they may refer to each other in any order."""
        added: list[PlatformSolution] = []
        made = set(self._made)
        try:
            for each in settings:
                added += [self._register(each)]
            for solution in added:
                self._expect_products(solution)
            await self._set_up(added)
        except SettingsError:
            for solution in added:
                self._unregister(solution)
                solution.close()
            self._unmake(made)
            raise
        return added

    def problems(self, settings: Iterable[SolutionSettings]) -> Iterator[str]:
        """Add solutions to a platform that is never started, and yield what is wrong with them. No script runs."""
        added, registered = [], []
        for each in settings:
            folder, wrong = self._script_errors(each)
            yield from wrong
            if not wrong:
                try:
                    registered.append((self._register(each), False))
                    continue
                except SettingsError as error:
                    yield from (wrong := [*error.parts])
            try:  # without the scripts of a wrong folder, so that others may name the solution
                solution = self._register(each.model_copy(update={"path": ()}))
            except SettingsError as error:
                yield from (text for text in error.parts if text not in wrong)
            else:  # what else is in the folder is reviewed
                solution.settings, solution.folder = each, folder
                registered.append((solution, True))
        for solution, is_wrong in registered:
            try:
                self._expect_products(solution)
                self._check(solution)
                self._configure(solution)
                if not is_wrong:
                    added.append(solution)
            except SettingsError as error:
                yield from error.parts
        for solution in added:  # their subscriptions, once all publishers are there
            try:
                self._check(solution)
            except SettingsError as error:
                yield from error.parts

    def unadded(self, settings: SolutionSettings) -> tuple[PlatformSolution, list[str]]:
        """Return what `replace` would make of an existing solution, for a review, and what is wrong with it.

        Nothing changes, and no script runs. The caller closes the solution.
        """
        folder, wrong = self._script_errors(settings)
        solution = self._create(settings.model_copy(update={"path": ()}))
        solution.settings, solution.folder = settings, folder
        solution.products[:] = self.get(settings.id).products
        try:
            self._check(solution)
        except SettingsError as error:
            wrong += error.parts
        return solution, wrong

    def warnings(self) -> Iterator[str]:
        """Yield likely mistakes of the solutions: in their folders, in names of services, and in calls of scripts.

        Also what services have said of their configuration.
        """
        for solution in self:
            folder = folder_names(solution.settings) or solution.id
            mistakes = [str(each) for each in self.findings(solution) if each.level == "warning"]
            texts = dict.fromkeys([*mistakes, *solution.warnings])
            yield from (f"{folder}: {text}" for text in texts)

    def findings(self, solution: PlatformSolution) -> Iterator[FolderFinding]:
        """Yield what is probably wrong in a solution's folder and settings, and notes of what may be intended."""
        return findings(solution, self._context, self._services)

    def _script_errors(self, settings: SolutionSettings) -> tuple[SolutionFolder, list[str]]:
        """Return a solution's folder, empty if it is wrong, and an error for each script that does not compile."""
        try:
            folder = folders.read_partly(*settings.path)
        except SettingsError as error:
            return SolutionFolder(), [str(error)]
        empty = self._create(settings.model_copy(update={"path": ()}))
        wrong = [*folder.errors]
        for script in folder.scripts():
            try:
                empty.compile(script)
            except SettingsError as error:
                wrong.append(f"{folder_names(settings)}: {error}")
        empty.close()
        return folder, wrong

    def _register(self, settings: SolutionSettings) -> PlatformSolution:
        """Create a solution and register it and its site. Raises SettingsError."""
        solution = self._create(settings)
        with ExitStack() as undoing:
            undoing.callback(solution.close)
            self._solutions.add(solution.id, solution)
            undoing.callback(self._solutions.remove, solution.id)
            self._context.hosts.add(SolutionSite(solution, self._context, self._workers))
            undoing.callback(self._context.hosts.remove, solution.domain)
            self._link_own_product(solution)
            undoing.pop_all()
        return solution

    async def replace(self, settings: SolutionSettings, *, keep: bool = False) -> PlatformSolution:
        """Replace the solution with the id of the settings; the data in its services stays.

        Its folder is read again, and service parameters set by scripts are deleted. keep: take over the routes and
        handlers that cells added to the old solution. Runs of the old solution end with the old handlers. Raises
        SettingsError, and changes nothing, for a different domain and as `add` does.
        """
        other, made = self.get(settings.id), set(self._made)
        solution = self._create(settings)
        try:
            if solution.domain != other.domain:
                raise SettingsError(f"domain: cannot change while the lab runs, it is {other.domain}")
            if keep:
                solution.adopt(other)
            self._link_own_product(solution)
            self._expect_products(solution)
            self._check(solution)
            _close(_naming_folder(solution.prepare, solution))
        except SettingsError:
            solution.close()
            self._unmake(made)
            raise
        await self._services.forget_script_parameters(solution.id)
        self._solutions.replace(solution.id, solution)
        self._services.mistakes.forget(solution.id)
        self._context.hosts.remove(solution.domain)
        self._context.hosts.add(SolutionSite(solution, self._context, self._workers))
        self._context.configuration.pop(solution.id, None)
        self._retire(other)
        await self._set_up([solution])
        self._context.journal.marks.add("release", f"solution {solution.id}")
        return solution

    async def configure(self, id: str, service: str, parameters: Mapping[str, Any]) -> PlatformSolution:
        """Set parameters of a solution's service that override its folder and settings, also after a reload.

        They replace parameters set here before, and those set by scripts. Raises SettingsError, and changes nothing, if
        the service refuses them.
        """
        solution = self.get(id)
        before = solution.configured
        solution.configured = {**before, service: dict(parameters)}
        try:
            self._check(solution)
        except SettingsError:
            solution.configured = before
            raise
        await self._services.forget_script_parameters(id, service)
        self._context.configuration.setdefault(id, {}).pop(service, None)
        self._configure(solution, service)
        await self._services.set_up(id)
        return solution

    def _retire(self, solution: PlatformSolution) -> None:
        """Free the Lua states of a replaced or removed solution once its runs and events have ended."""

        async def close() -> None:
            await self._context.activity.ended()
            await solution.runs_ended()
            solution.close()

        retiring = asyncio.create_task(close())
        self._retiring[retiring] = solution
        retiring.add_done_callback(lambda task: self._retiring.pop(task, None))

    def _link_own_product(self, solution: PlatformSolution) -> None:
        """Link a solution that names no product to that of its own id, which its folder describes.

        Raises SettingsError where the id or the domain of a new product is in use.
        """
        described = [each for each in solution.folder.configured if each.service.lower() == DEVICE2]
        if solution.settings.products or not (described or solution.id in self._made):
            return
        if solution.id not in self._made:
            with_file = partial(self._make_product, solution.id)
            _naming(f"{folder_names(solution.settings)}: {described[0].file}", with_file)
            self._made.add(solution.id)
        elif not described:
            solution.warn(f"services/{DEVICE2}.yaml is gone: product {solution.id!r} stays until a restart")
        solution.products.append(solution.id)

    def _unmake(self, before: set[str]) -> None:
        """Remove the products that were made since."""
        for id in self._made - before:
            self._remove_product(id)
        self._made = before

    def _expect_products(self, solution: PlatformSolution) -> None:
        for product in solution.products:
            if product not in self._context.products:
                names = self._context.products.names()
                raise SettingsError(f"solutions.{solution.id}.products: {unknown('product', product, names)}")

    def products_of_others(self) -> list[ProductSettings]:
        """Return the settings of the products that no solution makes again when it is registered."""
        made = {each for each in self._made if each in self._solutions}
        return [each.own for each in self._context.products if each.id not in made]

    def _create(self, settings: SolutionSettings) -> PlatformSolution:
        folder = folders.read(*settings.path)
        try:
            solution = PlatformSolution(settings, self._context, self._services, self._workers, folder)
        except SettingsError as error:
            raise SettingsError(f"{folder_names(settings)}: {error}") from None
        self.line_counter.replace(solution)
        return solution

    async def remove(self, id: str) -> None:
        """Remove a solution; its runs end first. Raises UnknownError if there is none of this id."""
        solution = self.get(id)
        await self._services.forget(id)
        await self._services.forget_script_parameters(id)
        self._unregister(solution)
        self._retire(solution)

    def _unregister(self, solution: PlatformSolution) -> None:
        self._solutions.remove(solution.id)
        self._context.hosts.remove(solution.domain)
        self._context.configuration.pop(solution.id, None)
        self._services.configured(solution.id)

    def get(self, id: str) -> PlatformSolution:
        """Return a solution. Raises UnknownError, listing the existing ids, if there is none of this id."""
        return self._solutions.get(id)

    def __iter__(self) -> Iterator[PlatformSolution]:
        return iter(self._solutions)

    async def stop(self) -> None:
        """Wait for handlers that run in threads, end the threads, and free the Lua states."""
        if not await self._workers.close():
            self._context.journal.record(
                "error", "platform", "a Python handler runs on in its thread", status=500
            )
        for task in tuple(self._retiring):
            task.cancel()
        for solution in (*self, *self._retiring.values()):
            solution.close()

    async def suspend(self) -> None:
        """End the threads and free resources that are bound to the current thread."""
        self._workers.suspend()
        for solution in self:
            solution.suspend()

    async def crash(self) -> None:
        """Discard the globals of scripts, and make service calls of running Python handlers fail."""
        self._workers.crash()
        for solution in self:
            solution.crash()

    async def recover(self) -> None:
        """Restore the services' configuration: from settings, folders and cells, and as scripts stored it."""
        if not self._context.database.durable:
            return
        self._context.configuration.clear()
        for solution in self:
            self._configure(solution)
        await self._services.set_up(*(each.id for each in self))

    async def clear(self) -> None:
        """Delete the services' configuration and the state of scripts."""
        self._context.configuration.clear()
        for solution in self:
            solution.clear()

    async def refill(self) -> None:
        """Configure and set up all solutions again."""
        await self._set_up(list(self))

    async def _set_up(self, solutions: Sequence[PlatformSolution]) -> None:
        """Configure the services of solutions, and run their folders' scripts for the end of set-up.

        Raises SettingsError, before any script runs, if a script does not compile or a service refuses a parameter.
        """
        prepared = []
        for number, solution in enumerate(solutions, 1):
            if number % AT_ONCE == 0:
                await asyncio.sleep(0)
            self._check(solution)
            await self._drop_invalid_parameters(solution)
            self._configure(solution)
            prepared.append(_naming_folder(solution.prepare, solution))
        await self._services.set_up(*(each.id for each in solutions))
        for solution in solutions:
            for warning in warnings_at_load(
                solution, self._context, self._services
            ):  # knows the subscriptions
                solution.warn(warning)
            await provide_for(solution, self._context, self._services)
        for solution, scripts in zip(solutions, prepared, strict=True):
            await solution.initialise(scripts)
            for hook in solution.folder.hooks:
                await self._run_hook(solution, hook)

    def _check(self, solution: PlatformSolution) -> None:
        """Raise SettingsError if a service refuses its parameters from folder, settings and cells."""
        where = folder_names(solution.settings) or solution.id
        check_parameters(solution, self._services, where)

    async def _drop_invalid_parameters(self, solution: PlatformSolution) -> None:
        """Delete the parameters that scripts set if they are invalid with the present configuration."""
        if by_scripts := self._services.script_parameters(solution.id):
            try:
                self._services.check(solution, layers(solution, self._context.services.names(), by_scripts))
            except SettingsError as error:
                solution.warn(f"what scripts set of its services' parameters is forgotten: {error}")
                await self._services.forget_script_parameters(solution.id)

    def _configure(self, solution: PlatformSolution, only: str | None = None) -> None:
        """Set the parameters of a solution's services, or of one of them, from all layers."""
        current = self._context.configuration.setdefault(solution.id, {})
        by_scripts = self._services.script_parameters(solution.id)
        found = layers(solution, self._context.services.names(), by_scripts)
        for service, given in found.items():
            if only in (None, service):
                current.setdefault(service, {}).update(given)
        solution.web = web_settings.read(found)
        self._services.configured(solution.id)

    async def _run_hook(self, solution: PlatformSolution, path: str) -> None:
        """Run an older folder's GET route once, at the end of set-up, if it exists."""
        route = solution.routes.match("GET", path).route
        if route is None:
            return
        request = Request(
            self._context.url(solution.domain, path),
            route.path,
            "GET",
            timestamp=self._context.clock.micros(),
        )
        try:
            await solution.answer(route, request, None)
        except Exception as error:  # noqa: BLE001  a handler may raise any exception
            solution.warn(f"GET {path} at set-up: {explain(error)}")


def _naming_folder(function: Callable[[], T], solution: PlatformSolution) -> T:
    """Call a function and return its result; a SettingsError gets the solution's folders or id as a prefix."""
    return _naming(folder_names(solution.settings) or solution.id, function)


def _naming(where: str, function: Callable[[], T]) -> T:
    try:
        return function()
    except SettingsError as error:
        raise SettingsError(f"{where}: {error}") from None


def _close(prepared: Iterable[tuple[str, Handler]]) -> None:
    for _, handler in prepared:
        handler.close()


def folder_names(settings: SolutionSettings) -> str:
    """Return the folders of a solution as text, for errors; empty if it has none."""
    return ", ".join(map(str, settings.path))
