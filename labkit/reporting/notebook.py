"""What notebooks use: the verdict table of an area, and charts that can be compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Literal

from labkit.conformance import runner
from labkit.conformance.catalogue import load
from labkit.conformance.check import all_checks
from labkit.conformance.coverage import coverage, in_order
from labkit.conformance.target import LAB_YAML, Target
from labkit.reporting.verdicts import Verdicts

if TYPE_CHECKING:
    import pandas

LOCAL = "lab"  # the target that is a lab in the notebook's own process

COLOURS = {
    "passed": "#2e9e6b",
    "failed": "#d64545",
    "warned": "#d9982b",
    "skipped": "#9aa5b1",
    "broken": "#8e5bbf",
}
CYCLE = ("#3b7dd8", "#e08a2e", "#2e9e6b", "#8e5bbf", "#d64545", "#6b7785")


def verdicts(*prefixes: str, target: str = LOCAL, seed: int | None = None, only: str = "") -> Verdicts:
    """Run the checks of the requirements below the prefixes, all without one, and show what came of each.

    target: `lab` for a fresh lab in this process, else a platform elsewhere that serves the conformance
    lab.yaml: the line that `labkit serve --json` prints, or a file that holds it. seed: makes a run repeat.
    only: a further prefix, to leave all else out. Let the cell show what this returns: a report looks there.
    Raises UnknownRequirementError for a prefix that selects nothing, SettingsError for a target that is none.
    """
    catalogue = load()
    chosen = {each.id for each in catalogue.select(*prefixes)}
    if only:
        chosen &= {each.id for each in catalogue.select(only)}
    checks = [each for each in in_order(all_checks(), catalogue) if chosen.intersection(each.requirements)]
    if not checks:
        return Verdicts((), ", ".join(prefixes))
    with opened(target, seed) as platform:
        return Verdicts(runner.run(checks, platform, catalogue), ", ".join(prefixes))


@contextmanager
def opened(target: str = LOCAL, seed: int | None = None) -> Iterator[Target]:
    """The target that checks run against; a lab of its own is closed afterwards. Raises SettingsError."""
    if target != LOCAL:
        yield Target.remote(target, seed)
        return
    from labkit.lab.lab import Lab

    with Lab(seed, config=LAB_YAML) as lab:
        yield Target.local(lab, seed)


def coverage_frame(only: str = "") -> pandas.DataFrame:
    """How many requirements, checks and mutants each area has, below the prefix `only` if there is one."""
    import pandas

    whole = coverage()
    counted: dict[str, dict[str, set[str]]] = {}
    for each in whole.select(*([only] if only else [])):
        row = counted.setdefault(
            each.requirement.area, {name: set() for name in ("must", "choice", "checks", "mutants")}
        )
        row[each.requirement.level].add(each.id)
        row["checks"] |= {check.name for check in each.checks}
        row["mutants"] |= {mutant.name for mutant in each.mutants}
    frame = pandas.DataFrame(
        {area: {name: len(ids) for name, ids in row.items()} for area, row in counted.items()}
    )
    return frame.T.rename_axis("area")


# --- charts -------------------------------------------------------------------------------------------------


def plot_style() -> None:
    """Give this notebook's charts labkit's looks, and leave versions out of the pictures."""
    import matplotlib as mpl
    from IPython.core.getipython import get_ipython
    from matplotlib.rcsetup import cycler

    mpl.rcParams.update(
        {
            "figure.figsize": (8, 3.2),
            "figure.dpi": 110,
            "savefig.bbox": "tight",
            "axes.prop_cycle": cycler(color=CYCLE),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titleweight": "bold",
            "axes.grid": True,
            "axes.axisbelow": True,
            "grid.color": "#e4e7eb",
            "legend.frameon": False,
            "font.size": 10,
        }
    )
    shell = get_ipython()
    if shell is not None:  # the inline backend, not rcParams, decides how a picture is written
        shell.run_line_magic(
            "config",
            "InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight', 'metadata': {'Software': None}}",
        )


def chart(
    frame: pandas.DataFrame,
    *,
    title: str,
    kind: Literal["bar", "barh", "line", "step", "area"] = "bar",
    stacked: bool = False,
    colours: Sequence[str] | None = None,
    x: str = "",
    y: str = "",
) -> pandas.DataFrame:
    """Draw a frame, a series for each column, and return it for the cell to show.

    A picture differs from machine to machine, so tests compare the frame beside it instead. x, y: labels.
    """
    import matplotlib as mpl
    from IPython.display import Image, display
    from matplotlib.figure import Figure

    plot_style()
    width, height = mpl.rcParams["figure.figsize"]
    if kind == "barh":
        height = max(height, 0.26 * len(frame))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    if kind == "step":
        for column in frame:
            axes.step(frame.index, frame[column], where="post", label=column)
        axes.legend()
    else:
        frame.plot(kind=kind, stacked=stacked, color=colours, ax=axes, legend=len(frame.columns) > 1)
    axes.set(title=title, xlabel=x, ylabel=y)
    if kind == "barh":
        axes.invert_yaxis()
    picture = BytesIO()  # drawn here: a notebook shows a bare Figure only once pyplot has been imported
    figure.savefig(picture, format="png", bbox_inches="tight", metadata={"Software": None})
    display(Image(picture.getvalue()))
    return frame


def outcome_chart(shown: Verdicts, title: str = "Checks by part") -> pandas.DataFrame:
    """A bar for each part of the requirements, coloured by its checks' verdicts; returns the numbers."""
    frame = shown.by_part()
    if frame.empty:
        return frame
    frame = frame.loc[:, (frame != 0).any()]
    return chart(
        frame,
        title=title,
        kind="barh",
        stacked=True,
        colours=[COLOURS[str(each)] for each in frame],
        x="checks",
    )
