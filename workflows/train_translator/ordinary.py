"""Model outputs and manual judgements for forty everyday sentences, as a search engine indexes.

In: `ordinary.tsv` (kind, French) and `judged.tsv` (French, English, usable or not), both written by
hand. Out: rows of the card. A judgement applies to one output; any other output is unjudged.
"""

from pathlib import Path

from builder.parameters import TranslationParameters
from builder.translation.engine import CTranslate2Engine
from workflows.train_translator.prepare import held_out_sentences

JUDGED = Path(__file__).with_name("judged.tsv")


def outputs(folder: Path, beam_size: int) -> list[str]:
    """Translate the sentences, in the order of `ordinary.tsv`.

    Args:
        folder: A model folder.
        beam_size: Beam width.
    """
    params = TranslationParameters(model=folder, beam_size=beam_size)
    return [
        output.text
        for output in CTranslate2Engine.load(folder, params, 2).translate(held_out_sentences())
    ]


def judgements() -> dict[tuple[str, str], bool]:
    """Whether an output is usable as English, by sentence and output."""
    lines = JUDGED.read_text("utf-8").splitlines() if JUDGED.exists() else []
    rows = [line.split("\t") for line in lines]
    return {(french, english): usable == "usable" for french, english, usable in rows}


def rows(before: list[str], after: list[str]) -> list[str]:
    """Rows of the card: sentence and outputs of both models, unusable ones struck through.

    Args:
        before: Outputs of the previously embedded model.
        after: Outputs of the new model.
    """
    judged = judgements()

    def cell(french: str, english: str) -> str:
        return english if judged.get((french, english), True) else f"~~{english}~~"

    return [
        f"| {french} | {cell(french, one)} | {cell(french, other)} |"
        for french, one, other in zip(held_out_sentences(), before, after, strict=True)
    ]


def usable(english: list[str]) -> int:
    """Number of outputs judged usable."""
    judged = judgements()
    pairs = zip(held_out_sentences(), english, strict=True)
    return sum(judged.get((french, text), False) for french, text in pairs)
