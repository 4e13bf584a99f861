"""Random input: it is accepted or refused, nothing is removed from a payload, and it can be shown."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from hypothesis import given, settings
from hypothesis import strategies as st

from labkit.control.handsets import HandsetInfo, MessageInfo
from labkit.lab.phone import phone
from labkit.providers.messaging.bindings import TYPES
from labkit.providers.messaging.errors import ApiError
from labkit.providers.messaging.forms import FormParameters
from labkit.providers.messaging.notification import PARAMETERS, read
from labkit.providers.messaging.payloads import compose, merged, shown
from tests.lab.test_handsets import looked
from tests.sizes import size

KEYS = (
    "aps",
    "alert",
    "title",
    "body",
    "sound",
    "category",
    "data",
    "notification",
    "a",
    "<b>",
    "twi",
    "to",
    "é",
)
keys = st.sampled_from(KEYS)
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(["", "x", "'>"])
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=12,
)
tables = st.dictionaries(keys, values, max_size=5)


def leaves(value: object, above: tuple[str, ...] = ()) -> dict[tuple[str, ...], object]:
    """Return all values that are no objects, by their path of keys; an empty object counts, too."""
    if not isinstance(value, dict) or not value:
        return {above: value}
    found: dict[tuple[str, ...], object] = {}
    for name, each in value.items():
        found |= leaves(each, (*above, name))
    return found


@given(tables, tables)
def test_a_merge_adds_and_overrides_and_never_removes(generic: dict[str, Any], own: dict[str, Any]) -> None:
    before = json.dumps([generic, own])
    result = leaves(merged(generic, own))
    assert json.dumps([generic, own]) == before
    overriding = leaves(own)
    for path, value in leaves(generic).items():
        # a value that `own` has at, above or below its path
        near = [each for each in overriding if each[: len(path)] == path[: len(each)]]
        if value != {} and all(overriding[each] is None and len(each) <= len(path) for each in near):
            assert result[path] == value
    for path, value in overriding.items():
        if value is not None and value != {}:
            assert result[path] == value
    assert set(merged(generic, own)) == {*generic, *own}


TEXTS = st.sampled_from(
    ["", "x", "0", "60", "low", "high", "ann", "{}", "[]", "null", "{", '{"a":1}', "é\0", "'><b>"]
)
forms = st.lists(
    st.tuples(
        st.sampled_from(sorted(PARAMETERS)),
        TEXTS | tables.map(json.dumps) | tables.map(lambda each: json.dumps({"data": each, "aps": each})),
    ),
    max_size=8,
)


@settings(max_examples=size(50, 1_000))
@given(forms, st.none() | st.just("MG"))
def test_a_send_is_accepted_or_refused(pairs: list[tuple[str, str]], messaging_service: str | None) -> None:
    try:
        sent = read(FormParameters(urlencode([("Identity", "ann"), *pairs])))
    except ApiError:
        return
    for channel in TYPES:
        if channel in ("sms", "chat-messenger"):
            try:
                payload = compose(channel, sent, messaging_service, 1000)
            except ApiError:
                continue
        else:  # of a push nothing is missing
            payload = compose(channel, sent, messaging_service, 1000)
        body = payload.to("address")
        assert json.loads(json.dumps(body)) == body
        assert 0 <= payload.ttl <= 2_419_200
        assert channel == "apn" or body["to"] == "address"
        title, text = shown(channel, body)
        looked(
            phone(
                HandsetInfo(address="address", online=True, kept=1, dropped=0),
                [message(channel, body, title, text)],
            )
        )


def message(channel: str, payload: Any, title: str, text: str) -> MessageInfo:
    sids = {each: each for each in ("address", "account", "service", "identity", "binding", "notification")}
    times = {"time": 1000.0, "ended": 1000.0, "expires": 2000, "cause": None}
    rest = {"channel": channel, "title": title, "text": text, "payload": payload, "headers": {}}
    return MessageInfo.model_validate({**sids, **times, **rest, "state": "delivered"})


@given(
    st.text(max_size=60) | st.lists(st.sampled_from("Identity=&Tag%é\udc80+;[]\0"), max_size=30).map("".join)
)
def test_any_text_is_a_form_or_refused(text: str) -> None:
    with suppress(ApiError):
        form = FormParameters(text)
        for ask in (form.several, form.object, form.day, form.text):
            with suppress(ApiError):
                ask("Identity")
