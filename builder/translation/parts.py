"""Joins the translations of sentence parts into translations of sentences.

Input: sentences split by `cutting`, and the translations of their parts. Output: one translation
per sentence, with the copied parts and the spaces between parts restored.
"""

from dataclasses import dataclass, field

from builder.translation.forms import restore_case_and_punctuation


@dataclass(frozen=True)
class ModelOutput:
    """Translation of a sentence by the model, with properties of the decoding.

    Args:
        text: The translation; may be empty.
        pieces: Number of source tokens that were decoded.
        split: Whether the sentence was too long and was decoded in parts.
        truncated: Whether the translation of any part reached the maximum length.
        unknown: Whether any source token is unknown to the model.
        empty: Whether the translation of any part is empty.
    """

    text: str
    pieces: int = 0
    split: bool = False
    truncated: bool = False
    unknown: bool = False
    empty: bool = False


@dataclass(frozen=True)
class SplitSentence:
    """Sentence split into parts.

    Args:
        parts: Text of each part, and a flag: true if the part is copied, false if translated.
        split: Whether a part to translate was too long for the model and was split further.
    """

    parts: tuple[tuple[str, bool], ...]
    split: bool


@dataclass
class SentenceBlock:
    """Sentences that are tokenized together, and of which identical parts are decoded only once.

    Args:
        split_sentences: The sentences, split into parts.
        texts: The distinct parts to decode, as text.
        pieces: Source tokens of each item of `texts`.
        outputs_by_part: Outputs received so far, by part.
    """

    split_sentences: list[SplitSentence]
    texts: list[str]
    pieces: list[list[str]]
    outputs_by_part: dict[str, ModelOutput] = field(default_factory=dict)

    def join_outputs(self) -> list[ModelOutput]:
        """Return one translation per sentence; all parts must have been decoded."""
        return [join_parts(sentence, self.outputs_by_part) for sentence in self.split_sentences]


def join_parts(sentence: SplitSentence, outputs_by_part: dict[str, ModelOutput]) -> ModelOutput:
    """Join the translated and copied parts of a sentence, keeping the spaces between them."""
    if len(sentence.parts) == 1 and not sentence.parts[0][1]:
        return outputs_by_part[sentence.parts[0][0]]
    text = ""
    for part, copied in sentence.parts:
        bare = part.strip()
        output = bare if copied else restore_case_and_punctuation(outputs_by_part[part].text, bare)
        lead, trail = part[: len(part) - len(part.lstrip())], part[len(part.rstrip()) :]
        text += lead + output + trail
    outputs = [outputs_by_part[part] for part, copied in sentence.parts if not copied]
    return ModelOutput(
        text.strip(),
        sum(output.pieces for output in outputs),
        sentence.split,
        any(output.truncated for output in outputs),
        any(output.unknown for output in outputs),
        any(not output.text for output in outputs),
    )
