"""Sixteen stories with one planted bug each, of kinds found in the field, and a mended twin of each.

A docstring says under which faults an honest solution keeps the story's promise, and why. `mended` tells the story
without its bug. `harm` is called with the lab and the fleet, if there is one, before the fleet starts: tests inject
their faults there. Without faults, both keep the promise.
"""

from labkit import Lab
from labkit.hunt import Draw, Story
from tests.hunt.planted import large_faults
from tests.hunt.planted.doubled_event import doubled_event
from tests.hunt.planted.endless_retry import endless_retry
from tests.hunt.planted.expiry_race import expiry_race
from tests.hunt.planted.late_subscription import late_subscription
from tests.hunt.planted.lost_token import lost_token
from tests.hunt.planted.lost_update import lost_update
from tests.hunt.planted.quota_before_refusal import quota_before_refusal
from tests.hunt.planted.wall_time_cursor import wall_time_cursor

PLANTED: dict[str, Story] = {
    each.name: each
    for each in (
        *(doubled_event, endless_retry, expiry_race, late_subscription),
        *(lost_token, lost_update, quota_before_refusal, wall_time_cursor),
        *large_faults.STORIES,
    )
}
WILD = ("wall_time_schedule",)  # needs a clock that is wrong by hours; `rough` finds all others


def twin_of(name: str) -> Story:
    """Return the mended story."""
    bug = PLANTED[name]

    def twin(lab: Lab, draw: Draw) -> None:
        bug(lab, draw, mended=True)

    return Story(twin, {}, bug.promises)
