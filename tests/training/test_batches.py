"""Batches: every pair once an epoch, in few shapes, and pieces as they were encoded."""

from pathlib import Path

import numpy as np
import pytest

from builder.simulation import generate_sentence_pairs
from workflows.train_translator import vocabulary
from workflows.train_translator.vocabulary import Encoded, Texts, encode, read, train_vocabulary

TEXTS = [[5], [7, 8, 9], [], [6, 6]]


def test_texts_are_laid_out_and_padded() -> None:
    texts = Texts.of(TEXTS)
    assert texts.pieces.tolist() == [5, 7, 8, 9, 6, 6]
    assert texts.lengths.tolist() == [1, 3, 0, 2]
    rows = np.array([3, 0, 1])
    assert texts.padded(rows).tolist() == [[6, 6, 0], [5, 0, 0], [7, 8, 9]]
    joined = Texts.joined([texts, Texts.of([]), texts])
    assert joined.lengths.tolist() == [1, 3, 0, 2] * 2
    assert joined.padded(np.array([5])).tolist() == [[7, 8, 9]]


def test_a_pair_is_read_as_often_as_its_third_column_says(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("un\tone\t3\ndeux\ttwo\n", "utf-8")
    assert list(read(tmp_path / "pairs.tsv")) == [("un", "one")] * 3 + [("deux", "two")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vocabulary of a few hundred pieces."""
    folder = tmp_path_factory.mktemp("batches")
    lines = [f"{fr}\t{en}\n" for fr, en in generate_sentence_pairs(99, 600)]
    (folder / "pairs.tsv").write_text("".join(lines), "utf-8")
    return train_vocabulary(folder, 700)


def test_processes_encode_what_one_process_encodes(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = list(generate_sentence_pairs(5, 100))
    whole = encode(pairs, model, 20)
    monkeypatch.setattr(vocabulary, "CHUNK", 40)
    parts = encode(iter(pairs), model, 20)
    for one, other in ((whole.sources, parts.sources), (whole.targets, parts.targets)):
        assert one.pieces.tolist() == other.pieces.tolist()
        assert one.ends.tolist() == other.ends.tolist()
    assert whole.targets.lengths.max() <= 22
    rewritten = encode(pairs, model, 20, augmented=True)
    assert rewritten.sources.pieces.tolist() != whole.sources.pieces.tolist()


def test_an_epoch_has_every_pair_once_in_batches_of_few_shapes(model: Path) -> None:
    pytest.importorskip("torch", reason="batches are PyTorch's tensors")
    from workflows.train_translator.batches import epoch

    encoded = encode(generate_sentence_pairs(5, 900), model, 80)
    batches = list(epoch(encoded, 400, seed=1, number=0))
    seen = sorted(
        tuple([piece for piece in text.tolist() if piece] for text in pair)
        for sources, targets in batches
        for pair in zip(sources, targets, strict=True)
    )
    assert seen == sorted(
        tuple(side.padded(row)[0].tolist() for side in (encoded.sources, encoded.targets))
        for row in np.arange(len(encoded.sources.ends))[:, None]
    )
    shapes = set()
    for sources, targets in batches:
        assert sources.shape[1] % 8 == targets.shape[1] % 8 == 0
        assert (sources[:, -8] != 0).all()
        width = max(sources.shape[1], targets.shape[1])
        assert len(sources) * width <= 400 or len(sources) == 1
        shapes.add((len(sources), sources.shape[1], targets.shape[1]))
    assert len(shapes) < len(batches) / 3
    again, other = (list(epoch(encoded, 400, seed=1, number=number)) for number in (0, 1))
    assert [source.tolist() for source, _ in again] == [source.tolist() for source, _ in batches]
    assert [source.tolist() for source, _ in other] != [source.tolist() for source, _ in batches]


def test_a_pair_longer_than_a_batch_is_a_batch_of_its_own() -> None:
    pytest.importorskip("torch", reason="batches are PyTorch's tensors")
    from workflows.train_translator.batches import epoch

    sources = Texts.of([[5, 2], [6, 2], [7, 2]])
    targets = Texts.of([[1, 2], [1, *[9] * 38, 2], [1, 2]])
    sizes = [len(source) for source, _ in epoch(Encoded(sources, targets), 16, 1, 0)]
    assert sorted(sizes) == [1, 2]
