"""How decoding a sentence went, which of two outcomes is better, and what is to stand for it."""

from dataclasses import dataclass

from builder.parameters import TranslateParameters
from builder.translation.forms import like_source
from builder.translation.parts import Output
from builder.translation.quality import output_flags

RETRIED = ("empty_output", "truncated", "repetition", "length_ratio", "copied_source")
"""Flags of an output that is decoded again, the worst first."""
POLICIES = (*RETRIED, "numbers_differ", "unknown_characters")
"""Flags whose policy is a parameter `on_<flag>`."""


@dataclass(frozen=True)
class Outcome:
    """What the model gave for a sentence, and what is wrong with it."""

    output: Output
    flags: frozenset[str]

    @property
    def is_bad(self) -> bool:
        """Whether the output is poor enough to retry with careful decoding."""
        return not self.flags.isdisjoint(RETRIED)


def outcome(text: str, output: Output) -> Outcome:
    """What is wrong with an output.

    Args:
        text: What the model decoded.
        output: What it gave.
    """
    flags = output_flags(like_source(output.text, text), text)
    said = {
        "empty_output": output.empty,
        "truncated": output.truncated,
        "unknown_characters": output.unknown,
        "split": output.split,
    }
    return Outcome(output, frozenset(flags.union(flag for flag, is_so in said.items() if is_so)))


def better(first: Outcome, second: Outcome) -> Outcome:
    """The second where less is wrong with it, and then it says that it is."""
    if _badness(second) < _badness(first):
        return Outcome(second.output, second.flags | {"retried"})
    return first


def stands(flags: frozenset[str], params: TranslateParameters) -> str:
    """What stands for a sentence, the strictest that its flags ask for: drop, source, or keep."""
    asked = {getattr(params, f"on_{flag}") for flag in POLICIES if flag in flags}
    return next((answer for answer in ("drop", "source") if answer in asked), "keep")


def _badness(found: Outcome) -> tuple[bool, ...]:
    """Sort key of the defects, most serious first; lower is better."""
    return tuple(flag in found.flags for flag in (*RETRIED, "numbers_differ"))
