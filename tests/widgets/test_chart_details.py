"""Details of charts: axes, marks of the lab, colours of series, small and unusual data."""

import itertools
from collections.abc import Callable

import matplotlib.dates
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from labkit.fleet.measures import Latency, Tick, frame
from labkit.reporting.charts import COLOURS
from labkit.widgets import charts, drawing, overview
from labkit.widgets.lab_dashboard import MESSAGES, REQUESTS, SCRIPTS
from labkit.widgets.over_time import ERRORS, LATENCIES, STATES
from tests.widgets.rig import START, losses_of, requests, ticks

pytestmark = pytest.mark.usefixtures("drawn")

TICK_CHARTS: list[Callable[..., pd.DataFrame]] = [
    charts.latency_chart,
    charts.rate_chart,
    charts.errors_chart,
    charts.states_chart,
]


def latencies(*of: list[float]) -> pd.DataFrame:
    return frame([Tick(START + 60 * (n + 1), {}, 1, {}, Latency.of(each)) for n, each in enumerate(of)])


def test_latency_has_a_logarithmic_axis_from_power_to_power_of_ten(drawn: list[Figure]) -> None:
    charts.latency_chart(latencies([0.004, 0.09], [], [0.02, 3.0]))
    axes = drawn[-1].axes[0]
    assert axes.get_yscale() == "log"
    assert axes.get_ylim() == pytest.approx((0.001, 10.0))
    assert [each.get_text() for each in axes.get_yticklabels()] == ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]
    [p50] = [each for each in axes.lines if each.get_label() == "p50"]
    assert np.isnan(np.asarray(p50.get_ydata(), dtype=float)).tolist() == [False, True, False]


def test_latencies_of_zero_are_below_the_powers_of_ten(drawn: list[Figure]) -> None:
    for shown in (latencies([0.0], [0.0, 30.0]), latencies([0.0], [0.0])):
        charts.latency_chart(shown)
        axes = drawn[-1].axes[0]
        assert axes.get_yscale() == "symlog"
        assert axes.get_yticklabels()[0].get_text() == "0 s"
        assert axes.get_ylim()[0] < 0


def test_a_bar_of_one_does_not_fill_the_picture(drawn: list[Figure]) -> None:
    charts.errors_chart(ticks().assign(**{"error 503": [0, 1, 0, 0]}))
    charts.histogram_chart(requests().iloc[:1])
    charts.losses_chart(losses_of("t-1").assign(lost=1, doubled=0, reordered=0))
    errors, histogram, losses = (figure.axes[0] for figure in drawn)
    assert errors.get_ylim() == (0, 4)
    assert histogram.get_ylim() == (0, 4)
    assert histogram.get_xlim()[1] - histogram.get_xlim()[0] == 4.2
    assert losses.get_xlim() == (0, 4)
    assert losses.get_ylim() == (3.5, -0.5)


MARKS = [
    (START + 100, "restart", "60 s down"),
    (START + 1000, "fault", "status 503"),
    (START + 1001, "fault", "status 503 ends"),
    (START + 2000, "fault", "cut before"),
    (START + 3000, "release", "fw-1.2.bin"),
    (START - 5000, "release", "before the run"),
]


def marked(figure: Figure) -> list[tuple[str, float]]:
    lines = [line for line in figure.axes[0].lines if str(line.get_gid()).startswith("mark ")]
    return [
        (str(line.get_gid()), round(matplotlib.dates.num2date(line.get_xdata()[0]).timestamp() - START, 3))  # type: ignore[index]
        for line in lines
    ]


@pytest.mark.parametrize(
    "draw", [*TICK_CHARTS, charts.raster_chart, charts.series_chart], ids=lambda draw: draw.__name__
)
def test_marks_are_on_each_chart_over_time_and_on_no_other(
    draw: Callable[..., pd.DataFrame], drawn: list[Figure]
) -> None:
    shown = requests() if draw is charts.raster_chart else ticks()
    if draw is charts.series_chart:
        shown = ticks(8)[["p50", "p90"]]
        shown = shown.shift(-900, freq="s")  # it has no intervals: the axis begins with the first row
    shown.attrs["marks"] = MARKS
    draw(shown, title="Marks")
    found = marked(drawn[-1])
    assert [each for each in found if each[0] == "mark restart"] == [("mark restart", 100)]
    assert [each for each in found if each[0] == "mark release"] == [("mark release", 3000)]
    assert [time for kind, time in found if kind == "mark fault"] == [
        pytest.approx(1000),
        pytest.approx(2000),
    ]
    legend = drawn[-1].axes[0].get_legend()
    assert legend is not None
    names = [each.get_text() for each in legend.get_texts()]
    assert {"restart: 60 s down", "3 faults", "release: fw-1.2.bin"} <= set(names)


def test_marks_are_in_the_hours_of_a_heat_map(drawn: list[Figure]) -> None:
    shown = ticks()
    shown.attrs["marks"] = MARKS
    charts.hours_chart(shown)
    lines = [each for each in drawn[-1].axes[0].collections if each.get_label() in ("restart", "release")]
    assert [line.get_segments()[0][0][0] for line in lines] == [  # type: ignore[attr-defined]
        pytest.approx(-0.5 + 1 / 60),
        pytest.approx(-0.5 + 50 / 60),
    ]


def test_charts_name_their_time(drawn: list[Figure]) -> None:
    for rate, said in (
        (None, ""),
        (0, ", virtual clock"),
        (1, ", as fast as real time"),
        (60, ", 60 × real time"),
    ):
        shown = ticks()
        if rate is not None:
            shown.attrs["rate"] = rate
        charts.rate_chart(shown)
        assert drawn[-1].axes[0].get_xlabel() == f"lab time (UTC){said}"


def test_series_of_one_quantity_have_one_colour_and_a_row_each(drawn: list[Figure]) -> None:
    shown = ticks()[["p50", "p90", "p99"]]
    assert charts.series_chart(shown, title="Latency").equals(shown)
    axes = drawn[-1].axes[0]
    assert [each.get_text() for each in axes.get_yticklabels()] == ["p50", "p90", "p99"]
    rows = [each.get_paths()[0].get_extents() for each in axes.collections]
    assert len({str(each.get_facecolor()) for each in axes.collections}) == 1
    assert all(upper.y1 < lower.y0 for upper, lower in itertools.pairwise(rows))


def test_each_colour_is_visible_on_white() -> None:
    def luminance(colour: str) -> float:
        red, green, blue = (
            part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    named = {**STATES, **LATENCIES, **charts.LOSSES, **COLOURS, **REQUESTS, **SCRIPTS, **MESSAGES}
    found = {each: 1.05 / (luminance(each) + 0.05) for each in (*drawing.CYCLE, *ERRORS, *named.values())}
    assert {each: contrast for each, contrast in found.items() if contrast < 3} == {}  # WCAG 2.2, 1.4.11


def test_a_mark_at_the_start_is_beside_the_axis(drawn: list[Figure]) -> None:
    for draw in TICK_CHARTS:
        shown = ticks()
        shown.attrs["marks"] = [(START, "fault", "cut after")]
        draw(shown)
        begin = matplotlib.dates.num2date(drawn[-1].axes[0].get_xlim()[0]).timestamp()
        assert START - 60 < begin < START - 1


def test_losses_name_the_kinds_that_occur_and_the_devices_without_any(drawn: list[Figure]) -> None:
    charts.losses_chart(losses_of("t-1", "t-2", "t-3").assign(lost=0, doubled=[2, 1, 0], reordered=0))
    [axes] = drawn[0].axes
    assert axes.get_legend_handles_labels()[1] == ["doubled"]
    assert axes.get_xlabel() == "messages; 1 of 3 devices have none"


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"a": [1.5, 3], "b": [20000, 20000]}), "0 to 1: a 1.5 to 3; b 20,000."),
        (pd.DataFrame({"see": [True, False]}, index=["ann", "ben"]), "ann: see; ben: none."),
        (pd.DataFrame([("ann", "acme", "GET /")]), "ann – acme – GET /."),
        (pd.DataFrame([range(20)]), "each of 20 series 0 to 19, the most at 0, series 19."),
        (
            pd.DataFrame([[0] * 9, [*range(8), 7]], ["Mon", "Tue"], pd.Index(range(9), name="hour")),
            "Mon to Tue: each of 9 series 0 to 7.",
        ),
        (
            pd.DataFrame([range(9), [None, *[3] * 8]], ["Mon", "Tue"], pd.Index(range(9), name="hour")),
            "Mon to Tue: each of 9 series 0 to 8, the most at Mon, hour 8.",
        ),
        (pd.DataFrame({"a": [1]}, index=pd.to_datetime(["2026-01-01"])), "a 1."),
        (pd.DataFrame(), "Nothing to show."),
    ],
)
def test_an_alternative_text_says_what_a_chart_shows(frame: pd.DataFrame, said: str) -> None:
    assert drawing.in_words(frame) == said


def test_lines_of_one_colour_differ_in_shade(drawn: list[Figure], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "show", lambda figure, _: drawn.append(figure))
    drawing.chart(ticks()[["p50", "p90", "p99"]], title="Shades", kind="step", colours=["#3b7dd8"] * 3)
    axes = drawn[-1].axes[0]
    assert len({line.get_color() for line in axes.lines}) == 3
    assert axes.get_legend() is not None


def test_marks_of_answered_and_failed_requests_do_not_overlap(drawn: list[Figure]) -> None:
    for count in (2, 1000):
        some = pd.concat([requests().iloc[1:4].assign(identity=f"t-{n:04}") for n in range(count)])
        charts.raster_chart(some)
        figure = drawn[-1]
        axes = figure.axes[0]
        answered, failed = [line for line in axes.lines if len(line.get_xdata()) > 1]  # type: ignore[arg-type]
        assert (answered.get_marker(), failed.get_marker()) == (2, 3)  # upwards and downwards from the middle
        low, high = (axes.transData.transform((0, row))[1] for row in (2, 1))
        assert 2 * answered.get_markersize() <= max((high - low) * 72 / figure.dpi, 1.0) + 0.01


def test_an_interval_longer_than_an_hour_is_distributed_over_its_hours() -> None:
    shown = charts.hours_chart(ticks(4, every=2.5 * 3600))
    assert shown.notna().sum(axis="columns").tolist() == [10]
    assert shown.sum().sum() == pytest.approx(ticks()["requests"].sum())
    assert shown[0].iloc[0] == pytest.approx(36)  # of 90 in two and a half hours
    assert charts.hours_chart(ticks(4, every=7200), "sleeping").max().max() == 8


def test_characters_without_a_font_are_shown_as_code_points(drawn: list[Figure]) -> None:
    assert drawing.drawable("ä→é") == "ä→é"
    assert drawing.drawable("t\U000f0000") == "t\\U000f0000"  # of private use: in no font
    charts.losses_chart(losses_of("\U000f0000"), title="Of \U000f0000")
    axes = drawn[-1].axes[0]
    assert axes.get_title(loc="left") == "Of \\U000f0000"
    assert axes.get_yticklabels()[0].get_text() == "\\U000f0000"


def test_an_overview_names_empty_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    titles: list[list[str]] = []

    def png(figure: Figure) -> bytes:
        titles.append([each.get_title(loc="left") for each in figure.axes])
        return b""

    monkeypatch.setattr(overview, "png", png)
    charts.overview(ticks())
    charts.overview(ticks().drop(columns="error 503"))
    charts.overview(ticks().iloc[:0])
    assert titles == [
        ["Devices by state", "Requests per minute", "Latency", "Errors by kind"],
        ["Devices by state", "Requests per minute", "Latency"],
        ["Devices by state"],
    ]
