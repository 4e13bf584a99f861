"""Lab time: one clock over every lifetime of a lab, and the rules by which it moves.

Read this before you write a simulator.

**A clock and its timers** (clock.py). Every timestamp, lifetime and wait of the platform comes from one `Clock`. At
rate 1 it follows the host's clock; at rate 0 it is virtual: it stands still until `advance`, a fleet or a story moves
it, and then from one timer to the next, so that nothing that is due is passed over. A seeded lab has a virtual clock.

**Pending work** (activity.py, holding.py, inputs.py). Lab time may move only while nothing is under way. Whoever
begins work counts it in `Activity` (`begin`, `end`, or `with activity`): the edge a request, events their handlers, a
story's thread its own steps, the lab's loop the bytes that have arrived and are not read (inputs.py). What waits for
lab time itself, as a long poll or an answer that a fault delays, is counted in `Holding` instead, by its actor: it
must not hold the clock, since only the clock ends it. `Activity.idle` returns once nothing is pending; a
`Participant`, such as a running program (firmware), is asked then whether it has settled as well, and may begin new
work.

To hold lab time, count work; to let it go on while you wait, wait by a timer of the clock, and hand the count back
first. Work that ends must cause all its effects before its count is given back: the clock moves in the next step.

**Turns** (events.py, turns.py, branches.py, scheduled.py). What is concurrent may end in any order of real time.
While a virtual clock is driven, the handlers of events take turns instead, in the order in which their events were
raised. The calls that an async handler begins at once form branches of its turn and run one after the other;
scheduled.py knows when the handler's own code has nothing left to do before its next call.

**Schedulers.** `DeviceScheduler` (device_scheduler.py) is the interface through which a fleet's devices sleep and
take turns. On a running clock they simply sleep. `Simulated` (simulated.py) runs the devices of one fleet on a
virtual clock one at a time. `VirtualStoryScheduler` (story_scheduler.py) does so for a whole story: its threads
(story_threads.py), their waits (story_waits.py) and its fleets (story_fleet.py). story_work.py sees to it that each
piece of a story's work counts as pending exactly once while it passes between its thread and the platform.

**Why a seed replays.** Nothing else decides an order: instants come from timers; equal instants from the number of a
timer; equal turns from a hash of the seed, the instant, the actor and the number of its turns (`Order`), so that one
more device changes nobody else's order; handlers from the sequence of their events; chance from a stream of its own
for each actor (core/chance.py). Real time decides nothing that a client or a script can see. What is outside of this,
such as a thread that a handler starts and a real sleep, is not replayed, and the docstrings of handlers say so.

**A simulator of your own** in this process joins a scheduler (`join`, `begin`, `sleep_until`, `turn`, `leave`), or,
if it reacts to events only, uses `Clock.call_at` and counts its work. One in another process is a `Participant`.

**Guard time** (time_limits.py) protects the process, is real, and is paused while work waits for lab time or its
turn.

Elsewhere: the host's clocks (core/host_time.py), programs on lab time (firmware/scheduler.py), operations on the clock
(control/clock.py, lab/clock.py), delays of faults (faults/lanes.py, faults/awaited.py).
"""
