"""Forty ordinary sentences of a search engine in English: what models give, and what was judged.

In: `ordinary.tsv` (kind, French) and `judged.tsv` (French, English, usable or not), both written by
hand. Out: rows of the card. A judgement belongs to one output; another output has none.
"""

from pathlib import Path

from builder.parameters import TranslateParameters
from builder.translation.engine import Engine
from workflows.train_translator.prepare import ordinary

JUDGED = Path(__file__).with_name("judged.tsv")


def outputs(folder: Path, beam_size: int) -> list[str]:
    """The English of each sentence, in the order of `ordinary.tsv`.

    Args:
        folder: A model folder.
        beam_size: Beam width.
    """
    params = TranslateParameters(model=folder, beam_size=beam_size)
    return [output.text for output in Engine.load(folder, params, 2).translate(ordinary())]


def judgements() -> dict[tuple[str, str], bool]:
    """Whether an output is usable as English, by sentence and output."""
    lines = JUDGED.read_text("utf-8").splitlines() if JUDGED.exists() else []
    rows = [line.split("\t") for line in lines]
    return {(french, english): usable == "usable" for french, english, usable in rows}


def rows(before: list[str], after: list[str]) -> list[str]:
    """Rows of the card: a sentence, and the output of both models; what is not usable is struck.

    Args:
        before: Outputs of the model that was shipped before.
        after: Outputs of the model of the card.
    """
    judged = judgements()

    def cell(french: str, english: str) -> str:
        return english if judged.get((french, english), True) else f"~~{english}~~"

    return [
        f"| {french} | {cell(french, one)} | {cell(french, other)} |"
        for french, one, other in zip(ordinary(), before, after, strict=True)
    ]


def usable(english: list[str]) -> int:
    """How many outputs were judged usable."""
    judged = judgements()
    pairs = zip(ordinary(), english, strict=True)
    return sum(judged.get((french, text), False) for french, text in pairs)
