"""Stories, and plays of them with values drawn from a seed: `from labkit.hunt import play, story`.

draw       values that a story draws
story      `@story`, and `play`, which plays one future of a story
sweep      `sweep`, which plays a story for each combination of parameters and each seed
comparing  `compare`, which puts two runs or two sets of plays side by side
workers    `plays_over`, which calls a function with many items in several processes or on a dask cluster
"""

from labkit.hunt.comparing import Comparison, compare
from labkit.hunt.draw import Draw
from labkit.hunt.story import Played, Story, play, story
from labkit.hunt.sweep import Sweep, sweep

__all__ = ["Comparison", "Draw", "Played", "Story", "Sweep", "compare", "play", "story", "sweep"]
