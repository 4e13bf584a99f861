"""Eight stories with one planted bug each, of kinds found in the field, and a mended twin of each.

Each module has `tell(lab, draw, mended=…, harm=…)`, whose docstring has the promise and the kinds of faults under which
it holds, and two stories made of it, named as the module and with `_mended` behind that. `harm` is called with the lab
and the fleet, if there is one, before the fleet starts: tests inject their faults there. Without faults, both stories
keep the promise.
"""

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
