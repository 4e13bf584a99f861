"""Labs for functions that run many times within a test, such as the examples of Hypothesis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from labkit.lab.lab import Lab

if TYPE_CHECKING:
    from labkit.lab.snapshot import Snapshot


class LabEach:
    """Fixture `lab_each`: a function that returns a lab in the state in which it began.

    seed: of its labs; last: the lab that was returned last.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._labs: dict[str, tuple[Lab, Snapshot]] = {}  # by the arguments, as text
        self.last: Lab | None = None

    def __call__(self, **arguments: Any) -> Lab:
        """Return the lab of these arguments, those of `labkit.Lab`, as it was when it was started.

        Products, solutions, data and the time of an earlier call are gone. Raises LabError as `Lab.restore` does.
        """
        key = repr(sorted(arguments.items()))
        if key not in self._labs:
            lab = Lab(**{"seed": self._seed, **arguments})
            self._labs[key] = lab, lab.snapshot()
        self.last, past = self._labs[key]
        self.last.restore(past)
        return self.last

    def close(self) -> None:
        """Close all labs."""
        for lab, _ in self._labs.values():
            lab.close()
