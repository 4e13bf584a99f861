"""The page of a lab in a browser: its link, and the listener of a lab in this process."""

from __future__ import annotations

from contextlib import AsyncExitStack
from html import escape
from typing import TYPE_CHECKING

from labkit.control.control import Control, LabOperations
from labkit.control.over_http.remote import RemoteControl

if TYPE_CHECKING:
    from labkit.control.over_http.listener import ControlAddress


class PageLink(str):
    """URL of a lab's page, which works once."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f'<a href="{escape(self)}" target="_blank" rel="noopener noreferrer">The page of this lab</a>'


class PageServer:
    """Links to the page of a lab. That of a lab in this process listens from the first one until `close`."""

    def __init__(self, control: LabOperations) -> None:
        self._control = control
        self._listening = AsyncExitStack()
        self._address: ControlAddress | None = None

    async def link(self) -> str:
        """Return a new link."""
        if isinstance(self._control, RemoteControl):
            return await self._control.page()
        if self._address is None:
            from labkit.control.over_http.listener import (
                page_listener,
            )  # a server, which most labs need not import

            assert isinstance(self._control, Control)
            self._address = await self._listening.enter_async_context(page_listener(self._control))
        return self._address.page()

    async def close(self) -> None:
        """End the listener; the next link opens another one."""
        self._address = None
        await self._listening.aclose()
