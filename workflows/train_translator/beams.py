"""CPU time per page and chrF by beam width.

In: model folders, pages of text and the validation set; the test sets are not used for choices.
Out: one row per model and beam width. CPU time is measured on one thread, which makes it less
sensitive to other load.
"""

import time
from pathlib import Path
from typing import Any

import polars as pl

from builder.parameters import TranslationParameters
from builder.translation.engine import CTranslate2Engine
from builder.translation.layout import split_into_sentences
from workflows.train_translator.evaluate import evaluate
from workflows.train_translator.points import BEAM_SETS

BEAMS = (1, 2, 3, 4)
COMPARED = (1, 4)
"""Widths at which a model that is only compared is timed."""
PAGES = 120
"""Pages that are timed."""


def read_pages(path: Path) -> list[str]:
    """Texts of `PAGES` pages, evenly spaced in a JSON lines file with the field `text`."""
    texts = pl.read_ndjson(path)["text"].drop_nulls()
    return texts.gather_every(max(texts.len() // PAGES, 1))[:PAGES].to_list()


def measure(folders: dict[str, Path], pages: list[str], data: Path) -> list[dict[str, Any]]:
    """Measure time and quality by beam width.

    Args:
        folders: Model folders by name; the last is measured at every width, including quality.
        pages: Texts to translate.
        data: Folder with the validation set.
    """
    sentences = [
        [segment.text for segment in split_into_sentences(page).segments] for page in pages
    ]
    *_, last = folders
    found = []
    for name, folder in folders.items():
        for beam in BEAMS if name == last else COMPARED:
            seconds = _seconds(folder, beam, sentences) / len(pages)
            row: dict[str, Any] = {"model": name, "beam_size": beam, "seconds_a_page": seconds}
            row["scores"] = {}
            if name == last:
                scores = evaluate(folder, data, beam_size=beam, names=BEAM_SETS)
                row["scores"] = scores["scores"]
            found.append(row)
    return found


def _seconds(folder: Path, beam: int, pages: list[list[str]]) -> float:
    """CPU seconds on one thread, excluding the loading of the model."""
    engine = CTranslate2Engine.load(folder, TranslationParameters(model=folder, beam_size=beam), 1)
    start = time.process_time()
    for _ in engine.translate_blocks(pages):
        pass
    return time.process_time() - start
