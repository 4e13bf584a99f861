"""Charts of a run: the returned numbers, the picture, and cases with little data."""

import io
from collections.abc import Callable

import matplotlib
import matplotlib.colors
import matplotlib.dates
import matplotlib.image as plt
import pandas as pd
import pytest
from matplotlib.figure import Figure

from labkit.core.errors import LabError
from labkit.fleet.measures import Latency, Tick, frame
from labkit.widgets import charts, drawing
from tests.widgets.rig import START, losses_of, requests, ticks

pytestmark = pytest.mark.usefixtures("drawn")

TICK_CHARTS: list[Callable[[pd.DataFrame], pd.DataFrame]] = [
    charts.latency_chart,
    charts.rate_chart,
    charts.errors_chart,
    charts.states_chart,
    charts.hours_chart,
]
REQUEST_CHARTS: list[Callable[[pd.DataFrame], pd.DataFrame]] = [charts.histogram_chart, charts.raster_chart]


class TestOverTime:
    def test_latency_is_in_seconds_and_an_interval_without_requests_is_a_gap(self) -> None:
        shown = charts.latency_chart(ticks())
        assert list(shown) == ["p50", "p90", "p99"]
        assert shown["p50"].iloc[0] == pytest.approx(0.2, rel=0.001)
        assert shown.isna().all(axis=1).tolist() == [False, False, True, False]

    def test_a_rate_is_per_lab_second(self) -> None:
        made = ticks()
        made["requests"] *= 10
        assert charts.rate_chart(made)["requests per second"].tolist() == [1.0, 2.0, 0.0, 4.0]

    @pytest.mark.parametrize(
        ("requests", "unit", "most"), [(360, "minute", 24.0), (4, "hour", 16.0), (0, "second", 0.0)]
    )
    def test_a_rate_below_one_has_a_longer_unit(
        self, requests: int, unit: str, most: float, drawn: list[Figure]
    ) -> None:
        made = ticks().assign(requests=requests)
        shown = charts.rate_chart(made)
        assert shown[f"requests per {unit}"].max() == most
        axes = drawn[-1].axes[0]
        assert axes.get_title(loc="left") == f"Requests per {unit}"
        assert axes.lines[0].get_ydata().max() == most  # type: ignore[union-attr]

    def test_errors_and_states_are_those_of_the_run(self) -> None:
        assert charts.errors_chart(ticks()).to_dict("list") == {"503": [0, 0, 3, 0]}
        states = charts.states_chart(ticks())
        assert {name: states[name].tolist() for name in states} == {
            "running": [2, 2, 1, 2],
            "sleeping": [8, 8, 8, 8],
            "failed": [0, 0, 1, 0],
        }

    def test_a_run_of_a_minute_has_ticks_at_round_seconds(self, drawn: list[Figure]) -> None:
        charts.latency_chart(ticks(13, every=5))
        [figure] = drawn
        labels = [each.get_text() for each in figure.axes[0].get_xticklabels()]
        assert labels[:3] == ["00:00:00", "00:00:10", "00:00:20"]  # the beginning of the first interval

    def test_the_same_frame_gives_the_same_picture(self) -> None:
        picture = charts.overview(ticks(), "a run")
        assert charts.overview(ticks(), "a run") == picture
        assert charts.overview(ticks(3), "a run") != picture
        assert picture.startswith(b"\x89PNG")
        assert b"matplotlib" not in picture.lower()

    def test_an_empty_run_has_a_picture(self) -> None:
        assert charts.overview(ticks().iloc[:0]).startswith(b"\x89PNG")

    def test_a_run_of_one_interval_has_bars(self, drawn: list[Figure]) -> None:
        one = ticks().iloc[2:3]
        charts.states_chart(one)
        charts.errors_chart(one)
        states, errors = (figure.axes[0] for figure in drawn)
        heights = [bar.get_height() for bar in states.patches]  # type: ignore[attr-defined]
        assert heights == [1, 8, 1]
        assert [bar.get_height() for bar in errors.patches] == [3]  # type: ignore[attr-defined]
        assert states.get_ylim()[1] >= 10
        first, last = states.get_xlim()
        assert first < states.patches[0].get_x() < last  # type: ignore[attr-defined]
        charts.rate_chart(one)
        assert [each.get_text() for each in drawn[-1].axes[0].texts] == ["no rate of a single interval"]


class TestOfRequests:
    def test_a_histogram_has_round_bounds_and_no_gap(self) -> None:
        shown = charts.histogram_chart(requests())["requests"]
        assert shown.to_dict() == {
            "0.005": 1, "0.01": 0, "0.02": 1, "0.05": 1, "0.1": 0, "0.2": 0, "0.5": 0, "1": 0, "2": 1
        }  # fmt: skip

    def test_a_histogram_omits_empty_bins_after_zero(self, drawn: list[Figure]) -> None:
        virtual = requests().assign(latency=[0, 0, 0, 2.5, 2.5])
        assert charts.histogram_chart(virtual)["requests"].to_dict() == {"0": 3, "2": 0, "5": 2}
        near = requests().assign(latency=[0, 0, 0, 0.0000005, 0.0000015])
        assert charts.histogram_chart(near)["requests"].to_dict() == {"0": 3, "1e-06": 1, "2e-06": 1}
        wide = requests().assign(latency=[0.00001, 0.1, 0.1, 0.1, 2.5])
        assert len(charts.histogram_chart(wide)) == 18
        labels = [each.get_text() for each in drawn[-1].axes[0].get_xticklabels()]
        assert labels == ["1e-05", "0.0001", "0.001", "0.01", "0.1", "1"]

    def test_a_raster_counts_failures(self) -> None:
        shown = charts.raster_chart(requests())
        assert shown.to_dict("index") == {
            "t-1": {"requests": 3, "failed": 2},
            "t-2": {"requests": 2, "failed": 0},
        }

    def test_many_devices_have_no_names(self, drawn: list[Figure]) -> None:
        one = requests().iloc[[0]]
        charts.raster_chart(pd.concat([one.assign(identity=f"t-{n:03}") for n in range(200)]))
        axes = drawn[-1].axes[0]
        assert axes.get_ylabel() == "device, by name"
        assert axes.get_ylim() == (200.5, 0.5)  # devices count from 1
        assert {1, 200} <= set(axes.lines[0].get_ydata())  # type: ignore[arg-type]
        charts.raster_chart(requests())
        assert [each.get_text() for each in drawn[-1].axes[0].get_yticklabels()] == ["t-1", "t-2"]


class TestByHour:
    def test_a_tick_belongs_to_the_hour_in_which_it_ends(self) -> None:
        shown = charts.hours_chart(ticks())
        assert shown.loc["Thu 01 Jan", 0] == 90 + 180 + 360
        assert shown.count(axis="columns").tolist() == [1]

    def test_the_largest_percentile_of_an_hour_is_shown(self) -> None:
        assert charts.hours_chart(ticks(), "p99").loc["Thu 01 Jan", 0] == pytest.approx(0.4, rel=0.001)

    def test_days_are_rows_in_order(self) -> None:
        shown = charts.hours_chart(requests().assign(one=1), "one")
        assert list(shown.index) == ["Thu 01 Jan", "Fri 02 Jan"]
        assert shown[[0, 1]].to_numpy().tolist()[0] == [3, 1]
        assert shown.loc["Fri 02 Jan", 1] == 1


def test_losses_are_shown_by_device(drawn: list[Figure]) -> None:
    index = pd.MultiIndex.from_product([["t-1", "t-2"], [1, 2]], names=["device", "epoch"])
    losses = pd.DataFrame({"sent": 9, "lost": [0, 2, 0, 0], "doubled": [1, 0, 0, 0]}, index=index)
    shown = charts.losses_chart(losses)
    assert shown.to_dict("index") == {"t-1": {"lost": 2, "doubled": 1}}
    assert charts.losses_chart(losses * 0).empty
    assert [each.get_text() for each in drawn[-1].axes[0].texts] == ["none"]


NAMES = ("$\\foo$", "$a_$b", "$x$", "00000000-0000-4000-8000-000000000001", "ä" * 256)


def test_a_name_is_no_formula_and_a_long_one_is_shortened_in_the_middle(drawn: list[Figure]) -> None:
    charts.losses_chart(losses_of(*NAMES))
    charts.raster_chart(pd.concat([requests().assign(identity=each) for each in NAMES]))
    wanted = {"$\\foo$", "$a_$b", "$x$", "00000000-000…00000000001", "ä" * 12 + "…" + "ä" * 11}
    for figure in drawn:
        axes = figure.axes[0]
        labels = axes.get_yticklabels()
        # The drawn text, and whether it is a formula: no public function of matplotlib returns both.
        read = [each._preprocess_math(each.get_text()) for each in labels]  # type: ignore[attr-defined]
        assert dict(read) == dict.fromkeys(wanted, False)
        assert axes.get_window_extent().width > 0.6 * figure.bbox.width
        assert drawing.png(figure).startswith(b"\x89PNG")


def test_a_legend_covers_no_title(drawn: list[Figure]) -> None:
    for title in (
        "Lost, duplicated or reordered messages",
        "Lost, duplicated or reordered messages between the devices and handlers",
    ):
        charts.losses_chart(losses_of(*NAMES), title=title)
        figure = drawn.pop()
        axes = figure.axes[0]
        legend = axes.get_legend()
        assert legend is not None
        assert axes.get_title(loc="left").replace("\n", " ") == title
        assert axes._left_title.get_window_extent().x1 <= figure.bbox.x1  # type: ignore[attr-defined]
        assert not axes._left_title.get_window_extent().overlaps(legend.get_window_extent())  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: charts.latency_chart(requests()), r"a frame of ticks \(run.frame\(\)\)"),
        (lambda: charts.rate_chart(ticks()[["p50"]]), "not one without any of requests"),
        (lambda: charts.states_chart(7), "expected a frame of ticks .*, not int"),  # type: ignore[arg-type]
        (lambda: charts.errors_chart(requests()), "whose index is no times"),
        (lambda: charts.histogram_chart(ticks()), r"a frame of requests .*, not one without a column 'latency'"),
        (lambda: charts.raster_chart(ticks()), r"a frame of requests \(run.requests\(\)\)"),
        (lambda: charts.hours_chart(ticks(), "nope"), "no column 'nope', there are: requests, errors, p50"),
        (lambda: charts.hours_chart(requests(), "identity"), "expected numbers in 'identity'"),
        (lambda: charts.hours_chart(losses_of("a"), "lost"), "not one without times"),
        (lambda: charts.losses_chart(ticks()), r"a table of accounts \(run.losses\)"),
    ],
)  # fmt: skip
def test_a_frame_without_the_needed_column_is_an_error(draw: Callable[[], object], said: str) -> None:
    with pytest.raises(LabError, match=said):
        draw()


@pytest.mark.parametrize("draw", [*TICK_CHARTS, *REQUEST_CHARTS], ids=lambda draw: draw.__name__)
def test_empty_and_small_frames_have_a_picture(
    draw: Callable[[pd.DataFrame], pd.DataFrame], drawn: list[Figure]
) -> None:
    whole = requests() if draw in REQUEST_CHARTS else ticks()
    for count in (0, 1):
        draw(whole.iloc[:count])
    assert len(drawn) == 2
    assert all(drawing.png(figure).startswith(b"\x89PNG") for figure in drawn)


def test_no_legend_covers_a_picture(drawn: list[Figure]) -> None:
    for draw in TICK_CHARTS[:1] + TICK_CHARTS[2:4]:
        draw(ticks())
        axes = drawn.pop().axes[0]
        legend = axes.get_legend()
        assert legend is not None
        assert legend.get_window_extent().y0 >= axes.get_window_extent().y1 - 1


# --- the first interval, and unusual data


def red(picture: bytes) -> int:
    """Return the number of points in the colour of errors."""
    image = plt.imread(io.BytesIO(picture))
    return int((abs(image[..., :3] - matplotlib.colors.to_rgb(charts.FAILED)).sum(axis=-1) < 0.02).sum())


def failing(count: int, **attrs: float) -> pd.DataFrame:
    """Return a frame whose errors are all in the first interval."""
    made = [
        Tick(
            START + 3600 * (number + 1), {"running": 5}, 40, {} if number else {"503": 40}, Latency.of([0.1])
        )
        for number in range(count)
    ]
    return frame(made, **attrs)


@pytest.mark.parametrize(
    "shown",
    [failing(6), failing(6, began=START, every=3600), failing(1, began=START, every=3600), failing(1)],
    ids=["without", "with", "alone", "alone without"],
)
def test_the_first_interval_is_drawn(shown: pd.DataFrame, drawn: list[Figure]) -> None:
    charts.errors_chart(shown)
    [figure] = drawn
    assert red(drawing.png(figure)) > 1000 * (6 if len(shown) == 1 else 1)
    assert red(charts.overview(shown)) > 500


@pytest.mark.parametrize("count", [1, 2, 6])
def test_the_first_interval_has_its_real_length(count: int, drawn: list[Figure]) -> None:
    shown = failing(count, began=START + 1800, every=3600)  # half of one
    charts.rate_chart(shown)
    rates = charts.rates(shown)["requests per second"].tolist()
    assert rates == pytest.approx([40 / 1800] + [40 / 3600] * (count - 1))
    later = failing(count, began=START - 9 * 3600, every=3600)  # rows of a longer run
    assert charts.rates(later)["requests per second"].iloc[0] == pytest.approx(40 / 3600)
    begin = matplotlib.dates.num2date(drawn[0].axes[0].get_xlim()[0])
    assert begin <= pd.Timestamp(START + 1800, unit="s", tz="UTC")


def test_many_kinds_of_errors_leave_room_for_the_picture(drawn: list[Figure]) -> None:
    shown = ticks().assign(**{f"error status 5{n:02}": n for n in range(9)})
    assert len(charts.errors_chart(shown).columns) == 10  # all of them in the numbers
    [figure] = drawn
    [axes] = figure.axes
    assert axes.get_position().width > 0.8
    legend = axes.get_legend()
    assert legend is not None
    names = [each.get_text() for each in legend.get_texts()]
    assert names == ["status 504", "status 505", "status 506", "status 507", "status 508", "5 other kinds"]


def test_names_with_underscores_are_in_the_legend_and_with_dollars_are_no_formula(
    drawn: list[Figure],
) -> None:
    charts.errors_chart(ticks().assign(**{"error _x": 1, "error $x_1$": 1}))
    legend = drawn[0].axes[0].get_legend()
    assert legend is not None
    assert [each.get_text() for each in legend.get_texts()] == ["503", " _x", r"\$x_1\$"]


def test_latencies_of_hours_are_in_the_histogram_and_in_the_frame() -> None:
    shown = charts.histogram_chart(requests().assign(latency=[7200.0, 1e9, 0.1, float("nan"), 3.0]))
    assert shown["requests"].sum() == 4
    assert shown.loc["10000", "requests"] == 1
    made = frame([Tick(START, {}, 1, {}, Latency.of([7200.0]))])
    assert made["max"].iloc[0] == pytest.approx(7200, rel=0.001)


def test_hours_are_in_utc_and_a_scale_fits_the_shown_values(drawn: list[Figure]) -> None:
    shown = ticks()
    assert charts.hours_chart(shown.tz_convert("Asia/Kolkata")).equals(charts.hours_chart(shown))
    for values, scale in (([0, 0, 0, 0], (0, 1)), ([-20.0, -5, -7, -9], (-20, -5)), ([1, 2, 3, 4], (0, 4))):
        apart = shown.assign(value=values).set_axis(
            pd.date_range("2026-01-01", periods=4, freq="h", tz="UTC")
        )
        charts.hours_chart(apart, "value", summary="mean")
        assert drawn[-1].axes[0].images[0].get_clim() == scale
    means = charts.hours_chart(ticks(), "sleeping")
    assert means.max().max() == 8  # and not four times as many


def test_of_a_thousand_devices_with_losses_the_forty_with_most_are_shown(drawn: list[Figure]) -> None:
    losses = losses_of(*(f"t-{n:04}" for n in range(1000)))
    losses["lost"] = range(1, 1001)
    assert len(charts.losses_chart(losses)) == 1000
    [axes] = drawn[0].axes
    names = [each.get_text() for each in axes.get_yticklabels()]
    assert (names[0], names[-1], len(names)) == ("t-0960", "t-0999", 40)
    assert axes.get_xlabel() == "messages of 40 devices that have most"


def test_a_latency_between_gaps_is_a_point(drawn: list[Figure]) -> None:
    rows = [Latency.of([2.0]) if number % 3 == 0 else Latency() for number in range(90)]
    charts.latency_chart(frame([Tick(START + 100 * n, {}, 1, {}, each) for n, each in enumerate(rows)]))
    [figure] = drawn
    points = [line for line in figure.axes[0].lines if line.get_marker() == "."]
    assert [int(pd.Series(line.get_ydata()).notna().sum()) for line in points] == [30] * 3


def test_numbers_that_never_arrived_are_shown_from_all_accounts(drawn: list[Figure]) -> None:
    losses = losses_of("t-1", "t-2").assign(lost=0, doubled=0, reordered=0, unanswered=[5, 3], arrived=[1, 3])
    shown = charts.losses_chart(losses)
    assert shown.to_dict("index") == {
        "t-1": {"lost": 0, "doubled": 0, "reordered": 0, "neither answered nor handled": 4}
    }
    assert "neither answered nor handled" not in charts.losses_chart(losses.assign(lost=2, arrived=[5, 3]))


def test_a_histogram_has_the_latencies_that_the_run_counts() -> None:
    shown = requests().assign(action=["write", "poll", "write", "write", "write"])
    assert (
        charts.histogram_chart(shown)["requests"].sum() == 3
    )  # without polls and requests without an answer


def test_an_unknown_summary_is_an_error() -> None:
    with pytest.raises(LabError, match=r"summary: expected one of sum, mean, .*, not 'wat'"):
        charts.hours_chart(ticks(), summary="wat")


def test_a_run_of_a_second_has_ticks_within_it(drawn: list[Figure]) -> None:
    charts.latency_chart(ticks(10, every=0.1))
    labels = [each.get_text() for each in drawn[0].axes[0].get_xticklabels()]
    assert {"00:00:00.0", "00:00:00.2", "00:00:01.0"} <= set(labels)


def test_the_first_mark_of_a_raster_is_off_the_axis(drawn: list[Figure]) -> None:
    charts.raster_chart(requests())
    [axes] = drawn[0].axes
    low, high = axes.get_xlim()
    times = [matplotlib.dates.date2num(each) for each in requests()["time"]]
    assert low < min(times)
    assert high > max(times)
