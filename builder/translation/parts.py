"""Joins the translations of the parts into which sentences were split.

Input: sentences split by `cutting`, and the outputs of their parts. Output: one output per
sentence, with the copied parts and the spaces between parts restored.
"""

from dataclasses import dataclass, field

from builder.translation.forms import match_source_form


@dataclass(frozen=True)
class Output:
    """Translation of a sentence by the model, with the state of the decoder.

    Args:
        text: The output; may be empty.
        pieces: Source pieces that were decoded.
        split: Whether the sentence was too long and was decoded in parts.
        truncated: Whether an output reached the maximum length.
        unknown: Whether a source piece is unknown to the model.
        empty: Whether the output of a part is empty.
    """

    text: str
    pieces: int = 0
    split: bool = False
    truncated: bool = False
    unknown: bool = False
    empty: bool = False


@dataclass(frozen=True)
class SplitSentence:
    """Sentence split into parts, each with a flag whether it is copied instead of translated."""

    parts: tuple[tuple[str, bool], ...]
    split: bool


@dataclass
class Block:
    """Block of sentences that are translated together, with the distinct parts to decode.

    Args:
        divided: The split sentences.
        texts: Distinct parts to decode.
        pieces: Source pieces of each part.
        known: Outputs received so far, by part.
    """

    divided: list[SplitSentence]
    texts: list[str]
    pieces: list[list[str]]
    known: dict[str, Output] = field(default_factory=dict)

    def outputs(self) -> list[Output]:
        """Return one translation per sentence, after all parts have been decoded."""
        return [join_parts(sentence, self.known) for sentence in self.divided]


def join_parts(sentence: SplitSentence, known: dict[str, Output]) -> Output:
    """Join the translated and copied parts of a sentence, with the spaces between them."""
    if len(sentence.parts) == 1 and not sentence.parts[0][1]:
        return known[sentence.parts[0][0]]
    text = ""
    for part, copied in sentence.parts:
        bare = part.strip()
        output = bare if copied else match_source_form(known[part].text, bare)
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
