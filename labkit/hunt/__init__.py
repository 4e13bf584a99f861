"""Stories, plays of them with values drawn from a seed, and hunts for what breaks their promises.

story       `@story`
draw        values that a story draws; literals: those that can be written as Python
kinds       kinds of faults, and groups of them
promises    what must hold, and how a play is judged
faults      where faults can hit, how they are drawn, and how they are put into a lab
plays       one future each, from a seed, from bytes, or from a file
search      `hunt`: many plays, and the smallest that breaks a promise
workers     one function over many items, in processes or on a dask cluster
comparing   `sweep` over a grid of parameters, and `compare`
"""

from labkit.hunt.comparing.compare import Comparison, compare
from labkit.hunt.comparing.sweep import Sweep, sweep
from labkit.hunt.draw import Draw
from labkit.hunt.faults.drawn_faults import DrawnFault
from labkit.hunt.faults.menu import Menu
from labkit.hunt.plays.future import Played
from labkit.hunt.plays.loading import load_story
from labkit.hunt.plays.play import play
from labkit.hunt.plays.replaying import ReplayOutcome, replay
from labkit.hunt.promises.custom import always, eventually, never
from labkit.hunt.promises.invariants import at_most, conserved, monotone, never_twice, nothing_older, within
from labkit.hunt.promises.promise import Promise, Verdict
from labkit.hunt.promises.ready import (
    keeps_polling,
    no_script_failed,
    no_unexpected_status,
    nothing_doubled,
    nothing_lost,
    programs_run,
    quotas_kept,
    recovers_within,
    requests_bounded,
    seen_within,
)
from labkit.hunt.search.failure import HuntFailure
from labkit.hunt.search.hunt import hunt
from labkit.hunt.search.hunted import Hunt
from labkit.hunt.story import Story, story

__all__ = [
    "Comparison",
    "Draw",
    "DrawnFault",
    "Hunt",
    "HuntFailure",
    "Menu",
    "Played",
    "Promise",
    "ReplayOutcome",
    "Story",
    "Sweep",
    "Verdict",
    "always",
    "at_most",
    "compare",
    "conserved",
    "eventually",
    "hunt",
    "keeps_polling",
    "load_story",
    "monotone",
    "never",
    "never_twice",
    "no_script_failed",
    "no_unexpected_status",
    "nothing_doubled",
    "nothing_lost",
    "nothing_older",
    "play",
    "programs_run",
    "quotas_kept",
    "recovers_within",
    "replay",
    "requests_bounded",
    "seen_within",
    "story",
    "sweep",
    "within",
]
