"""Stories, and plays of them with values drawn from a seed: `from labkit.hunt import play, story`.

kinds            kinds of faults, and groups of them
draw             values that a story draws
promise          promises, and verdicts on them
promises         `always`, `eventually`, `never`
ready_promises   promises that hold for most solutions and firmwares
reading          promises that are judged by the journal
story            `@story`
drawn_faults     faults of one play, put into its lab
future           one future of a story
play             `play`, which plays the future of a seed
"""

from labkit.hunt.draw import Draw
from labkit.hunt.drawn_faults import DrawnFault
from labkit.hunt.future import Played
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

__all__ = [
    "Draw",
    "DrawnFault",
    "Played",
    "Promise",
    "Story",
    "Verdict",
    "always",
    "eventually",
    "never",
    "no_script_failed",
    "no_unexpected_status",
    "nothing_doubled",
    "nothing_lost",
    "play",
    "quotas_kept",
    "recovers_within",
    "requests_bounded",
    "seen_within",
    "story",
]
