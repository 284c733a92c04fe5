"""Outcome of decoding a sentence, choice between two outcomes, and the fallback policy."""

from dataclasses import dataclass

from builder.parameters import TranslateParameters
from builder.translation.forms import match_source_form
from builder.translation.parts import Output
from builder.translation.quality import output_flags

RETRIED = ("empty_output", "truncated", "repetition", "length_ratio", "copied_source")
"""Flags of an output that is decoded again, the worst first."""
POLICIES = (*RETRIED, "numbers_differ", "unknown_characters")
"""Flags whose policy is a parameter `on_<flag>`."""


@dataclass(frozen=True)
class Outcome:
    """Output of the model for a sentence, and its quality flags."""

    output: Output
    flags: frozenset[str]

    @property
    def is_unusable(self) -> bool:
        """Whether the output is poor enough to retry with careful decoding."""
        return not self.flags.isdisjoint(RETRIED)


def outcome(text: str, output: Output) -> Outcome:
    """Determine the quality flags of an output.

    Args:
        text: Source text as decoded.
        output: Output of the model.
    """
    flags = output_flags(match_source_form(output.text, text), text)
    said = {
        "empty_output": output.empty,
        "truncated": output.truncated,
        "unknown_characters": output.unknown,
        "split": output.split,
    }
    return Outcome(output, frozenset(flags.union(flag for flag, is_so in said.items() if is_so)))


def better(first: Outcome, second: Outcome) -> Outcome:
    """The second outcome, flagged as retried, if it is better; else the first."""
    if _severity(second) < _severity(first):
        return Outcome(second.output, second.flags | {"retried"})
    return first


def fallback(flags: frozenset[str], params: TranslateParameters) -> str:
    """The strictest policy among those of the flags: `drop`, `source` or `keep`."""
    asked = {getattr(params, f"on_{flag}") for flag in POLICIES if flag in flags}
    return next((answer for answer in ("drop", "source") if answer in asked), "keep")


def _severity(found: Outcome) -> tuple[bool, ...]:
    """Sort key of the defects, most serious first; lower is better."""
    return tuple(flag in found.flags for flag in (*RETRIED, "numbers_differ"))
