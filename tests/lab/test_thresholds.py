"""Thresholds: their syntax, and the measures that exceed them."""

import pytest

from labkit.core.errors import LabError
from labkit.fleet.measures import Latency
from labkit.lab.thresholds import ACCOUNTS, COUNTS, DURATIONS, CountMeasure, RunMeasures, Threshold

MEASURED = RunMeasures(
    due=Latency.of([0.1] * 99 + [2.0]),
    sending=Latency.of([0.001] * 10),
    durations={"seconds": 3600.0, "real": 2.5, "cpu": 1.5},
    counts={
        "requests": CountMeasure(1000),
        "rate": CountMeasure(400),
        "errors": CountMeasure(5, 1000),
        "errors 503": CountMeasure(3, 1000),
        "errors no answer": CountMeasure(2, 1000),
        "failed": CountMeasure(1, 200),
        **{name: CountMeasure(10, 500) for name in ACCOUNTS},
    },
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p99>99ms", "p99 is 100 ms"),
        ("p99>250ms", None),
        ("p99.9 > 1.5 s", "p99.9 is 2.001 s"),
        ("max>=0.03min", "max is 2.001 s"),
        ("max<0.04min", "max is 2.001 s"),
        ("sending p99>2ms", None),
        ("sending max>500us", "sending max is 1 ms"),
        ("seconds<1.5h", "seconds is 3600 s"),
        ("real>2s", "real is 2.5 s"),
        ("cpu>2s", None),
        ("requests<1001", "requests is 1,000"),
        ("rate<=400", "rate is 400"),
        ("errors>4", "errors is 5"),
        ("errors>0.5%", None),
        ("errors>=0.5%", "errors is 0.5%"),
        ("errors 503>2", "errors 503 is 3"),
        ("errors no answer>0.1%", "errors no answer is 0.2%"),
        ("errors timeout>0", None),
        ("failed>0.1%", "failed is 0.5%"),
        ("failed>1", None),
        ("lost>1%", "lost is 2%"),
    ],
)
def test_a_threshold_is_crossed_or_not(text: str, shown: str | None) -> None:
    crossed = Threshold.of(text).crossed(MEASURED)
    assert crossed == (None if shown is None else f"--fail-if {text}: {shown}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("p99", "expected MEASURE, > or <, and a number"),
        ("p99>", "expected MEASURE, > or <, and a number"),
        ("p99=1s", "expected MEASURE, > or <, and a number"),
        ("p99>1.2.3s", "'1.2.3' is no number"),
        ("p99>250", "expected a time with its unit: us, µs, ms, s, min, h, d"),
        ("p99>1%", "expected a time with its unit"),
        ("requests>1%", "expected a number, not '%'"),
        ("failed>1ms", "expected a number or a fraction in %, not 'ms'"),
        ("p999>1s", "no measure 'p999', there are: pN, max, sending pN, sending max, seconds, real, cpu, "),
        ("errors timout>1", "no kind of error 'timout', there are: a status, refused, "),
        ("latency>1s", "requests, rate, errors, errors KIND, failed, sent, acknowledged, stored, "),
    ],
)
def test_an_invalid_threshold_is_an_error_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(LabError) as raised:
        Threshold.of(text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_measure_without_values_exceeds_each_threshold() -> None:
    nothing = RunMeasures(
        Latency(), Latency(), {}, {"requests": CountMeasure(0), "errors": CountMeasure(0, 0)}
    )
    for text in ("p99>250ms", "sending p50<1h", "errors>1%", "errors 503>1%"):
        crossed = Threshold.of(text).crossed(nothing)
        assert crossed is not None
        assert crossed.endswith(" has no value")
    assert Threshold.of("errors>0").crossed(nothing) is None


def test_thresholds_of_accounts_need_accounts() -> None:
    for name in ACCOUNTS:
        with pytest.raises(LabError, match=f"{name} needs --accounts"):
            Threshold.of(f"{name}>0", accounts=False)


def test_each_listed_measure_has_a_value() -> None:
    for name in DURATIONS:
        assert Threshold.of(f"{name.replace('pN', 'p50')}>0s").crossed(MEASURED) is not None
    for name in {*COUNTS, *ACCOUNTS} - {"errors KIND"}:
        assert Threshold.of(f"{name}>0").crossed(MEASURED) is not None
