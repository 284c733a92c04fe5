"""Flags poor translations of sentences, and decides whether to keep, replace or drop them.

A sentence with a poor translation is decoded again, and the better of the two translations is used.
If the better one is still poor, the parameters determine whether it is kept, replaced by the source
or dropped.
"""

import re
from dataclasses import dataclass, replace

from builder.parameters import TranslationParameters
from builder.translation.forms import restore_case_and_punctuation
from builder.translation.parts import ModelOutput
from builder.translation.quality import quality_flags

RETRIED = ("empty_output", "truncated", "repetition", "length_ratio", "copied_source")
"""Quality flags that cause a sentence to be decoded again, most serious flag first."""
POLICIES = (*RETRIED, "numbers_differ", "unknown_characters")
"""Quality flags that have a parameter `on_<flag>`, which sets the fallback policy."""
BROKEN_CHARACTERS = re.compile(r"\s*\ufffd+\s*")
"""Pattern of replacement characters, which mark incomplete UTF-8 sequences in model output."""


@dataclass(frozen=True)
class FlaggedOutput:
    """Translation of a sentence by the model, with quality flags."""

    output: ModelOutput
    flags: frozenset[str]

    @property
    def should_retry(self) -> bool:
        """Whether the translation is so poor that the sentence should be decoded again."""
        return not self.flags.isdisjoint(RETRIED)


def clean_and_flag_output(source: str, output: ModelOutput) -> FlaggedOutput:
    """Remove broken characters from a translation, and determine its quality flags.

    Args:
        source: Source sentence, as passed to the model.
        output: Translation by the model.
    """
    if BROKEN_CHARACTERS.search(output.text):
        whole = BROKEN_CHARACTERS.sub(" ", output.text).strip()
        output = replace(output, text=whole, unknown=True)
    flags = quality_flags(restore_case_and_punctuation(output.text, source), source)
    said = {
        "empty_output": output.empty,
        "truncated": output.truncated,
        "unknown_characters": output.unknown,
        "split": output.split,
    }
    return FlaggedOutput(
        output, frozenset(flags.union(flag for flag, is_so in said.items() if is_so))
    )


def choose_better_output(first: FlaggedOutput, second: FlaggedOutput) -> FlaggedOutput:
    """Return the better of two translations of a sentence; if equally good, return the first.

    The second translation, if returned, gets the flag `retried`.
    """
    if _defect_sort_key(second) < _defect_sort_key(first):
        return FlaggedOutput(second.output, second.flags | {"retried"})
    return first


def fallback_policy(flags: frozenset[str], params: TranslationParameters) -> str:
    """Return the strictest policy that the parameters set for any of the given quality flags.

    The policies are, strictest first: `drop` (empty translation), `source` (copy of the source)
    and `keep` (the translation).
    """
    asked = {getattr(params, f"on_{flag}") for flag in POLICIES if flag in flags}
    return next((answer for answer in ("drop", "source") if answer in asked), "keep")


def _defect_sort_key(outcome: FlaggedOutput) -> tuple[bool, ...]:
    """Return a key that sorts translations by their defects; the better translation comes first."""
    return tuple(flag in outcome.flags for flag in (*RETRIED, "numbers_differ"))
