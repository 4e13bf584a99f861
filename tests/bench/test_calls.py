"""Measures of operation calls, compared with their baselines."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import jwt
import pytest

from labkit.bench import baseline, bench, rounds, users
from labkit.bench.calls import VARIANTS
from labkit.bench.control import BenchError
from labkit.bench.fixture import Fixture, Unhashed
from labkit.bench.measures import CALLS, Calls
from labkit.bench.variant import Variant

FEWEST = 40  # assignments: two users

EVERY_VARIANT = {
    "user-token": {"lab", "baseline", "new", "hashed"},
    "user-resolve": {"lab", "baseline", "access_token"},
    "oauth-code": {"lab", "baseline"},
    "oauth-token": {"lab", "baseline"},
    "permission": {"lab", "baseline", "refused", "of_few"},
    "notify-send": {"lab", "baseline", "alone"},
    "notify-tag": {"lab", "baseline", "of_all"},
    "interface-call": {"lab", "baseline", "unchecked", "keystore", "direct"},
    "control-call": {"lab", "baseline", "in_process"},
    "tsdb-query": {"lab", "baseline", "two", "text", "script", "hourly"},
    "script-text": {
        "lab",
        "baseline",
        "gmatch",
        "gmatch_plain",
        "gsub",
        "gsub_plain",
        "match",
        "match_plain",
    },
    **{name: {"lab", "baseline"} for name in ("start-up", "device-start", "cell-write")},
}


@pytest.mark.parametrize(
    "measure",
    [pytest.param(each, marks=pytest.mark.sampled if each == "start-up" else ()) for each in VARIANTS],
)
async def test_every_variant_of_a_measure_can_be_repeated(
    measure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(users, "PEOPLE", 2)
    async with AsyncExitStack() as stack:
        variants = await VARIANTS[measure](stack, FEWEST)
        assert set(variants) == EVERY_VARIANT[measure]
        for variant in variants.values():
            for each in await variant.supply(3):
                await variant.call(each)


def test_every_measure_of_calls_has_its_variants() -> None:
    assert [calls.name for calls in CALLS] == list(VARIANTS)
    assert all(calls.beside in {"", *EVERY_VARIANT[calls.name]} for calls in CALLS)


@pytest.mark.usefixtures("forked")
def test_calls_are_measured_beside_their_baseline() -> None:
    (result,) = bench.run(["permission"], count=1, seconds=0.02, assignments=FEWEST)
    assert result.ratio == pytest.approx(result.reference / result.value)
    assert 0 < result.ratio < 1  # a check cannot be cheaper than the read that it includes
    assert result.details["calls_per_cpu_second"] == pytest.approx(1e6 / result.value)
    assert result.details["refused_micros"] > 0
    assert result.details["of_few_times"] > 0
    assert result.met == (result.ratio >= result.required)


async def test_only_the_calls_are_timed_not_their_preparation() -> None:
    async def supply(number: int) -> Sequence[int]:
        sum(range(200_000))  # more expensive than the calls
        return range(number)

    given: list[Any] = []

    async def call(each: int) -> None:
        given.append(each)
        await asyncio.sleep(0)

    micros, calls = await Variant(supply, call).micros(0.002)
    assert calls == len(given) > 1
    assert micros * calls == pytest.approx(2000, rel=1)  # µs: ends at its time limit


def test_the_result_is_the_median_of_each_variant() -> None:
    found = {"lab": [10.0, 30.0, 20.0], "baseline": [5.0, 4.0, 90.0], "other": [40.0, 40.0, 1.0]}
    result = rounds.summarize_calls(Calls("measure", "title", 0.3, "other"), found, rounds=3)
    assert (result.value, result.reference, result.ratio) == (20.0, 5.0, 0.25)
    assert "ratio 0.25, required 0.30: NOT MET" in str(result)
    assert result.details == {"calls_per_cpu_second": 50_000, "other_micros": 40.0, "other_times": 2.0}


async def test_an_unexpected_result_of_a_call_is_an_error() -> None:
    async with AsyncExitStack() as stack:
        fixture = await Fixture(Unhashed()).start(stack, 1)
        with pytest.raises(BenchError, match="getUserToken: expected status 200"):
            await fixture.call("getUserToken", {**fixture.logins[0], "password": "another one"})
        with pytest.raises(BenchError, match="expected status 403"):
            await fixture.call("getUserToken", fixture.logins[0], expected=403)


async def test_the_baseline_signs_the_tokens_of_the_service() -> None:
    async with AsyncExitStack() as stack:
        fixture = await Fixture(Unhashed()).start(stack, 1)
        (token,) = await fixture.tokens()
        secret = await fixture.user.keys.secret("bench")
        claims = baseline.verified(secret, token)
        assert jwt.decode(baseline.hs256(secret, claims), secret, algorithms=["HS256"]) == claims
        with pytest.raises(BenchError, match="signature"):
            baseline.verified(b"another secret", token)
        key = await fixture.user.keys.private()
        assert jwt.decode(baseline.rs256(key, claims), key.public_key(), algorithms=["RS256"]) == claims
