"""Sentences in parts, what the model gave for each part, and for the sentence.

In: sentences cut by `cutting.py`, and outputs of their parts. Out: an output a sentence, with the
spaces that stood between the parts and what was copied in its place.
"""

from dataclasses import dataclass, field

from builder.translation.forms import like_source


@dataclass(frozen=True)
class Output:
    """What the model gave for a sentence.

    Args:
        text: The output; may be empty.
        pieces: Source pieces that were decoded.
        split: Whether the sentence was too long and was decoded in parts.
        truncated: Whether an output reached its longest length.
        unknown: Whether a source piece is unknown to the model.
        empty: Whether an output of it is empty.
    """

    text: str
    pieces: int = 0
    split: bool = False
    truncated: bool = False
    unknown: bool = False
    empty: bool = False


@dataclass(frozen=True)
class Divided:
    """A sentence in parts, each with whether it is copied as it is; `split` where too long."""

    parts: tuple[tuple[str, bool], ...]
    split: bool


@dataclass
class Block:
    """Sentences that are decoded together.

    Args:
        divided: Each in its parts.
        texts: The parts to decode, each once.
        pieces: Their source pieces.
        known: Their outputs, as they come.
    """

    divided: list[Divided]
    texts: list[str]
    pieces: list[list[str]]
    known: dict[str, Output] = field(default_factory=dict)

    def outputs(self) -> list[Output]:
        """One output per sentence, once every part has been decoded."""
        return [joined(sentence, self.known) for sentence in self.divided]


def joined(sentence: Divided, known: dict[str, Output]) -> Output:
    """The output of a sentence from those of its parts, with the spaces around them."""
    if len(sentence.parts) == 1 and not sentence.parts[0][1]:
        return known[sentence.parts[0][0]]
    text = ""
    for part, copied in sentence.parts:
        bare = part.strip()
        output = bare if copied else like_source(known[part].text, bare)
        lead, trail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
        text += lead + output + trail
    outputs = [known[part] for part, copied in sentence.parts if not copied]
    return Output(
        text.strip(),
        sum(output.pieces for output in outputs),
        sentence.split,
        any(output.truncated for output in outputs),
        any(output.unknown for output in outputs),
        any(not output.text for output in outputs),
    )
