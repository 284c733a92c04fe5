"""Sentences, the engine on a real model, and the stage."""

import shutil
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

import builder
from builder.errors import FormatError
from builder.parameters import TranslateParameters
from builder.translation.engine import Engine
from builder.translation.sentences import cut, join, split, split_line


@pytest.mark.parametrize(
    ("line", "sentences"),
    [
        ("Il dort. Elle mange !  Et toi ?", ["Il dort.", "Elle mange !", "Et toi ?"]),
        (
            "M. Roux et Mme. Petit rient. Enfin.",
            ["M. Roux et Mme. Petit rient.", "Enfin."],
        ),
        ("Voir p. 12 et art. 3 du code.", ["Voir p. 12 et art. 3 du code."]),
        ("« Oui. » Il part.", ["« Oui. »", "Il part."]),
        ("Le prix est de 3.50 euros. 20 places.", ["Le prix est de 3.50 euros.", "20 places."]),
        ("- un élément", ["- un élément"]),
        ("J. R. Martin écrit.", ["J. R. Martin écrit."]),
        ("   ", []),
    ],
)
def test_sentences(line: str, sentences: list[str]) -> None:
    assert split_line(line) == sentences


@given(st.text())
def test_no_character_but_space_is_lost(text: str) -> None:
    joined = join(split(text))
    assert joined.count("\n") == text.count("\n")
    assert "".join(joined.split()) == "".join(text.split())


@given(st.text(alphabet="ab ,;", max_size=80), st.integers(1, 9))
def test_cut_pieces_are_short_and_whole(text: str, most: int) -> None:
    pieces = cut(text, most, len)
    assert all(len(piece) <= most for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_long_sentence_is_cut_at_a_clause() -> None:
    assert cut("un deux trois, quatre cinq six", 16, len) == ["un deux trois,", "quatre cinq six"]


def load(folder: Path, **params: object) -> Engine:
    """The model with other parameters than the defaults."""
    options = {"compute_type": "float32", "model": folder, **params}
    return Engine.load(folder, TranslateParameters.model_validate(options), threads=1)


@pytest.mark.parametrize("compute_type", ["float32", "int8"])
def test_the_model_translates(model: Path, compute_type: str) -> None:
    engine = load(model, compute_type=compute_type)
    assert engine.translate(["le chat noir dort", "un chien", "le chat noir dort"]) == [
        "the cat black sleeps",
        "a dog",
        "the cat black sleeps",
    ]


def test_who_ends_a_sentence_is_read_from_the_model(toy: ModuleType, tmp_path: Path) -> None:
    ended = toy.build(tmp_path / "ended", add_source_eos=True)
    engine = load(ended)
    assert not engine.append_eos
    assert engine.translate(["le chat dort"]) == ["the cat sleeps"]


def test_order_batches_and_threads_do_not_matter(model: Path) -> None:
    words = ["le", "chat", "noir", "et", "un", "chien", "mange", "dans"]
    texts = [" ".join(words[i % 8] for i in range(n, n + 1 + n % 9)) for n in range(60)]
    expected = load(model).translate(texts)
    assert load(model, batch_tokens=7).translate(texts) == expected
    two = Engine.load(model, TranslateParameters(compute_type="float32", model=model), threads=2)
    assert two.translate(texts[::-1]) == expected[::-1]


def test_long_sentences_are_cut_and_never_truncated(model: Path) -> None:
    text = " ".join(["le", "chat", "et"] * 40)
    assert load(model, max_source_pieces=10).translate([text]) == [
        " ".join(["the", "cat", "and"] * 40)
    ]


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
