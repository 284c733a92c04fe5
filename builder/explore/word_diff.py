"""Word diff of two versions of a text.

Compares the first `MAX_WORDS` words of the two versions with `difflib`, and returns runs of
unchanged, removed and added words, and the number of words that were omitted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MAX_WORDS = 4000
"""Maximum number of words compared per text; the slowest comparison measured took 0.1 s."""
CONTEXT_WORDS = 40
"""Number of unchanged words shown before and after a change; longer runs are shortened."""

MAX_STRAY_WORDS = 2
"""Maximum number of unchanged words between two changes that are merged into one.

A sentence and its rewritten form share words such as `de`; if changes were not merged across
them, the diff would be unreadable.
"""

Opcode = tuple[str, int, int, int, int]
"""Opcode of `difflib`: tag, then start and end in the first text and in the second text."""
Run = tuple[str, str]
"""Kind of a run (`same`, `removed`, `added` or `gap`) and its text."""


@dataclass(frozen=True)
class WordDiff:
    """Word diff of two texts.

    Args:
        runs: Runs of unchanged, removed and added words, in order.
        removed: Number of words removed from the first text.
        added: Number of words added in the second text.
        omitted: Number of words not compared, because they follow the first `MAX_WORDS` words.
    """

    runs: tuple[Run, ...]
    removed: int
    added: int
    omitted: int


def split_words(text: str) -> list[str]:
    """Split a text into words, each with the white space that follows it."""
    return re.findall(r"\S+\s*", text)


def diff_words(before: str, after: str) -> WordDiff:
    """Compare two texts word by word."""
    old, new = split_words(before), split_words(after)
    omitted = max(0, len(old) - MAX_WORDS) + max(0, len(new) - MAX_WORDS)
    old, new = old[:MAX_WORDS], new[:MAX_WORDS]
    matcher = SequenceMatcher(
        None,
        _strip_trailing_whitespace(old),
        _strip_trailing_whitespace(new),
        autojunk=len(old) + len(new) > 2000,
    )
    runs: list[Run] = []
    opcodes = matcher.get_opcodes()
    removed = sum(b - a for kind, a, b, _, _ in opcodes if kind != "equal")
    added = sum(d - c for kind, _, _, c, d in opcodes if kind != "equal")
    for kind, a, b, c, d in _merge_nearby_changes(opcodes):
        if kind == "equal":
            runs += _shorten_unchanged_run(
                new[c:d], is_first=not runs, is_last=d == len(new) and b == len(old)
            )
            continue
        if b > a:
            runs.append(("removed", "".join(old[a:b])))
        if d > c:
            runs.append(("added", "".join(new[c:d])))
    return WordDiff(tuple(runs), removed, added, omitted)


def _merge_nearby_changes(opcodes: Sequence[Opcode]) -> list[Opcode]:
    """Merge consecutive changes that are separated by only a few unchanged words.

    Changes are merged if at most `MAX_STRAY_WORDS` unchanged words separate them, and if each
    change affects more than `MAX_STRAY_WORDS` words.
    """
    merged: list[Opcode] = []
    for index, opcode in enumerate(opcodes):
        kind, a, b, c, d = opcode
        inner = 0 < index < len(opcodes) - 1 and kind == "equal" and b - a <= MAX_STRAY_WORDS
        if inner and _word_count(merged[-1]) > MAX_STRAY_WORDS < _word_count(opcodes[index + 1]):
            kind = "replace"
        if merged and kind != "equal" and merged[-1][0] != "equal":
            _, before, _, start, _ = merged.pop()
            merged.append(("replace", before, b, start, d))
        else:
            merged.append((kind, a, b, c, d))
    return merged


def _word_count(opcode: Opcode) -> int:
    """Return the number of words that an opcode covers, summed over both texts."""
    return opcode[2] - opcode[1] + opcode[4] - opcode[3]


def _strip_trailing_whitespace(words: list[str]) -> list[str]:
    return [word.rstrip() for word in words]


def _shorten_unchanged_run(words: list[str], *, is_first: bool, is_last: bool) -> list[Run]:
    """Replace the middle of a long run of unchanged words with the number of omitted words.

    Args:
        words: Words of the run.
        is_first: Whether the run starts the diff; if so, no words are kept at its start.
        is_last: Whether the run ends the diff; if so, no words are kept at its end.
    """
    head, tail = 0 if is_first else CONTEXT_WORDS, 0 if is_last else CONTEXT_WORDS
    if (is_first and is_last) or len(words) <= head + tail + CONTEXT_WORDS:
        return [("same", "".join(words))]
    gap = f" [{len(words) - head - tail:,} unchanged words] "
    runs = [("same", "".join(words[:head])), ("gap", gap)]
    runs.append(("same", "".join(words[len(words) - tail :])))
    return [run for run in runs if run[1]]
