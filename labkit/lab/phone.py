"""HTML picture of a handset's lock screen with its messages, with inline styles and no external resources.

Message contents are escaped and shortened, and cannot change the text direction of their surroundings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from labkit.control.handsets import HandsetInfo, MessageInfo

SHOWN = 5  # messages on a screen
FACTS = 6  # further facts shown of a message
LONGEST_ADDRESS, LONGEST_TITLE, LONGEST_TEXT, LONGEST_FACT = 24, 80, 300, 40  # characters
ENDINGS = {
    "waiting": "waiting",
    "expired": "expired",
    "unregistered": "refused: token unregistered",
    "rejected": "refused: credential rejected",
    "dropped": "dropped: too many waited",
}
# channel → its display name, letter and colour
CHANNELS: Mapping[str, tuple[str, str, str]] = {
    "apn": ("Push · apn", "A", "#3a3a3c"),
    "fcm": ("Push · fcm", "F", "#d9650a"),
    "gcm": ("Push · gcm", "G", "#1a73e8"),
    "sms": ("SMS", "S", "#218f3f"),
    "chat-messenger": ("Chat", "C", "#7b3ff2"),
}

# Styles contain no quotes, since each is the value of an attribute.
FONT = "-apple-system,BlinkMacSystemFont,Segoe UI,Roboto,Helvetica Neue,Arial,sans-serif"
ISOLATED = "unicode-bidi:isolate;overflow-wrap:anywhere"
PHONE = (
    f"box-sizing:border-box;flex:0 1 300px;min-width:min(250px,100%);max-width:100%;font-family:{FONT};"
    "line-height:1.35;color:#1c1c1e;text-align:left;border-radius:36px;background:#23252b;padding:6px;"
    "display:flex;break-inside:avoid;print-color-adjust:exact;-webkit-print-color-adjust:exact;"
    "box-shadow:0 1px 3px rgba(0,0,0,.22),0 8px 18px rgba(30,40,60,.14)"
)
SCREEN = (
    "box-sizing:border-box;width:100%;min-height:400px;border-radius:30px;padding:10px 10px 9px;"
    "display:flex;flex-direction:column;overflow:hidden"
)
ON = "background:linear-gradient(170deg,#8fb7e8 0%,#c9c8ee 42%,#f3d3c8 78%,#f8e7d2 100%)"
OFF = "background:linear-gradient(170deg,#aeb3bd 0%,#cfd2d8 60%,#e2e3e6 100%)"
STATUS = "display:flex;justify-content:space-between;gap:10px;font-size:11px;font-weight:600;padding:1px 8px"
DOT = "display:inline-block;width:7px;height:7px;border-radius:4px;margin-right:4px"
CLOCK = "text-align:center;margin:13px 0 15px;color:#23262d"
CARD = (
    "background:rgba(255,255,255,.87);border-radius:17px;padding:9px 11px 10px;margin:0 0 7px;"
    "box-shadow:0 1px 2px rgba(20,30,50,.12)"
)
MUTED = "color:#555963;font-size:11px"
ICON = (
    "display:inline-block;width:19px;height:19px;line-height:19px;border-radius:5px;color:#fff;"
    "text-align:center;font-size:11px;font-weight:700;margin-right:6px"
)
TITLE = f"{ISOLATED};font-weight:650;font-size:14px;margin-top:4px"
TEXT = f"{ISOLATED};font-size:13.5px;margin-top:2px;white-space:pre-line"
FACT = (
    f"{ISOLATED};display:inline-block;background:rgba(60,70,90,.10);border-radius:6px;padding:1px 6px;"
    "margin:4px 4px 0 0;font-size:10.5px;color:#3d424d;"
    "font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace"
)
ACTION = (
    f"{ISOLATED};margin:9px -11px -10px;padding:7px 11px;border-top:1px solid rgba(60,70,90,.16);"
    "text-align:center;font-size:13px;font-weight:600;color:#0a57c2"
)
PILL = (
    "display:inline-block;background:rgba(30,34,42,.78);color:#fff;border-radius:10px;padding:2px 9px;"
    "margin:4px 3px 0;font-size:11px"
)
BAR = "width:96px;height:4px;border-radius:2px;background:rgba(30,34,42,.55);margin:9px auto 0"


def phones(pictures: Iterable[str], note: str = "") -> str:
    """Return several pictures side by side, as many as fit, with a note below."""
    row = _div("display:flex;flex-wrap:wrap;gap:18px;padding:4px 2px 16px", "".join(pictures))
    return row + (_div(MUTED, escape(note)) if note else "")


def phone(handset: HandsetInfo, messages: Sequence[MessageInfo]) -> str:
    """Return the picture of a handset's lock screen. messages: all messages to it, oldest first."""
    received = [each for each in messages if each.state == "delivered"]
    received.sort(key=lambda each: each.ended or each.time)
    cards = "".join(_card(each) for each in received[: -SHOWN - 1 : -1])
    if len(received) > SHOWN:
        cards += _div(f"{MUTED};text-align:center", f"and {len(received) - SHOWN} earlier")
    if not received:
        cards = _div(f"{MUTED};text-align:center;margin-top:26px", "No notifications")
    when = max((each.ended or each.time for each in messages), default=None)
    screen = _status(handset) + _clock(when) + _div("flex:1", cards) + _foot(handset, messages)
    return _div(PHONE, _div(f"{SCREEN};{ON if handset.online else OFF}", screen))


def _status(handset: HandsetInfo) -> str:
    colour, word = ("#167a3a", "online") if handset.online else ("#a3352b", "offline")
    state = _span(f"{DOT};background:{colour}", "") + word
    address = handset.address
    if len(address) > LONGEST_ADDRESS:  # device tokens differ at their ends
        address = f"{address[: LONGEST_ADDRESS - 9]}…{address[-8:]}"
    return _div(STATUS, _span(ISOLATED, escape(address)) + _span("white-space:nowrap", state))


def _clock(when: float | None) -> str:
    if when is None:
        return _div("height:14px", "")
    moment = datetime.fromtimestamp(when, UTC)
    day = _div("font-size:12.5px;font-weight:500", f"{moment:%A} {moment.day} {moment:%B}")
    time = _div("font-size:46px;font-weight:300;line-height:1.08;letter-spacing:.5px", f"{moment:%H:%M}")
    return _div(CLOCK, day + time)


def _card(message: MessageInfo) -> str:
    name, letter, colour = CHANNELS.get(message.channel, (message.channel, "?", "#6b7280"))
    moment = datetime.fromtimestamp(message.ended or message.time, UTC)
    head = _span(f"{ICON};background:{colour}", letter) + _span("flex:1;font-weight:600", escape(name))
    body = _div(f"display:flex;align-items:center;{MUTED}", head + _span("", f"{moment:%H:%M:%S}"))
    if message.title:
        body += _div(TITLE, _text(message.title, LONGEST_TITLE))
    if message.text:
        body += _div(TEXT, _text(message.text, LONGEST_TEXT))
    facts, action = _extras(message)
    more = len(facts) - FACTS
    body += "".join(_span(FACT, _text(each, LONGEST_FACT)) for each in facts[:FACTS])
    body += _span(FACT, f"+{more}") if more > 0 else ""
    body += _div(ACTION, _text(action, LONGEST_FACT)) if action else ""
    return _div(CARD, body)


def _extras(message: MessageInfo) -> tuple[list[str], str]:
    """Return further facts of a message as words, and the label of its button."""
    payload = message.payload
    sound = action = None
    if message.channel == "apn":
        aps = payload["aps"]
        others = {name: value for name, value in payload.items() if name != "aps"}
        sound, action = aps.get("sound"), aps.get("category")
    elif message.channel in ("fcm", "gcm"):
        data = payload["data"]
        others = {name: value for name, value in data.items() if not name.startswith("twi_")}
        sound, action = data.get("twi_sound"), data.get("twi_action")
    else:
        hidden = ("to", "body", "messaging_service_sid")
        others = {name: value for name, value in payload.items() if name not in hidden}
    facts = [f"♪ {_word(sound)}"] if sound else []
    facts += [f"{name}: {_word(value)}" for name, value in others.items()]
    return facts, _word(action) if action else ""


def _foot(handset: HandsetInfo, messages: Sequence[MessageInfo]) -> str:
    """Return the counts of messages that were not delivered."""
    counts = {state: sum(each.state == state for each in messages) for state in ENDINGS}
    lines = [f"{count} {ENDINGS[state]}" for state, count in counts.items() if count]
    if handset.dropped:
        lines.append(f"{handset.dropped} not kept any more")
    return _div("text-align:center", "".join(_span(PILL, each) for each in lines) + _div(BAR, ""))


def _word(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _text(text: str, longest: int) -> str:
    return escape(text if len(text) <= longest else f"{text[: longest - 1]}…")


def _div(style: str, inner: str) -> str:
    return (
        f"<div dir='auto' style='{style}'>{inner}</div>" if ISOLATED in style else _plain("div", style, inner)
    )


def _span(style: str, inner: str) -> str:
    return _plain("span", style, inner)


def _plain(tag: str, style: str, inner: str) -> str:
    return f"<{tag} style='{style}'>{inner}</{tag}>" if style else f"<{tag}>{inner}</{tag}>"
