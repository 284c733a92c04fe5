"""Training: it stops and goes on, follows steps or minutes, and is exported faithfully."""

import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from builder.simulation import generate_sentence_pairs
from workflows.train_translator.vocabulary import train_vocabulary

torch = pytest.importorskip("torch", reason="training needs PyTorch")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A work folder as `prepare` leaves it."""
    folder = tmp_path_factory.mktemp("training")
    lines = [f"{fr}\t{en}\n" for fr, en in dict.fromkeys(generate_sentence_pairs(99, 600))]
    (folder / "pairs.tsv").write_text("".join(lines[20:]), encoding="utf-8")
    (folder / "validation.tsv").write_text("".join(lines[:20]), encoding="utf-8")
    train_vocabulary(folder, 700)
    return folder


def test_training_stops_resumes_and_is_exported_faithfully(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.config import ModelConfig
    from workflows.train_translator.export import average_checkpoints, export
    from workflows.train_translator.model import Transformer, greedy_decode
    from workflows.train_translator.train import Settings, Trainer, checkpoints

    torch.set_num_threads(1)
    vocabulary = work / "shared.spm"
    shape = ModelConfig(vocabulary=700, width=64, inner=96, heads=2, encoder=2, decoder=1)
    said: list[str] = []
    Trainer(work, shape, Settings(steps=12, tokens=200, save_steps=5)).train(said.append)
    assert [int(path.stem) for path in checkpoints(work)] == [5, 10, 12]
    again = Trainer(work, shape, Settings(steps=12))
    assert again.state.step == 12
    assert any("saved" in line for line in said)
    model = average_checkpoints(work)
    assert isinstance(model, Transformer)
    exported = export(model, vocabulary, tmp_path / "m", None)
    import ctranslate2
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(model_file=str(vocabulary))
    translator = ctranslate2.Translator(str(exported), compute_type="float32")
    for french, _ in generate_sentence_pairs(5, 20):
        ids = pieces.encode(french)
        ours = greedy_decode(model, torch.tensor([[*ids, 2]]), 1, 2, 20)
        (theirs,) = translator.translate_batch(
            [pieces.encode(french, out_type=str)], beam_size=1, max_decoding_length=20
        )
        assert pieces.decode(ours) == pieces.decode(theirs.hypotheses[0])
    _test_going_on(model, shape, vocabulary, tmp_path)


def _test_going_on(model: Any, shape: Any, vocabulary: Path, folder: Path) -> None:
    """An exported model is read back: exactly as float32, to its steps as int8."""
    from workflows.train_translator.export import export
    from workflows.train_translator.model import Transformer
    from workflows.train_translator.train import Settings, Trainer
    from workflows.train_translator.warm import copy_weights, read_weights, shape_of

    for kind, room in ((None, 0.0), ("int8", 1 / 127)):
        exported = export(model, vocabulary, folder / f"again-{kind}", kind)
        found = Transformer(shape)
        weights = read_weights(exported / "model.bin")
        assert replace(shape_of(weights), dropout=shape.dropout) == shape
        copy_weights(found, weights)
        for (name, one), (_, other) in zip(
            model.named_parameters(), found.named_parameters(), strict=True
        ):
            largest = float(one.detach().abs().max())
            assert float((one - other).detach().abs().max()) <= room * largest + 1e-7, name
    (folder / "pairs.tsv").write_text("")
    (folder / "shared.spm").write_bytes(vocabulary.read_bytes())
    went_on = Trainer(folder, shape, Settings(start=folder / "again-None"))
    assert torch.equal(went_on.model.embedding.weight, model.embedding.weight)
    (folder / "again-None" / "model.bin").write_bytes(
        (folder / "again-None" / "model.bin").read_bytes() + b"x"
    )
    with pytest.raises(ValueError, match="more bytes"):
        read_weights(folder / "again-None" / "model.bin")


def test_minutes_decide_when_the_rate_falls_and_training_ends(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.train import Settings, Trainer

    trainer = Trainer(_copied(work, tmp_path), _tiny(), Settings(minutes=2, fall=0.5, rate=1.0))
    trainer.state.step = 1000
    rates = []
    for seconds in (0, 60, 90, 119, 200):
        trainer.state.seconds = seconds
        rates.append(round(trainer._rate(), 3))
    assert rates == [1.0, 1.0, 0.5, 0.017, 0.0]
    trainer.train(lambda _: None)
    assert trainer.state.step == 1000  # more than its minutes were over


def test_a_longer_training_goes_on_from_a_checkpoint(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.train import Settings, Trainer, checkpoints

    folder = _copied(work, tmp_path)
    Trainer(folder, _tiny(), Settings(steps=3, tokens=200)).train(lambda _: None)
    again = Trainer(folder, _tiny(), Settings(steps=5, tokens=200))
    assert again._rate() > 0
    again.train(lambda _: None)
    assert [int(path.stem) for path in checkpoints(folder)] == [3, 5]


def test_new_embeddings_are_means_of_old_pieces(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.export import average_checkpoints, export
    from workflows.train_translator.train import Settings, Trainer
    from workflows.train_translator.warm import read_weights, start_weights

    folder = _copied(work, tmp_path)
    Trainer(folder, _tiny(), Settings(steps=1, tokens=200)).train(lambda _: None)
    old = export(average_checkpoints(folder), folder / "shared.spm", tmp_path / "old", None)
    new = train_vocabulary(_copied(work, tmp_path / "new"), 600)
    before, after = read_weights(old / "model.bin"), start_weights(old, new)
    name = "decoder/embeddings/weight"
    assert after[name].shape == (600, before[name].shape[1])
    assert torch.equal(after[name][:3], before[name][:3])
    other = "encoder/layer_0/ffn/linear_0/weight"
    assert torch.equal(after[other], before[other])


def _tiny() -> Any:
    from workflows.train_translator.config import ModelConfig

    return ModelConfig(vocabulary=700, width=64, inner=96, heads=2, encoder=2, decoder=1)


def _copied(work: Path, folder: Path) -> Path:
    """What `prepare` made, without checkpoints."""
    folder.mkdir(exist_ok=True)
    for name in ("pairs.tsv", "validation.tsv", "shared.spm"):
        (folder / name).write_bytes((work / name).read_bytes())
    return folder


def test_a_packed_training_runs_elsewhere(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.pack import pack

    folder = _copied(work, tmp_path / "here")
    (folder / "prepared.json").write_text("{}")
    archive = tmp_path / "out/train.tar.xz"
    assert pack(folder, archive, None) == archive.stat().st_size
    with tarfile.open(archive) as file:
        file.extractall(tmp_path / "there", filter="data")
    steps = ["train", "--work", "../work", "--steps", "1", "--tokens", "200"]
    command = [sys.executable, "-m", "workflows.train_translator", *steps]
    subprocess.run(command, cwd=tmp_path / "there/code", check=True, capture_output=True)
    assert (tmp_path / "there/work/checkpoints/000001.pt").is_file()


def test_a_pack_that_is_too_large_is_refused(
    work: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from workflows.train_translator import pack

    monkeypatch.setattr(pack, "LIMIT", 1000)
    folder = _copied(work, tmp_path / "here")
    (folder / "prepared.json").write_text("{}")
    with pytest.raises(SystemExit, match="more than 1,000"):
        pack.pack(folder, tmp_path / "train.tar.xz", None)


def test_weights_in_half_precision_are_exported_elsewhere(work: Path, tmp_path: Path) -> None:
    from workflows.train_translator.export import average_checkpoints
    from workflows.train_translator.train import Settings, Trainer, save_weights

    folder = _copied(work, tmp_path / "trained")
    Trainer(folder, _tiny(), Settings(steps=2, tokens=200)).train(lambda _: None)
    (tmp_path / "checkpoints").mkdir()
    save_weights(folder).rename(tmp_path / "checkpoints/000002.pt")
    there, here = average_checkpoints(folder), average_checkpoints(tmp_path)
    for (name, one), (_, other) in zip(
        there.named_parameters(), here.named_parameters(), strict=True
    ):
        assert torch.allclose(one, other, rtol=2**-10, atol=1e-7), name
        assert other.dtype == torch.float32


def test_padding_changes_nothing(work: Path) -> None:
    from workflows.train_translator.model import Transformer

    torch.manual_seed(3)
    model = Transformer(_tiny()).eval()
    source, target = torch.randint(5, 700, (2, 6)), torch.randint(5, 700, (2, 7))
    alone = model.loss(source, target, 0, 0.1)
    padded = [torch.nn.functional.pad(side, (0, 5)) for side in (source, target)]
    assert torch.allclose(model.loss(*padded, 0, 0.1), alone, atol=1e-5)
    states = model.encode(padded[0], (padded[0] != 0)[:, None, None, :])
    assert torch.allclose(states[:, :6], model.encode(source), atol=1e-5)
