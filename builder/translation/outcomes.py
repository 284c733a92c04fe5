"""Quality of translated sentences: choice between two translations, and fallback policies."""

import re
from dataclasses import dataclass, replace

from builder.parameters import TranslateParameters
from builder.translation.forms import match_source_form
from builder.translation.parts import Output
from builder.translation.quality import output_flags

RETRIED = ("empty_output", "truncated", "repetition", "length_ratio", "copied_source")
"""Flags of outputs to be decoded again, most serious first."""
POLICIES = (*RETRIED, "numbers_differ", "unknown_characters")
"""Flags whose policy is a parameter `on_<flag>`."""
BROKEN_CHARACTERS = re.compile(r"\s*\ufffd+\s*")
"""Remains of characters that the model spells in bytes, such as emoji, and did not complete."""


@dataclass(frozen=True)
class Outcome:
    """Translation of a sentence by the model, with quality flags."""

    output: Output
    flags: frozenset[str]

    @property
    def is_unusable(self) -> bool:
        """Whether the translation is so poor that the sentence should be translated again."""
        return not self.flags.isdisjoint(RETRIED)


def evaluate_output(text: str, output: Output) -> Outcome:
    """Determine the quality flags of a translation, and return both, without broken characters.

    Args:
        text: Source text as decoded.
        output: Output of the model.
    """
    if BROKEN_CHARACTERS.search(output.text):
        whole = BROKEN_CHARACTERS.sub(" ", output.text).strip()
        output = replace(output, text=whole, unknown=True)
    flags = output_flags(match_source_form(output.text, text), text)
    said = {
        "empty_output": output.empty,
        "truncated": output.truncated,
        "unknown_characters": output.unknown,
        "split": output.split,
    }
    return Outcome(output, frozenset(flags.union(flag for flag, is_so in said.items() if is_so)))


def choose_better(first: Outcome, second: Outcome) -> Outcome:
    """Return the second translation, flagged as retried, if it is better; otherwise the first."""
    if _severity(second) < _severity(first):
        return Outcome(second.output, second.flags | {"retried"})
    return first


def fallback_policy(flags: frozenset[str], params: TranslateParameters) -> str:
    """Return the strictest fallback policy of the flags: `drop`, `source` or `keep`."""
    asked = {getattr(params, f"on_{flag}") for flag in POLICIES if flag in flags}
    return next((answer for answer in ("drop", "source") if answer in asked), "keep")


def _severity(found: Outcome) -> tuple[bool, ...]:
    """Return a sort key: the most serious defects of a translation; lower is better."""
    return tuple(flag in found.flags for flag in (*RETRIED, "numbers_differ"))
