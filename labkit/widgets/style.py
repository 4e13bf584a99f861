"""Style sheet of the dashboards, and functions that return pieces of their HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

CSS = """<style>
.labkit-dashboard { font-family: var(--jp-ui-font-family, sans-serif); padding: 4px 2px; }
.labkit-dashboard .widget-html, .labkit-dashboard .widget-html-content { line-height: 1.35; height: auto; width: 100%; }
.labkit-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 14px; }
.labkit-head b { font-size: 15px; }
.labkit-badge { border-radius: 9px; padding: 1px 9px; font-size: 12px; color: #fff; background: #6b7785; }
.labkit-tiles { display: flex; flex-wrap: wrap; gap: 6px; margin: 4px 0; }
.labkit-tile { border: 1px solid var(--jp-border-color2, #d5dae0); border-radius: 6px; padding: 2px 10px;
  min-width: 56px; }
.labkit-tile b { display: block; font-size: 16px; font-variant-numeric: tabular-nums; white-space: nowrap; }
.labkit-tile span { color: var(--jp-ui-font-color2, #52606d); font-size: 11px; }
.labkit-keys { padding: 0 14px 8px 46px; font-size: 11px; }
.labkit-key { margin-right: 12px; white-space: nowrap; }
.labkit-key i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 4px; }
button.labkit-failed { width: max-content; min-width: 90px; flex: none; }
.labkit-marks { font-size: 11px; margin: 2px 0; }
.labkit-mark { width: 0 !important; height: 12px !important; border-left: 2px dashed; border-radius: 0 !important;
  vertical-align: middle; }
.labkit-dashboard .labkit-folded { position: absolute; visibility: hidden; width: 380px; height: 0; z-index: -1; }
.labkit-bad b { color: #b02a2a; }
.labkit-table { border-collapse: collapse; font-size: 12px; }
.labkit-table th, .labkit-table td { text-align: left; padding: 2px 14px 2px 0; vertical-align: top; }
.labkit-table th { color: var(--jp-ui-font-color2, #52606d); font-weight: normal; }
.labkit-table td:last-child { overflow-wrap: anywhere; }
.labkit-scroll { overflow-x: auto; max-height: 260px; }
.labkit-trace { font-size: 11px; max-height: 200px; overflow: auto; margin: 4px 0; }
.labkit-said { color: #b02a2a; font-size: 12px; }
.labkit-soft { color: var(--jp-ui-font-color2, #52606d); font-size: 12px; }
.labkit-dashboard .bqplot { --bq-mainheading-fill: var(--jp-ui-font-color1, #1f2933); }
[data-jp-theme-light=false] .labkit-dashboard :is(.curve, .labkit-key i) { filter: invert(1) hue-rotate(180deg); }
[data-jp-theme-light=false] .labkit-dashboard .bqplot .tick line { stroke: #3d444b !important; }
[data-jp-theme-light=false] :is(.labkit-bad b, .labkit-said) { color: #ff8a80; }
</style>"""
TONES = {
    "running": "#2860b8",
    "paused": "#9a5b0f",
    "ended": "#1f7a4f",
    "stopped": "#52606d",
    "not begun": "#52606d",
    "failed": "#b02a2a",
}
NOTHING = ("0", "–")
BAD = frozenset({"failed", "errors", "refused", "failed runs", "lost", "doubled"})  # tiles shown in red


def head(title: str, state: str, *notes: str) -> str:
    """Return a title with a badge of its state, and notes, as HTML."""
    colour = TONES.get(state, TONES["not begun"])
    words = "".join(f"<span class='labkit-soft'>{escape(each)}</span>" for each in notes if each)
    badge = f"<span class='labkit-badge' style='background:{colour}'>{escape(state)}</span>"
    return f"<div class='labkit-head'><b>{escape(title)}</b>{badge}{words}</div>"


def tiles(facts: Mapping[str, str]) -> str:
    """Return numbers with their names as HTML tiles; numbers that are 0 or missing are listed in one line."""
    nothing = [
        f"{value.replace('–', 'no value')}: {', '.join(name for name in facts if facts[name] == value)}"
        for value in NOTHING
        if value in facts.values()
    ]
    facts = {name: value for name, value in facts.items() if value not in NOTHING}
    inner = "".join(
        f"<div class='labkit-tile{' labkit-bad' if name in BAD else ''}' "
        f"data-name='{escape(name, quote=True)}'><b>{escape(value)}</b>"
        f"<span>{escape(name.removesuffix('s') if value == '1' else name)}</span></div>"
        for name, value in facts.items()
    )
    folded = f"<span class='labkit-soft'>{escape('; '.join(nothing))}</span>" if nothing else ""
    return f"<div class='labkit-tiles'>{inner}</div>{folded}"


def rows(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return an HTML table of texts, which scrolls if it is long or wide."""
    heads = "".join(f"<th>{escape(each)}</th>" for each in columns)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in line)}</tr>" for line in lines)
    return f"<div class='labkit-scroll'><table class='labkit-table'><tr>{heads}</tr>{body}</table></div>"


def seconds(value: float) -> str:
    """Return a duration in seconds as text with three digits and a unit."""
    if value != value:  # NaN: nothing was counted
        return "–"
    if value < 1:
        return f"{value * 1000:.3g} ms"
    return f"{value:.3g} s"
