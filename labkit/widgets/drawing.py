"""Drawing with matplotlib: labkit's style, round ticks, placement of legends, and PNG files without versions.

A picture differs from machine to machine, so a chart returns the frame that it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.dates import DateLocator
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

CYCLE = ("#3b7dd8", "#c9701a", "#2e9e6b", "#8e5bbf", "#d64545", "#6b7785")
DAY = 86_400
MOST_SAID = 8  # columns whose ranges an alternative text names one by one
GAP = 12  # pixels between a title and the legend beside it, at least
SHORT = 6  # seconds: spans up to this length have ticks within a second
HOURS = 3  # hours: spans up to this length have ticks within an hour
FONT = "DejaVu Sans"
OTHER_FONTS = (  # for names in scripts that FONT lacks
    *("Noto Sans CJK JP", "Noto Sans CJK SC", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari"),
    *("Noto Sans Thai", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Hiragino Sans"),
    *("PingFang SC", "Apple SD Gothic Neo", "Geeza Pro", "Arial Unicode MS", "Microsoft YaHei", "Yu Gothic"),
    *("Malgun Gothic", "Segoe UI", "Nirmala UI"),
)
STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1200, 1800)  # seconds between two ticks


def plot_style() -> None:
    """Apply labkit's style to this notebook's charts, and leave versions out of the pictures."""
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
            "font.family": list(fonts()),
        }
    )
    shell = get_ipython()
    if shell is not None:  # the inline backend, not rcParams, decides how a picture is written
        from matplotlib_inline.config import InlineBackend

        # as `%config` does it, which would first load all magics
        InlineBackend.instance(parent=shell).print_figure_kwargs = {
            "bbox_inches": "tight",
            "metadata": {"Software": None},  # type: ignore[dict-item]
        }


def chart(
    frame: pandas.DataFrame,
    *,
    title: str,
    kind: Literal["bar", "barh", "line", "step", "area"] = "bar",
    stacked: bool = False,
    colours: Sequence[str] | None = None,
    x: str = "",
    y: str = "",
    notes: Sequence[str] = (),
) -> pandas.DataFrame:
    """Draw a frame, a series for each column, and return it for the cell to show.

    A picture differs from machine to machine, so tests compare the frame beside it instead. x, y: labels; notes: texts
    at the right of horizontal bars. If the index holds times, the ticks are at round ones; the legend is above the
    picture, so that it covers no data, and a single line has none; series of one colour, as they are of one quantity,
    get different shades of it.
    """
    import matplotlib as mpl
    import pandas
    from matplotlib.figure import Figure

    plot_style()
    width, height = mpl.rcParams["figure.figsize"]
    if kind == "barh":
        height = max(height, 0.26 * len(frame))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    if colours is not None and 1 == len(set(colours)) < len(frame.columns):
        colours = shades(colours[0], len(frame.columns))
    over_time = isinstance(frame.index, pandas.DatetimeIndex)
    match kind:
        case "line" | "step":  # pandas has formatters of its own for lines over time
            style = "steps-post" if kind == "step" else "default"
            for column, colour in zip(frame, colours or CYCLE, strict=False):
                label = column if len(frame.columns) > 1 else "_"
                axes.plot(frame.index, frame[column], drawstyle=style, label=label, color=colour)
            axes.yaxis.set_major_formatter("{x:,.10g}")
        case _:
            frame.plot(kind=kind, stacked=stacked, color=colours, ax=axes, legend=False)
    axes.set(xlabel=x or ("lab time (UTC)" if over_time else ""), ylabel=y)
    if kind == "barh":
        axes.set_xlim(right=1.04 * (frame.sum(axis=1) if stacked else frame).to_numpy().max())
    else:
        axes.margins(y=0.06)
    if kind == "barh":
        axes.invert_yaxis()
        for row, note in enumerate(notes):
            axes.text(1.01, row, note, va="center", fontsize=9, transform=axes.get_yaxis_transform())
    if over_time:
        round_times(axes, frame.index[0], frame.index[-1])
    lay_out(figure)
    set_head(axes, title)
    unit = x if kind == "barh" else y
    show(figure, frame.add_suffix(f" ({unit})") if unit else frame)
    return frame


def shades(colour: str, count: int) -> list[str]:
    """Return shades of a colour, from itself to dark, for several series of one quantity: a pale line is not seen."""
    from matplotlib.colors import to_hex, to_rgb

    red, green, blue = to_rgb(colour)
    parts = [1 - 0.7 * number / max(count - 1, 1) for number in range(count)]
    return [to_hex((red * part, green * part, blue * part)) for part in parts]


def round_times(axes: Axes, first: pandas.Timestamp, last: pandas.Timestamp) -> None:
    """Set ticks at round times: whole minutes or hours, midnight over several days; the axis ends with the data."""
    from matplotlib.dates import (
        AutoDateLocator,
        ConciseDateFormatter,
        DateFormatter,
        DayLocator,
        HourLocator,
        MicrosecondLocator,
        MinuteLocator,
        SecondLocator,
        date2num,
        num2date,
    )

    seconds = (last - first).total_seconds()
    locator: DateLocator
    if 0 < seconds <= SHORT:
        apart = next(each for each in (0.1, 0.2, 0.5, 1) if seconds <= 6 * each)
        axes.xaxis.set_major_locator(MicrosecondLocator(round(apart * 1_000_000)))
        axes.xaxis.set_major_formatter(lambda at, _: f"{num2date(at):%H:%M:%S.%f}"[:-5])
        axes.set_xlim(date2num(first), date2num(last))
        return
    if seconds <= HOURS * 3600:
        most = 9 if axes.get_position().width > 0.5 else 5  # fewer fit on panels side by side
        step = next((each for each in STEPS if seconds <= most * each), STEPS[-1])
        locator = SecondLocator(range(0, 60, step)) if step < 60 else MinuteLocator(range(0, 60, step // 60))
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(DateFormatter("%H:%M:%S" if step < 60 else "%H:%M"))
        around = 0.0 if last > first else 10 / DAY  # days, as matplotlib counts: one instant is no axis
        axes.set_xlim(date2num(first) - around, date2num(last) + around)
        return
    if seconds <= 2 * DAY:
        axes.xaxis.set_major_locator(HourLocator(range(0, 24, 1 if seconds <= DAY / 3 else 3)))
        axes.xaxis.set_major_formatter(
            lambda at, _: f"{num2date(at):%a %d %b}" if at % 1 == 0 else f"{num2date(at):%H:%M}"
        )
    elif seconds <= 10 * DAY:
        axes.xaxis.set_major_locator(DayLocator())
        axes.xaxis.set_major_formatter(DateFormatter("%a %d %b"))
    else:
        axes.xaxis.set_major_locator(locator := AutoDateLocator())
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.set_xlim(date2num(first.floor("h")), date2num(last.ceil("h")))


def lay_out(figure: Figure) -> None:
    """Set the places of a figure's charts, without drawing them: `set_head` needs their widths."""
    engine = figure.get_layout_engine()
    assert engine is not None
    engine.execute(figure)


def set_head(axes: Axes, title: str, *, below: bool = False) -> None:
    """Set the title, above the picture at its left, and the legend, at its right or `below` the picture.

    A legend wider than the picture gets several rows; a title that would overlap it is moved above it. The figure must
    have been laid out.
    """
    figure = axes.get_figure(root=True)
    assert figure is not None
    title, pad = drawable(title), 10.0
    axes.set_title(title, pad=pad)
    if labels := axes.get_legend_handles_labels()[1]:
        box = _legend(axes, len(labels), below)
        if not below and axes._left_title.get_window_extent().x1 + GAP > box.x0:  # type: ignore[attr-defined]
            pad += box.height * 72 / figure.dpi
    axes.set_title(_wrapped(axes, title), pad=pad)


def _wrapped(axes: Axes, title: str) -> str:
    """Return a title in as many lines as it needs to end within the picture."""
    from textwrap import wrap

    figure = axes.get_figure(root=True)
    assert figure is not None
    box = axes._left_title.get_window_extent()  # type: ignore[attr-defined]
    room = (axes.get_window_extent().x1 if len(figure.axes) > 1 else figure.bbox.x1) - box.x0 - GAP
    if box.width <= room:
        return title
    return "\n".join(wrap(title, max(int(len(title) * room / box.width * 0.97), 8)))


def _legend(axes: Axes, labels: int, below: bool) -> Bbox:
    """Add a legend with as many columns as the width of the picture allows; return its extent."""
    columns, room = labels, axes.get_window_extent().width
    while True:
        legend = axes.legend(
            loc="upper left" if below else "lower right",
            bbox_to_anchor=(0.0, -0.13) if below else (1.0, 1.0),
            ncols=columns,
            borderaxespad=0.3,
            handlelength=1.4,
            columnspacing=1.2 if below else 2.0,
        )
        box = legend.get_window_extent()
        if box.width <= room or columns == 1:
            return box
        columns -= 1


def short(name: str, longest: int = 24) -> str:
    """Return a name as a label of matplotlib: a long one without its middle, since names differ at both ends.

    A $ in it begins no formula, and an underscore before it does not hide it from the legend.
    """
    name = drawable(name)
    if len(name) > longest:
        kept = longest - 1
        name = f"{name[: kept - kept // 2]}…{name[-(kept // 2) :]}"
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def fonts() -> tuple[str, ...]:
    """Return the font of charts, and the installed fonts for scripts that it lacks."""
    from matplotlib.font_manager import fontManager

    installed = {each.name for each in fontManager.ttflist}
    return (FONT, *(each for each in OTHER_FONTS if each in installed))


def drawable(text: str) -> str:
    """Return a text with the code points (`\\u65e5`) of characters that no font here has, instead of boxes."""
    if text.isascii():
        return text
    from matplotlib.font_manager import FontProperties, fontManager, get_font

    known = [get_font(fontManager.findfont(FontProperties(family=name))) for name in fonts()]
    drawn = []
    for each in text:
        if each.isascii() or any(font.get_char_index(ord(each)) for font in known):
            drawn.append(each)
        else:
            drawn.append(each.encode("ascii", "backslashreplace").decode())
    return "".join(drawn)


def show(figure: Figure, frame: pandas.DataFrame) -> None:
    """Show a figure in the current cell: a notebook shows a Figure by itself only once pyplot has been imported.

    frame: the numbers shown, which the picture's alternative text tells, after the title.
    """
    from IPython.display import Image, display

    title = " ".join(figure.axes[0].get_title(loc="left").split())
    display(Image(png(figure), alt=f"{title}. {in_words(frame)}"))


def in_words(frame: pandas.DataFrame) -> str:
    """Return the contents of a frame as a sentence: texts and truths by row, of numbers the range of each column.

    Many columns have one range, with the place of the largest value if there is just one.
    """
    import pandas

    if frame.empty:
        return "Nothing to show."
    if all(pandas.api.types.is_bool_dtype(kind) for kind in frame.dtypes):
        rows = [
            f"{name}: {', '.join(str(each) for each, true in row.items() if true) or 'none'}"
            for name, row in frame.iterrows()
        ]
        return f"{'; '.join(rows)}."
    numbers = frame.select_dtypes("number").dropna(axis="columns", how="all")
    peak = ""
    if numbers.empty:
        return f"{'; '.join(' – '.join(map(str, row)) for row in frame.itertuples(index=False))}."
    if len(numbers.columns) > MOST_SAID:
        values = numbers.stack().dropna()
        numbers = pandas.DataFrame({f"each of {len(numbers.columns)} series": values})
        if (values == values.max()).sum() == 1:
            row, column = values.index[int(values.to_numpy().argmax())]
            kind = "series" if frame.columns.name is None else frame.columns.name
            peak = f", the most at {row}, {kind} {column}"
    ends = [(name, *dict.fromkeys([numbers[name].min(), numbers[name].max()])) for name in numbers]
    ranges = [f"{name} {' to '.join(map(_digits, values))}" for name, *values in ends]
    first, last = (
        f"{each:%a %d %b %H:%M}" if isinstance(each, pandas.Timestamp) else each
        for each in frame.index[[0, -1]]
    )
    name = "" if frame.index.name is None else f"{frame.index.name} "
    over = f"{name}{first} to {last}: " if len(frame) > 1 else ""
    return f"{over}{'; '.join(ranges)}{peak}."


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG file without version metadata."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    picture = BytesIO()
    # The layout is constrained: `savefig` would draw it twice, first to find the margins to cut off.
    FigureCanvasAgg(figure).print_png(picture, metadata={"Software": None})
    return picture.getvalue()
