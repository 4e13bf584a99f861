"""Near misses: texts that differ slightly from a valid one, for parameters that must match exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def _next(character: str) -> str:
    """Return another character of the same kind."""
    if not character.isalnum() or not character.isascii():
        return "x"
    return chr(ord(character) - 1) if character in "9zZ" else chr(ord(character) + 1)


def _one_swapped(text: str) -> str:
    """Return the text with its last letter in the other case."""
    for at in reversed(range(len(text))):
        if text[at].swapcase() != text[at]:
            return text[:at] + text[at].swapcase() + text[at + 1 :]
    return text


KINDS: dict[str, Callable[[str], str]] = {
    "all but the last character": lambda text: text[:-1],
    "all but the first character": lambda text: text[1:],
    "one half": lambda text: text[: len(text) // 2],
    "one character more": lambda text: text + text[-1:],
    "one character before": lambda text: text[:1] + text,
    "another last character": lambda text: text[:-1] + _next(text[-1:]),
    "another first character": lambda text: _next(text[:1]) + text[1:],
    "two characters exchanged": lambda text: text[:-2] + text[-1:] + text[-2:-1],
    "the other letter case": str.swapcase,
    "one letter in the other case": _one_swapped,
    "a space before": lambda text: f" {text}",
    "a space behind": lambda text: f"{text} ",
    "a slash behind": lambda text: f"{text}/",
    "a dot behind": lambda text: f"{text}.",
    "a pattern of any character": lambda text: f"_{text[1:]}",
    "a pattern of any text": lambda text: f"{text[:-1]}%",
    "a glob": lambda text: f"{text[:-1]}*",
    "nothing": lambda text: "",
}
CASE = ("the other letter case", "one letter in the other case")
SPACE = ("a space before", "a space behind")
EMPTY = ("nothing",)


def near_misses(text: str, *, but: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Yield the kinds of near miss with what they turn a text into, except where nothing changes.

    but: kinds to leave out, since they are equivalent to the text or have a rule of their own.
    """
    seen = {text}
    for kind, miss in KINDS.items():
        made = miss(text)
        if kind not in but and made not in seen:
            seen.add(made)
            yield kind, made
