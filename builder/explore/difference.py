"""Word-level difference of two versions of a text.

In: two texts. Out: runs of words that are the same, removed or added. Texts are compared line by
line of words by `difflib`; beyond `MOST_WORDS` words of a side the rest is left out, and reported.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

MOST_WORDS = 4000
"""Words of a side that are compared: about 0.1 s in the worst case measured."""
CONTEXT = 40
"""Words kept on each side of a change; longer runs of unchanged words are shortened."""

STRAY = 2
"""Unchanged words in a row, between two changes, that are shown as a part of the change: sentences
that were rewritten share words such as `de`, and cannot be read in shreds."""

Block = tuple[str, int, int, int, int]
"""An opcode of `difflib`: its kind, and where it starts and ends in both texts."""
Run = tuple[str, str]
"""A kind (`same`, `removed`, `added`, `gap`) and its text."""


@dataclass(frozen=True)
class Difference:
    """What differs between two texts.

    Args:
        runs: The words of both texts in order.
        removed: Words of the first text alone.
        added: Words of the second text alone.
        left_out: Words beyond the limit, in both texts together.
    """

    runs: tuple[Run, ...]
    removed: int
    added: int
    left_out: int


def words_of(text: str) -> list[str]:
    """The words of a text, each with the white space that follows it."""
    return re.findall(r"\S+\s*", text)


def difference(before: str, after: str) -> Difference:
    """The word-level difference of two texts."""
    old, new = words_of(before), words_of(after)
    left_out = max(0, len(old) - MOST_WORDS) + max(0, len(new) - MOST_WORDS)
    old, new = old[:MOST_WORDS], new[:MOST_WORDS]
    matcher = SequenceMatcher(None, _bare(old), _bare(new), autojunk=len(old) + len(new) > 2000)
    runs: list[Run] = []
    blocks = matcher.get_opcodes()
    removed = sum(b - a for kind, a, b, _, _ in blocks if kind != "equal")
    added = sum(d - c for kind, _, _, c, d in blocks if kind != "equal")
    for kind, a, b, c, d in _joined(blocks):
        if kind == "equal":
            runs += _shortened(new[c:d], is_first=not runs, is_last=d == len(new) and b == len(old))
            continue
        if b > a:
            runs.append(("removed", "".join(old[a:b])))
        if d > c:
            runs.append(("added", "".join(new[c:d])))
    return Difference(tuple(runs), removed, added, left_out)


def _joined(blocks: Sequence[Block]) -> list[Block]:
    """Blocks in which stray unchanged words between larger changes belong to the change."""
    found: list[Block] = []
    for index, block in enumerate(blocks):
        kind, a, b, c, d = block
        inner = 0 < index < len(blocks) - 1 and kind == "equal" and b - a <= STRAY
        if inner and _size(found[-1]) > STRAY < _size(blocks[index + 1]):
            kind = "replace"
        if found and kind != "equal" and found[-1][0] != "equal":
            _, before, _, start, _ = found.pop()
            found.append(("replace", before, b, start, d))
        else:
            found.append((kind, a, b, c, d))
    return found


def _size(block: Block) -> int:
    """Words of a change, in both texts together."""
    return block[2] - block[1] + block[4] - block[3]


def _bare(words: list[str]) -> list[str]:
    return [word.rstrip() for word in words]


def _shortened(words: list[str], *, is_first: bool, is_last: bool) -> list[Run]:
    """Unchanged words, of which a long run keeps its ends next to changes."""
    head, tail = 0 if is_first else CONTEXT, 0 if is_last else CONTEXT
    if (is_first and is_last) or len(words) <= head + tail + CONTEXT:
        return [("same", "".join(words))]
    gap = f" [{len(words) - head - tail:,} unchanged words] "
    runs = [("same", "".join(words[:head])), ("gap", gap)]
    runs.append(("same", "".join(words[len(words) - tail :])))
    return [run for run in runs if run[1]]
