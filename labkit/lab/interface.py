"""The handles of a solution's published interface, and of its subscriptions to other solutions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from labkit.control.interface import PublishedInfo, SubscriptionInfo
from labkit.core.handle import Handle
from labkit.lab.runtime import Runtime
from labkit.lab.show import card, frame_of

if TYPE_CHECKING:
    import pandas

SUBSCRIPTION = (
    *("subscriber", "service", "parameters", "quota", "triggers"),
    *("calls_today", "calls_this_month"),
)


class PublishedService(Handle):
    """The published interface of a solution: its operations and events, and its subscribers."""

    def __init__(self, runtime: Runtime, info: PublishedInfo) -> None:
        self._runtime = runtime
        self.info = info

    @property
    def subscribers(self) -> pandas.DataFrame:
        """DataFrame of the subscriptions: service, parameters, quota, triggers, calls of today and of this month."""
        found = self._runtime.run(self._runtime.control.interface.subscribers, self.info.solution)
        return frame_of(found, SUBSCRIPTION, "subscriber")

    def __repr__(self) -> str:
        operations = ", ".join(self.info.operations) or "no operations"
        events = ", ".join(self.info.events) or "no events"
        return f"<{self.info.service}, published by {self.info.solution}: {operations}; {events}>"

    def _repr_html_(self) -> str:
        info = self.info
        return card(
            f"{info.service}, published by {info.solution}",
            {
                "name": info.name,
                "description": info.description,
                "operations": _described(info.operations),
                "events": _described(info.events),
                "parameters": _described(info.parameters),
                "for": ", ".join(info.whitelist) or "all businesses",
            },
        )


class Subscription(Handle):
    """A solution's subscription to the interface of another solution: `home.subscribe(lights)`."""

    def __init__(self, runtime: Runtime, info: SubscriptionInfo) -> None:
        self._runtime = runtime
        self._control = runtime.control.interface
        self.subscriber, self.publisher = info.subscriber, info.publisher

    @property
    def info(self) -> SubscriptionInfo:
        """The subscription as it is now, with its counts of calls."""
        return self._runtime.run(self._control.get, self.subscriber, self.publisher)

    @property
    def id(self) -> str:
        """Id of the subscription."""
        return self.info.id

    @property
    def service(self) -> str:
        """Name of the service at the subscriber."""
        return self.info.service

    @property
    def parameters(self) -> dict[str, Any]:
        """Configured values of the service, by name."""
        return self.info.parameters

    @property
    def quota(self) -> dict[str, int]:
        """Limits of the number of calls: calls_daily, calls_monthly."""
        return self.info.quota

    @property
    def triggers(self) -> dict[str, Any]:
        """Handlers of single events, by the event's name."""
        return self.info.triggers

    def update(
        self,
        *,
        parameters: Mapping[str, Any] | None = None,
        quota: Mapping[str, int | None] | None = None,
        triggers: Mapping[str, Any] | None = None,
        script_key: str | None = None,
    ) -> Self:
        """Change the given entries, and notify the publisher; None removes a quota or trigger. Other entries stay.

        parameters, quota, triggers, script_key: as of `Solution.subscribe`.
        """
        changes = (parameters, quota, triggers, script_key)
        self._runtime.run(self._control.update, self.subscriber, self.publisher, *changes)
        return self

    def remove(self) -> None:
        """Remove the subscription with its service at the subscriber, and notify the publisher."""
        self._runtime.run(self._control.remove, self.subscriber, self.publisher)

    def __repr__(self) -> str:
        return f"<subscription of {self.subscriber} to {self.publisher}>"

    def _repr_html_(self) -> str:
        info = self.info
        return card(
            f"subscription of {self.subscriber} to {self.publisher}",
            {
                "service": info.service,
                "parameters": info.parameters,
                "quota": info.quota or "none",
                "triggers": info.triggers or "none",
                "calls": f"{info.calls_today} today, {info.calls_this_month} this month (UTC)",
            },
        )


def _described(entries: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({text})" if text else name for name, text in entries.items()) or "none"
