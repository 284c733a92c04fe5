"""The engine on a real model, and the stage."""

import shutil
from pathlib import Path
from types import ModuleType

import pytest
import builder
from builder.errors import FormatError
from builder.parameters import TranslateParameters
from builder.translation.engine import Engine


def load(folder: Path, **params: object) -> Engine:
    """The model with other parameters than the defaults."""
    options = {"compute_type": "float32", "model": folder, **params}
    return Engine.load(folder, TranslateParameters.model_validate(options), threads=1)


def english(engine: Engine, sentences: list[str]) -> list[str]:
    """The outputs' texts."""
    return [output.text for output in engine.translate(sentences)]


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_the_model_translates(model: Path, compute_type: str) -> None:
    engine = load(model, compute_type=compute_type)
    assert english(engine, ["le chat noir dort", "un chien", "le chat noir dort"]) == [
        "the cat black sleeps",
        "a dog",
        "the cat black sleeps",
    ]


def test_who_ends_a_sentence_is_read_from_the_model(toy: ModuleType, tmp_path: Path) -> None:
    ended = toy.build(tmp_path / "ended", add_source_eos=True)
    engine = load(ended)
    assert not engine.model.append_eos
    assert english(engine, ["le chat dort"]) == ["the cat sleeps"]


def test_order_batches_and_threads_do_not_matter(model: Path) -> None:
    words = ["le", "chat", "noir", "et", "un", "chien", "mange", "dans"]
    texts = [" ".join(words[i % 8] for i in range(n, n + 1 + n % 9)) for n in range(60)]
    expected = load(model).translate(texts)
    assert load(model, batch_tokens=7).translate(texts) == expected
    two = Engine.load(model, TranslateParameters(compute_type="float32", model=model), threads=2)
    assert two.translate(texts[::-1]) == expected[::-1]


def test_long_sentences_are_cut_and_never_truncated(model: Path) -> None:
    text = " ".join(["le", "chat", "et"] * 40)
    engine = load(model, max_source_pieces=10)
    (output,) = engine.translate([text])
    assert output.text == " ".join(["the", "cat", "and"] * 40)
    assert output.split
    assert not output.truncated


@pytest.mark.parametrize("missing", ["source.spm", "model.bin", "config.json"])
def test_what_is_no_model(model: Path, tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(model, folder)
    (folder / missing).unlink()
    with pytest.raises(FormatError, match="model"):
        load(folder)


def test_a_collection_with_english(world: Path, model: Path, tmp_path: Path) -> None:
    shutil.copytree(world, tmp_path / "world")
    shutil.copytree(model, tmp_path / "world/model")
    definition = tmp_path / "world/workflow.toml"
    text = definition.read_text()
    text = text[: text.rindex("[[snapshots]]")]
    definition.write_text(text + '\n[translate]\nmodel = "model"\ncompute_type = "float32"\n')
    one = builder.build(definition, tmp_path / "one", threads=1)
    assert builder.validate(one.root) == []
    june = builder.open_collection(one.root).snapshot("2022-06")
    documents = june.documents.collect()
    assert documents["text_en"].null_count() == 0
    french, english = (documents[c].str.count_matches("\n") for c in ("text", "text_en"))
    assert french.to_list() == english.to_list()
    assert june.queries.collect()["text_en"].null_count() == 0
    assert one.version is not None
    assert (one.version / "trec/2022-06/en/topics.tsv").is_file()
    two = builder.build(definition, tmp_path / "two", threads=2)
    assert two.version is not None
    sums = [(v / "SHA256SUMS").read_bytes() for v in (one.version, two.version)]
    assert sums[0] == sums[1]
    (tmp_path / "world/model/config.json").write_text('{"add_source_eos": false, "x": 1}')
    again = builder.build(definition, tmp_path / "one", explain=True)
    reasons = {str(step.unit): step.reasons for step in again.steps if step.ran}
    assert reasons["translate 2022-06"] == ("input model model/config.json changed",)
