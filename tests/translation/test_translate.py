"""The engine on a real model, and the stage."""

import json
import shutil
import signal
import subprocess
import sys
from concurrent.futures import CancelledError
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import ctranslate2
import polars as pl
import pytest

import builder
from builder import BuildReport
from builder.errors import FormatError
from builder.parameters import TranslationParameters
from builder.translation.engine import CTranslate2Engine
from builder.translation.layout import split_into_sentences
from builder.translation.memory import TranslationMemory
from builder.translation.model import read_model
from builder.translation.parts import ModelOutput, SplitSentence
from builder.translation.text_cache import TextCache


def load(folder: Path, **params: object) -> CTranslate2Engine:
    """The model with other parameters than the defaults."""
    options = {"compute_type": "float32", "model": folder, **params}
    return CTranslate2Engine.load(folder, TranslationParameters.model_validate(options), threads=1)


def english(engine: CTranslate2Engine, sentences: list[str]) -> list[str]:
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
    assert not engine.model.needs_eos
    assert english(engine, ["le chat dort"]) == ["the cat sleeps"]


def test_order_batches_and_threads_do_not_matter(model: Path) -> None:
    words = ["le", "chat", "noir", "et", "un", "chien", "mange", "dans"]
    texts = [" ".join(words[i % 8] for i in range(n, n + 1 + n % 9)) for n in range(60)]
    expected = load(model).translate(texts)
    assert load(model, batch_tokens=7).translate(texts) == expected
    two = CTranslate2Engine.load(
        model, TranslationParameters(compute_type="float32", model=model), threads=2
    )
    assert two.translate(texts[::-1]) == expected[::-1]


class Translator:
    """Scores sequences by the size of their batch, at one beam size.

    Args:
        beam_size: Beam size at which the batch matters.
    """

    compute_type = "float32"

    def __init__(self, beam_size: int) -> None:
        self.beam_size = beam_size

    def translate_batch(
        self, sequences: list[list[str]], *, beam_size: int, **_: object
    ) -> list[SimpleNamespace]:
        score = len(sequences) if beam_size == self.beam_size else 0
        return [SimpleNamespace(scores=[score]) for _ in sequences]


@pytest.mark.parametrize(("dependent", "expected"), [(1, False), (2, True), (4, False)])
def test_a_batch_must_not_matter_at_the_beam_sizes_of_translations_and_retries(
    model: Path, monkeypatch: pytest.MonkeyPatch, dependent: int, *, expected: bool
) -> None:
    monkeypatch.setattr(ctranslate2, "Translator", lambda *_, **__: Translator(dependent))
    assert load(model, beam_size=1).invariant == expected


def test_an_engine_that_is_stopped_gives_up(model: Path) -> None:
    engine = load(model)
    blocks = engine.translate_blocks([["le chat dort"], ["un chien"]] * 40)
    assert next(blocks)[0].text == "the cat sleeps"
    engine.stop()
    with pytest.raises(CancelledError):
        next(blocks)


def test_long_sentences_are_cut_and_never_truncated(model: Path) -> None:
    text = " ".join(["le", "chat", "et"] * 40)
    engine = load(model, max_source_pieces=10)
    (output,) = engine.translate([text])
    assert output.text == " ".join(["the", "cat", "and"] * 40)
    assert output.split
    assert not output.truncated


def test_tokens_of_prefixes_and_ends_are_added(
    model: Path, toy: ModuleType, tmp_path: Path
) -> None:
    plain, prefixed = load(model), load(model, source_prefix="fra", target_prefix="eng")
    assert plain._add_special_tokens(["▁le"]) == ["▁le", "</s>"]
    assert prefixed._add_special_tokens(["▁le"]) == ["fra", "▁le", "</s>"]
    ended = load(toy.build(tmp_path / "ended", add_source_eos=True))
    assert ended._add_special_tokens(["▁le"]) == ["▁le"]
    assert plain.count_tokens("le chat dort") == 3
    assert [plain._max_output_tokens(n) for n in (1, 111, 112, 113)] == [34, 254, 256, 256]
    decoded = [["▁the", "▁cat"], ["▁the"] * 34, []]
    sources = [["▁le", "▁chat"], ["▁miaou"], ["▁un"]]
    assert list(plain._hypotheses_to_outputs(sources, decoded)) == [
        ModelOutput("the cat", 2),
        ModelOutput(" ".join(["the"] * 34), 1, truncated=True, unknown=True),
        ModelOutput("", 1, empty=True),
    ]
    (output,) = prefixed._hypotheses_to_outputs([["▁le"]], [["eng", "▁the"]])
    assert output == ModelOutput("the", 1)


@pytest.mark.parametrize(("device", "threads"), [("cpu", 3), ("cuda", 1)])
def test_the_options_of_decoding_reach_the_engine(
    model: Path, monkeypatch: pytest.MonkeyPatch, device: str, threads: int
) -> None:
    loaded: list[dict[str, object]] = []
    decoded: list[dict[str, object]] = []

    class Noting(Translator):
        def translate_batch(self, sequences: list[list[str]], **options: object) -> list[Any]:
            decoded.append({"sequences": sequences, **options})
            return [SimpleNamespace(scores=[0]) for _ in sequences]

    def create(folder: str, **options: object) -> Translator:
        loaded.append({"folder": folder, **options})
        return Noting(0)

    monkeypatch.setattr(ctranslate2, "Translator", create)
    params = {"compute_type": "int8", "model": model, "device": device, "target_prefix": "eng"}
    options = TranslationParameters.model_validate(params)
    engine = CTranslate2Engine.load(model, options, threads=3)
    assert loaded == [
        {
            "folder": str(model),
            "device": device,
            "compute_type": "int8",
            "inter_threads": threads,
            "intra_threads": 1,
        }
    ]
    decoded.clear()
    batch = [["▁le"], ["▁un"]]
    for is_retry in (False, True):
        engine._submit_batch(batch, is_retry)
    common = {
        "sequences": [["▁le", "</s>"], ["▁un", "</s>"]],
        "target_prefix": [["eng"], ["eng"]],
        "asynchronous": True,
        "max_input_length": 0,
        "max_decoding_length": 34,
        "disable_unk": True,
    }
    assert decoded == [
        {**common, "beam_size": 1},
        {**common, "beam_size": 4, "no_repeat_ngram_size": 4},
    ]


def test_a_failure_of_the_engine_names_the_model(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = load(model)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no position 300")

    monkeypatch.setattr(engine, "translator", SimpleNamespace(translate_batch=fail))
    with pytest.raises(FormatError) as caught:
        engine.translate(["le chat"])
    assert str(caught.value) == (
        f"{model}: CTranslate2 failed: no position 300; if sentences are too long for the model, "
        "lower translate.max_source_pieces and translate.max_target_pieces"
    )
    monkeypatch.setattr(ctranslate2, "Translator", fail)
    with pytest.raises(FormatError) as caught:
        load(model)
    assert str(caught.value) == (
        f"{model}: CTranslate2 cannot load this model with compute_type 'float32' on cpu: "
        "no position 300"
    )


def test_sentences_are_cut_into_copied_and_short_parts(model: Path) -> None:
    engine = load(model, max_source_pieces=8)
    long = "le chat et un chien et le chien, et un chat"
    assert engine.split_sentence("le chat") == SplitSentence((("le chat", False),), False)
    assert engine.split_sentence("voir https://a.example/ le chat") == SplitSentence(
        (("voir ", False), ("https://a.example/", True), (" le chat", False)), False
    )
    assert engine.split_sentence(f"{long} https://a.example") == SplitSentence(
        (
            ("le chat et un chien et le chien,", False),
            (" et un chat ", False),
            ("https://a.example", True),
        ),
        True,
    )
    block = engine._prepare_block(["un chat", "le chat", "un chat", "12"])
    assert block.texts == ["le chat", "un chat"]
    assert block.pieces == [["▁le", "▁chat"], ["▁un", "▁chat"]]


@pytest.mark.parametrize(
    ("invariant", "batching", "batches"),
    [
        (True, "exact", [[0, 1]]),
        (False, "exact", [[0], [1]]),
        (False, "fast", [[0, 1]]),
    ],
)
def test_parts_are_decoded_together_if_that_does_not_matter_or_may_matter(
    model: Path, invariant: bool, batching: str, batches: list[list[int]]
) -> None:
    engine = load(model, batching=batching)
    engine.invariant = invariant
    assert list(engine._group_into_batches([["a", "b"], ["c", "d"]])) == batches


def test_a_vocabulary_and_its_tokenizers_are_read(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(model, folder)
    whole = read_model(folder)
    assert whole.spm == (folder / "source.spm", folder / "target.spm")
    assert "▁chat" in whole.vocabulary
    assert whole.digest == read_model(model).digest
    (folder / "notes.txt").write_text("mine")
    assert read_model(folder).digest == whole.digest
    tokenizer = whole.load_tokenizers()[0]
    (folder / "source.spm").rename(folder / "spm.model")
    shared = read_model(folder)
    assert shared.spm == (folder / "spm.model",) * 2
    assert shared.digest != whole.digest
    (folder / "shared_vocabulary.txt").write_text("▁x\n▁y")
    assert "▁chat" in read_model(folder).vocabulary  # that of the sources counts
    (folder / "source_vocabulary.json").unlink()
    other = read_model(folder)
    assert other.vocabulary == {"▁x", "▁y"}
    with pytest.raises(FormatError) as caught:
        other.load_tokenizers()
    assert str(caught.value) == (
        f"{folder}/spm.model: expected the vocabulary of the translation model to contain at least "
        "50% of the tokens of this SentencePiece model, found 0%; it belongs to a different "
        "translation model"
    )
    pieces = ["<unk>", "<s>", "</s>", *map("▁{}".format, ("le", "la", "chat", "chien", "noir"))]
    (folder / "shared_vocabulary.txt").write_text("\n".join(pieces))
    assert read_model(folder).vocabulary_coverage(tokenizer) == 0.5
    read_model(folder).load_tokenizers()
    for name, text, message in (
        ("spm.model", "x", "expected a SentencePiece model, but loading failed: "),
        ("config.json", "[]", "expected a JSON object, found list"),
        ("config.json", "{", "expected a JSON file of a CTranslate2 model, but reading failed: "),
    ):
        (folder / name).write_text(text)
        with pytest.raises(FormatError) as caught:
            read_model(folder).load_tokenizers()
        assert str(caught.value).startswith(f"{folder}/{name}: {message}")
    (folder / "config.json").write_text("{}")
    (folder / "shared_vocabulary.txt").unlink()
    with pytest.raises(FormatError) as caught:
        read_model(folder)
    assert str(caught.value) == (
        f"{folder}: expected source_vocabulary or shared_vocabulary (.json or .txt), found neither"
    )


@pytest.mark.parametrize("missing", ["source.spm", "model.bin", "config.json"])
def test_what_is_no_model(model: Path, tmp_path: Path, missing: str) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(model, folder)
    (folder / missing).unlink()
    with pytest.raises(FormatError, match="model"):
        load(folder)


def define(world: Path, model: Path, folder: Path) -> Path:
    """A copy of the world whose definition translates with the model."""
    shutil.copytree(world, folder / "world")
    shutil.copytree(model, folder / "world/model")
    definition = folder / "world/workflow.toml"
    options = '[translate]\nmodel = "model"\ncompute_type = "float32"\n'
    definition.write_text(f"{definition.read_text()}\n{options}")
    return definition


@pytest.fixture(scope="module")
def translated(
    world: Path, built: BuildReport, model: Path, tmp_path_factory: pytest.TempPathFactory
) -> BuildReport:
    """The collection of the world, translated."""
    folder = tmp_path_factory.mktemp("translated")
    shutil.copytree(built.root / ".work", folder / "one/.work")
    return builder.build(define(world, model, folder), folder / "one", threads=1)


def test_a_collection_with_english(translated: BuildReport) -> None:
    findings = builder.validate(translated.root, ignore=("LB218",))  # the toy model does run away
    assert findings == []
    june = builder.open_collection(translated.root).snapshot("2022-06")
    documents = june.documents.collect()
    assert documents["text_en"].null_count() == 0
    french, english = (documents[c].str.count_matches("\n") for c in ("text", "text_en"))
    assert french.to_list() == english.to_list()
    assert june.queries.collect()["text_en"].null_count() == 0
    assert translated.version is not None
    assert (translated.version / "trec/2022-06/en/topics.tsv").is_file()


def test_another_model_is_another_translation(
    world: Path, model: Path, translated: BuildReport, tmp_path: Path
) -> None:
    definition = define(world, model, tmp_path)
    shutil.copytree(translated.root, tmp_path / "out")
    assert builder.build(definition, tmp_path / "out").executed_step_count == 0
    (tmp_path / "world/model/config.json").write_text('{"add_source_eos": false, "x": 1}')
    again = builder.build(definition, tmp_path / "out", explain=True)
    reasons = {str(result.step): result.reasons for result in again.results if result.has_run}
    assert reasons["translate 2022-06"] == ("input model model/config.json changed",)


def test_every_sentence_is_published_with_what_stands_for_it(
    translated: BuildReport,
) -> None:
    june = builder.open_collection(translated.root).snapshot("2022-06")
    sentences = pl.scan_parquet(june.folder / "sentences/part-*.parquet").collect()
    went = pl.read_parquet(june.folder / "translations.parquet")
    documents, queries = june.documents.collect(), june.queries.collect()
    ids = pl.concat([documents["doc_id"], queries["query_id"].rename("doc_id")])
    assert went["id"].to_list() == ids.to_list()
    assert sentences.height == went["sentences"].sum()
    assert (
        went.select(
            (
                pl.col("translated") + pl.col("copied") + pl.col("source_kept") + pl.col("dropped")
            ).sum()
        ).item()
        == sentences.height
    )
    assert sentences.equals(sentences.sort("id", "field", "sentence"))
    row = documents.row(0, named=True)
    of_row = sentences.filter(pl.col("id") == row["doc_id"], pl.col("field") == "text")
    assert split_into_sentences(row["text"]).fill(of_row["en"].to_list()) == row["text_en"]
    collisions = pl.read_parquet(june.folder / "query_collisions.parquet")
    doubled = queries.filter(pl.col("text_en").is_duplicated())
    assert set(doubled["query_id"]) <= set(collisions["query_id"])


def test_another_snapshot_translates_what_is_new(translated: BuildReport) -> None:
    (memory,) = translated.root.glob(".work/kept/translate/memory.sqlite")
    with TranslationMemory(memory) as kept:
        decoded = len(kept)
    folders = [
        builder.open_collection(translated.root).snapshot(name).folder
        for name in ("2022-06", "2022-07", "2022-08")
    ]
    frames = [pl.scan_parquet(f / "sentences/part-*.parquet").select("fr") for f in folders]
    distinct = pl.concat(frames).unique().select(pl.len()).collect().item()
    rows = pl.concat(frames).select(pl.len()).collect().item()
    assert decoded <= 2 * distinct < rows


def test_whole_texts_kept_change_nothing_but_time(
    world: Path, model: Path, translated: BuildReport, tmp_path: Path
) -> None:
    shutil.copytree(translated.root, tmp_path / "out")
    kept = tmp_path / "out/.work/kept/translate"
    (kept / "texts.sqlite").write_bytes(b"no database")
    shutil.rmtree(tmp_path / "out/.work/translate")
    report = builder.build(define(world, model, tmp_path), tmp_path / "out", threads=1)
    assert report.executed_step_count > 0
    with (
        TranslationMemory(kept / "memory.sqlite") as memory,
        TextCache(kept / "texts.sqlite") as texts,
    ):
        before = len(memory)
        assert texts.lookup("another namespace", ["Bonjour."]) == {}
    shutil.rmtree(tmp_path / "out/.work/translate")
    (kept / "memory.sqlite").unlink()
    again = builder.build(define(world, model, tmp_path / "two"), tmp_path / "out", threads=2)
    with TranslationMemory(kept / "memory.sqlite") as memory:
        assert len(memory) < before  # only queries were decoded: every page was found whole
    builds = (report, again, translated)
    assert len({(r.version / "SHA256SUMS").read_bytes() for r in builds if r.version}) == 1


KILLED = """
import os, signal, sys
import builder
from builder.translation.memory import TranslationMemory
add, blocks = TranslationMemory.add, []
def killing(self, namespace, outputs):
    add(self, namespace, outputs)
    blocks.append(len(outputs))
    if len(blocks) == 3:
        os.kill(os.getpid(), signal.SIGKILL)
TranslationMemory.add = killing
builder.translation.translator.BLOCK = 64
builder.build(sys.argv[1], sys.argv[2], threads=1)
"""


def hashes_of_translations(root: Path) -> dict[str, dict[str, object]]:
    """Size and SHA-256 of each file that the stage wrote, by snapshot."""
    records = root.glob(".work/translate/*/record.json")
    return {path.parent.name: json.loads(path.read_text())["files"] for path in records}


def test_a_killed_translation_resumes_to_the_same_bytes(
    world: Path, built: BuildReport, model: Path, translated: BuildReport, tmp_path: Path
) -> None:
    definition = define(world, model, tmp_path)
    shutil.copytree(built.root / ".work", tmp_path / "out/.work")
    command = [sys.executable, "-c", KILLED, str(definition), str(tmp_path / "out")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    (memory,) = (tmp_path / "out").glob(".work/kept/translate/memory.sqlite")
    with TranslationMemory(memory) as kept:
        before = len(kept)
    assert before == 3 * 64
    builder.build(definition, tmp_path / "out", until="translate", threads=2)
    found = hashes_of_translations(tmp_path / "out")
    assert sorted(found) == ["2022-06", "2022-07", "2022-08"]
    assert found == hashes_of_translations(translated.root)
