"""Evaluate a model: BLEU and chrF on the test sets, and fidelity of the conversion.

In: a model folder, the test sets (French and English per line), and the PyTorch model. Out: a
dictionary of figures. Sentences are translated by the engine that translates collections. Compute
types other than int8 are batched, which changes scores within rounding.
"""

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sacrebleu

from builder.parameters import TranslationParameters
from builder.translation.engine import CTranslate2Engine
from workflows.train_translator.prepare import read_pairs
from workflows.train_translator.vocabulary import END, START

if TYPE_CHECKING:
    from workflows.train_translator.model import Transformer

COMPARED = 200
"""Sentences on which the conversion is compared with PyTorch, piece by piece."""
LONGEST = 100
BEAM = 4
"""Beam width evaluated in addition to greedy decoding."""


def evaluate(
    folder: Path,
    tests: Path,
    compute_type: str = "int8",
    beam_size: int = 1,
    names: Container[str] | None = None,
) -> dict[str, Any]:
    """BLEU, chrF and signatures of a model on test sets.

    Args:
        folder: The model, as CTranslate2 reads it.
        tests: Folder with `*.tsv.gz`.
        compute_type: Compute type of CTranslate2.
        beam_size: Beam width.
        names: Test sets to translate; None: all.
    """
    params = TranslationParameters(
        model=folder,
        beam_size=beam_size,
        compute_type=compute_type,
        batching="exact" if compute_type == "int8" else "fast",
    )
    engine = CTranslate2Engine.load(folder, params, 2)
    scores = {}
    for path in sorted(tests.glob("*.tsv.gz")):
        name = path.name.removesuffix(".tsv.gz").removeprefix("ts_")
        if names is not None and name not in names:
            continue
        pairs = list(read_pairs(path))
        found = [output.text for output in engine.translate([french for french, _ in pairs])]
        references = [[english for _, english in pairs]]
        bleu, chrf = sacrebleu.metrics.BLEU(), sacrebleu.metrics.CHRF()
        scores[name] = {
            "sentences": len(pairs),
            "bleu": round(bleu.corpus_score(found, references).score, 2),
            "chrf": round(chrf.corpus_score(found, references).score, 2),
        }
    signature = str(bleu.get_signature())
    return {"beam_size": beam_size, "signature": signature, "scores": scores}


def compare_with_pytorch(model: "Transformer", folder: Path, tests: Path) -> dict[str, int]:
    """Count the sentences whose greedy output by the converted model equals PyTorch's.

    Args:
        model: The PyTorch model, in evaluation mode.
        folder: The converted model, in float32.
        tests: Folder with test sets, of which the first lines of one are used.
    """
    import torch

    from workflows.train_translator.model import greedy_decode

    params = TranslationParameters(model=folder, compute_type="float32")
    engine = CTranslate2Engine.load(folder, params, 2)
    source, target = engine.model.load_tokenizers()
    sentences = [french for french, _ in read_pairs(min(tests.glob("*.tsv.gz")))][:COMPARED]
    same = 0
    for sentence in sentences:
        pieces = source.encode(sentence)
        ours = greedy_decode(model, torch.tensor([[*pieces, END]]), START, END, LONGEST)
        (theirs,) = engine.translator.translate_batch(
            [source.encode(sentence, out_type=str)], beam_size=1, max_decoding_length=LONGEST
        )
        same += target.decode(ours) == target.decode(theirs.hypotheses[0])
    return {"sentences": len(sentences), "same": same}
