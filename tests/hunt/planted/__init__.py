"""Eight stories with one planted bug each, of kinds found in the field, and a mended twin of each.

Each module has `PROMISE`, with the kinds of faults under which an honest solution keeps it, and `tell(lab, draw,
mended=…, harm=…)`, whose docstring says why. Two stories are made of these, named as the module and with `_mended`
behind that. `harm` is called with the lab and the fleet, if there is one, before the fleet starts: tests inject their
faults there. Without faults, both stories keep the promise.
"""

from labkit.hunt import Story
from tests.hunt.planted import (
    doubled_event,
    endless_retry,
    expiry_race,
    late_subscription,
    lost_token,
    lost_update,
    quota_before_refusal,
    wall_time_cursor,
)

PLANTED = {
    module.__name__.rpartition(".")[2]: module
    for module in (
        doubled_event,
        endless_retry,
        expiry_race,
        late_subscription,
        lost_token,
        lost_update,
        quota_before_refusal,
        wall_time_cursor,
    )
}


def bug_of(name: str) -> Story:
    """Return the story with the bug."""
    found: Story = getattr(PLANTED[name], name)
    return found


def twin_of(name: str) -> Story:
    """Return the mended story."""
    found: Story = getattr(PLANTED[name], f"{name}_mended")
    return found
