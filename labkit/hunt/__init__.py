"""Stories, plays of them with values drawn from a seed, and hunts for what breaks their promises.

kinds            kinds of faults, and groups of them
draw             values that a story draws
promise          promises, and verdicts on them
promises         `always`, `eventually`, `never`
ready_promises   promises that hold for most solutions and firmwares
reading          promises that are judged by the journal
story            `@story`
drawn_faults     faults of one play, put into its lab
sites            places of a story that faults can hit
recipes          how each kind of fault is drawn
menu             menus of faults, from which a play draws
levels           menus by name: `calm`, `rough`, `wild`
future           one future of a story
given            values and faults of a play that are given instead of drawn
player           plays whose values bytes decide
play             `play`, which plays the future of a seed
breach           what a play broke
coverage         what plays showed, and edits of their bytes
rows             plays as data that workers return
course           order of the plays of a hunt
shrink           search for the smallest play that breaks a promise
written          plays as files, and `replay`
loading          stories of files and modules
hunt             `hunt`, which plays many futures
sweep            `sweep`, which plays a story for each combination of parameters and each seed
comparing        `compare`, which puts two runs or two sets of plays side by side
workers          `plays_over`, which calls a function with many items in several processes or on a dask cluster
"""

from labkit.hunt.comparing import Comparison, compare
from labkit.hunt.draw import Draw
from labkit.hunt.drawn_faults import DrawnFault
from labkit.hunt.failure import HuntFailure
from labkit.hunt.future import Played
from labkit.hunt.hunt import hunt
from labkit.hunt.hunted import Hunt
from labkit.hunt.loading import load_story
from labkit.hunt.menu import Menu
from labkit.hunt.play import play
from labkit.hunt.promise import Promise, Verdict
from labkit.hunt.promises import always, eventually, never
from labkit.hunt.ready_promises import (
    no_script_failed,
    no_unexpected_status,
    nothing_doubled,
    nothing_lost,
    quotas_kept,
    recovers_within,
    requests_bounded,
    seen_within,
)
from labkit.hunt.story import Story, story
from labkit.hunt.sweep import Sweep, sweep
from labkit.hunt.written import ReplayOutcome, replay

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
    "compare",
    "eventually",
    "hunt",
    "load_story",
    "never",
    "no_script_failed",
    "no_unexpected_status",
    "nothing_doubled",
    "nothing_lost",
    "play",
    "quotas_kept",
    "recovers_within",
    "replay",
    "requests_bounded",
    "seen_within",
    "story",
    "sweep",
]
