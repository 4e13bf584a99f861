"""Operations of a lab in another process, with the attributes and the methods of Control."""

from __future__ import annotations

import asyncio
import inspect
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from functools import partialmethod
from pathlib import Path
from typing import Any, Self, TypeVar

from labkit.control.addresses import AddressesControl, Listening
from labkit.control.control import LabOperations, subjects
from labkit.control.following import Missed
from labkit.control.functions import FunctionsControl, LabFollower
from labkit.control.over_http.client import ControlClient
from labkit.control.over_http.operations import ControlOperation, operations
from labkit.control.over_http.remote_fleets import RemoteFleetRuns
from labkit.control.products import ProductChanges, ProductInfo, ProductsControl
from labkit.control.services import ServicesControl
from labkit.control.solutions import SolutionsControl
from labkit.control.uploads import SolutionFiles, read_content, read_folder
from labkit.core.coroutines import cancel
from labkit.core.errors import LabError, OwnProcessError
from labkit.settings import ProductSettings, SolutionSettings, build

M = TypeVar("M", ProductSettings, SolutionSettings)
T = TypeVar("T")


class RemoteControl(LabOperations):
    """The control operations of one lab in another process. client: stays open until `stop`."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self._leave: Callable[[], Awaitable[object]] | None = None  # ends a lab on demand
        for name, kind in subjects().items():
            setattr(self, name, _remote(name, kind, client))

    @classmethod
    async def connect(cls, url: str, token: str, ca_file: Path | None = None) -> Self:
        """Return the operations of the lab at a URL. Raises LabError if none answers, or if it refuses the token."""
        control = cls(ControlClient(url, token, ca_file))
        try:
            await control.lab.seed()
        except BaseException:
            await control.stop()
            raise
        return control

    @classmethod
    async def start(
        cls, url: str, token: str, ca_file: Path | None = None, *, seed: int | None = None
    ) -> Self:
        """Start a lab on demand at the served lab at a URL, and return its operations. `stop` ends it.

        Raises LabError if none answers, or if it starts no labs; FullError.
        """
        async with AsyncExitStack() as stack:
            starter = cls(ControlClient(url, token, ca_file))
            stack.push_async_callback(starter.stop)
            started = await starter.labs.start(seed=seed)
            stack.push_async_callback(starter.labs.end, started.id)
            control = await cls.connect(started.url, started.token)
            holding = asyncio.create_task(starter._hold(started.id))
            stack.push_async_callback(cancel, [holding])
            control._leave = stack.pop_all().aclose
        return control

    async def _hold(self, id: str) -> None:
        """Keep the lease of a lab on demand until this is cancelled, or the lab ends."""
        with suppress(LabError):  # its next request tells
            async for _ in self._client.follow(operations()["labs.follow"], id):
                pass

    async def page(self) -> str:
        """Return a new link to the lab's page, which works once."""
        return await self._client.page()

    async def stop(self) -> None:
        """Close the connections. The lab goes on, unless `start` has started it."""
        await self._client.close()
        if self._leave is not None:
            with suppress(LabError):  # it has ended already
                await self._leave()


class RemoteAddresses(AddressesControl):
    """Addresses as this process reaches them."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    async def listening(self) -> Listening:
        """Return the address at which this process reaches the lab."""
        found: Listening = await self._client.call(operations()["addresses.listening"])
        here: dict[str, str] = {} if self._client.ca_pem is None else {"ca_pem": self._client.ca_pem}
        if ipaddress.ip_address(found.host).is_unspecified:
            here["host"] = self._client.host
        return found.model_copy(update=here)


class RemoteProducts(ProductsControl):
    """Operations on products; their content files are read in this process and sent.

    Changed settings are checked here, so that errors are those of a lab in this process.
    """

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    async def _send(self, key: str, settings: ProductSettings, *replace: bool, **others: Any) -> Any:
        if settings.content and others.get("content") is None:
            others["content"] = await asyncio.to_thread(read_content, settings.id, settings.content)
            settings = _without(settings, "content")
        return await self._client.call(operations()[key], settings, *replace, **others)

    add = partialmethod(_send, "products.add")
    ensure = partialmethod(_send, "products.ensure")
    replace = partialmethod(_send, "products.replace")

    async def change(self, id: str, values: ProductChanges) -> ProductInfo:
        """Change settings of a product. Raises SettingsError, and changes nothing, if one is wrong."""
        built = build(ProductSettings, {"id": id, **values}, f"product {id!r}")
        checked = {name: getattr(built, name) for name in values}
        found: ProductInfo = await self._client.call(operations()["products.change"], id, checked)
        return found


class RemoteServices(ServicesControl):
    """Operations on services. There is no count of their changes."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    @property
    def revision(self) -> None:
        """None: see `count_changes`."""
        return None


class RemoteSolutions(SolutionsControl):
    """Operations on solutions. Their folders are read in this process and sent."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client
        self._folders: dict[str, tuple[Path, ...]] = {}  # of solutions that were added from here, by id

    async def _send_again(self, key: str, id: str, files: SolutionFiles | None = None) -> Any:
        """Send the files of a solution's folder again, if it was added from here; else the lab reads its own."""
        if files is None and id in self._folders:
            files = await asyncio.to_thread(read_folder, self._folders[id])
        return await self._client.call(operations()[key], id, files)

    reload = partialmethod(_send_again, "solutions.reload")
    check = partialmethod(_send_again, "solutions.check")

    async def _send(self, key: str, settings: SolutionSettings, *replace: bool, **others: Any) -> Any:
        paths = settings.path
        if paths and others.get("files") is None:
            others["files"] = await asyncio.to_thread(read_folder, paths)
            settings = _without(settings, "path")
        found = await self._client.call(operations()[key], settings, *replace, **others)
        if paths:
            self._folders[settings.id] = paths
        return found

    add = partialmethod(_send, "solutions.add")
    ensure = partialmethod(_send, "solutions.ensure")


class RemoteFunctions(FunctionsControl):
    """Observation of the lab. All other operations accept functions or objects, and are refused."""

    def __init__(self, client: ControlClient) -> None:
        self._client = client

    async def follow(self, follower: LabFollower) -> Callable[[], None]:
        """Call the functions of an observer: see FunctionsControl.follow. Ends with the connection."""
        events = await self._client.open(operations()["lab.follow"])

        async def read() -> None:
            with suppress(LabError):  # the dashboard stands still from then on
                async for event in events:
                    if isinstance(event, Missed):
                        continue
                    if event.record is not None:
                        follower.record(event.record)
                    elif event.mail is not None:
                        follower.mail(event.mail)
                    elif event.mark is not None:
                        follower.mark(event.mark)
                    elif event.reset:
                        follower.clear()

        task = asyncio.create_task(read())

        def stop() -> None:
            task.cancel()

        return stop


SPECIAL: Mapping[str, Callable[[ControlClient], Any]] = {
    "addresses": RemoteAddresses,
    "fleet_runs": RemoteFleetRuns,
    "functions": RemoteFunctions,
    "products": RemoteProducts,
    "services": RemoteServices,
    "solutions": RemoteSolutions,
}


def _without(settings: M, name: str) -> M:
    """Return settings without one of them, which is given in another way."""
    return type(settings)(
        **{each: getattr(settings, each) for each in settings.model_fields_set if each != name}
    )


def _remote(name: str, kind: type[T], client: ControlClient) -> T:
    """Return an instance of a subject's class whose methods call the lab in the other process."""
    base: Any = SPECIAL.get(name, kind)
    own = vars(base) if name in SPECIAL else {}
    methods = {
        each: _method(name, each, client)
        for each, _ in inspect.getmembers(kind, inspect.isfunction)
        if not each.startswith("_") and each not in own
    }
    made = type(f"Remote{kind.__name__}", (base,), methods)
    subject: T = made(client) if name in SPECIAL else object.__new__(made)
    return subject


def _method(subject: str, name: str, client: ControlClient) -> Callable[..., Any]:
    operation = operations().get(f"{subject}.{name}")
    if operation is None:
        return _refused(name)
    return _streamed(operation, client) if operation.streams else _called(operation, client)


def _called(operation: ControlOperation, client: ControlClient) -> Callable[..., Any]:
    async def call(self: object, *args: Any, **kwargs: Any) -> Any:
        return await client.call(operation, *args, **kwargs)

    return call


def _streamed(operation: ControlOperation, client: ControlClient) -> Callable[..., Any]:
    async def follow(self: object, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        return client.follow(operation, *args, **kwargs)

    return follow


def _refused(name: str) -> Callable[..., Any]:
    def refuse(self: object, *args: Any, **kwargs: Any) -> Any:
        raise OwnProcessError(
            f"{name}: takes Python functions or objects, which need the lab's own process: make it here with Lab(…)"
        )

    return refuse
