"""Lifetimes of notifications that the channel's own payload sets."""

from __future__ import annotations

from labkit.conformance.check import check
from labkit.conformance.notifications import Notify
from labkit.conformance.notify.send.checks import HANDSETS, offline_binding, texts_once_online
from labkit.conformance.target import Target

# Ttl, time_to_live of the channel's own payload, seconds until the device is back, channels that get it then
WAITS: tuple[tuple[int, int, float, set[str]], ...] = (
    (60, 10, 9.5, {"fcm", "gcm", "apn"}),
    (60, 10, 10, {"apn"}),
    (60, 0, 0, {"apn"}),
    (10, 60, 10, {"fcm", "gcm"}),
    (0, 60, 59.5, {"fcm", "gcm"}),
    (10, 60, 60, set()),
)


@check(
    "NTF-TTL-6", "time_to_live of Fcm and Gcm counts for these, Ttl for others", needs={*HANDSETS, "clock"}
)
async def own_time_to_live(target: Target) -> None:
    notify = Notify(target)
    for seconds, own, later, got in WAITS:
        made = {kind: await offline_binding(notify, target, kind) for kind in ("apn", "fcm", "gcm")}
        await notify.send(
            Identity=[each["identity"] for each in made.values()],
            Body="a body",
            Ttl=seconds,
            Fcm={"time_to_live": own},
            Gcm={"time_to_live": own},
        )
        await target.settle()
        await target.advance(later)
        for kind, binding in made.items():
            texts = await texts_once_online(notify, target, binding)
            what = f"what {kind} gets after {later} s, with Ttl {seconds} and time_to_live {own}"
            notify.same(what, texts, ["a body"] if kind in got else [])
