"""Stories, and plays of them with values drawn from a seed: `from labkit.hunt import play, story`.

draw   values that a story draws
story  `@story`, and `play`, which plays one future of a story
"""

from labkit.hunt.draw import Draw
from labkit.hunt.story import Played, Story, play, story

__all__ = ["Draw", "Played", "Story", "play", "story"]
