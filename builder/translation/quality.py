"""Quality flags of a translated sentence, from its source, translation and decoder state.

Input: a sentence, its output, and the decoder state. Output: flags of `SENTENCE_FLAGS`. Bounds are
those that fewer than 1 in 500 of 33,000 real sentence pairs cross (length ratio 0.4 to 1.9).
"""

import re
from collections import Counter

from builder.translation.language import count_function_words

SHORTER, LONGER = 0.4, 1.9
"""Minimum and maximum ratio of the English to the French length in characters."""
LESS, MORE = 6, 12
"""Number of characters by which short sentences may be outside these bounds."""
LONGEST_UNIT = 12
"""Maximum number of words of a phrase whose repetitions are counted."""
REPEATS = 4
"""Number of consecutive occurrences of a word that marks a faulty output; one less for a phrase."""
REPEATED_CHARACTERS = re.compile(r"([^\W\d_]{1,6}?)\1{7,}")

_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d")
_MARKUP = re.compile(r"</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>")


def has_markup(text: str) -> bool:
    """Whether a text contains tags such as `<DOC>` or `</TEXT>`."""
    return _MARKUP.search(text) is not None


def max_repetitions(text: str) -> int:
    """Return the maximum number of consecutive occurrences of a phrase; 1 if none is repeated.

    Phrases of several words count one extra, because they are suspicious after fewer repetitions.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    most = 1
    for unit in range(1, min(LONGEST_UNIT, len(words) // 2) + 1):
        run = 0
        for place in range(unit, len(words)):
            run = run + 1 if words[place] == words[place - unit] else 0
            if run >= unit:
                most = max(most, run // unit + 1 + (unit > 1))
    return most


def is_repetitive(output: str, source: str) -> bool:
    """Whether a translation repeats a phrase more often than its source does."""
    if REPEATED_CHARACTERS.search(output) and not REPEATED_CHARACTERS.search(source):
        return True
    again = max_repetitions(output)
    return again >= REPEATS and again > max_repetitions(source)


def has_length_mismatch(output: str, source: str) -> bool:
    """Whether the length of a translation relative to its source is outside the usual range."""
    low, high = SHORTER * len(source) - LESS, LONGER * len(source) + MORE
    return not low <= len(output) <= high


def is_untranslated(output: str, source: str) -> bool:
    """Whether a translation is still French, or equal to the source."""
    french, english = count_function_words(output)
    if french >= 2 and french > 2 * english:
        return True
    return french > english and output.casefold() == source.casefold()


def has_number_mismatch(output: str, source: str) -> bool:
    """Whether source and translation contain different digits, ignoring order and separators."""
    return Counter(_DIGITS.findall(output)) != Counter(_DIGITS.findall(source))


def output_flags(output: str, source: str) -> set[str]:
    """Return the quality flags that result from comparing a translation with its source."""
    if not output:
        return {"empty_output"}
    checks = {
        "repetition": is_repetitive,
        "length_ratio": has_length_mismatch,
        "copied_source": is_untranslated,
        "numbers_differ": has_number_mismatch,
    }
    return {flag for flag, check in checks.items() if check(output, source)}
