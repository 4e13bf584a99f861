"""Results of a look at edited files: changes that were made, and problems."""

from __future__ import annotations

from dataclasses import dataclass, field

RESTART = "its new value needs a restart"


@dataclass
class Notes:
    """Notes on one look at the files. done: what was changed; problems: what was not, each by its subject."""

    done: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)

    def restart(self, key: str) -> None:
        """Note a setting that changes with a restart only."""
        self.problems[key] = RESTART

    def lines(self, before: Notes) -> list[str]:
        """Return lines about these notes, without the problems that the notes before them have said."""
        said = [f"{subject}: {text}" for subject, text in self.done.items()]
        said += [
            f"{subject}: {text}"
            for subject, text in self.problems.items()
            if before.problems.get(subject) != text
        ]
        gone = before.problems.keys() - self.problems.keys() - self.done.keys()
        return [*said, *(f"{subject}: is in order again" for subject in before.problems if subject in gone)]
