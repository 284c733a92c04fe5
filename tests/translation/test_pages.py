"""Pages through a translator in two threads: order, whole texts kept, errors and stops."""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import FormatError
from builder.parameters import TranslationParameters
from builder.translation import pages as pages_module
from builder.translation.memory import TranslationMemory
from builder.translation.pages import translate_documents
from builder.translation.parts import ModelOutput
from builder.translation.sentences import TranslatedSentence, Translation
from builder.translation.text_cache import TextCache
from builder.translation.translator import Translator
from tests.thorough import examples


class UpperEngine:
    """Answers in capitals, and remembers what it was asked."""

    def __init__(self) -> None:
        self.identity = {"model": "upper"}
        self.asked: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        self.asked += sentences
        return [ModelOutput(sentence.upper(), 3) for sentence in sentences]


PARAMS = TranslationParameters(retry=False, on_copied_source="keep")


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[tuple[TranslationMemory, TextCache]]:
    with (
        TranslationMemory(tmp_path / "memory.sqlite") as memory,
        TextCache(tmp_path / "texts.sqlite") as texts,
    ):
        yield memory, texts


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every page is a group of its own."""
    monkeypatch.setattr(pages_module, "CHUNK_BYTES", 1)
    monkeypatch.setattr(pages_module, "NEW_BYTES", 1)


def frame(*numbers: int) -> pl.DataFrame:
    """Pages; every third has the title of another."""
    texts = [f"La page numéro {n} est ici.\n\nElle parle du chat {n}." for n in numbers]
    return pl.DataFrame({"text": texts, "title": [f"Le titre de {n % 3}" for n in numbers]})


def test_groups_come_back_in_order_with_all_their_fields(
    kept: tuple[TranslationMemory, TextCache],
) -> None:
    memory, texts = kept
    frames = [frame(*range(n, n + 4)) for n in range(0, 40, 4)]
    engine = UpperEngine()
    found = list(translate_documents(frames, Translator(engine, memory, PARAMS), texts))
    assert [pages.rows() for pages, _ in found] == [[row] for f in frames for row in f.rows()]
    plain = Translator(UpperEngine(), memory, PARAMS)
    for pages, fields in found:
        for name in ("text", "title"):
            assert fields[name] == plain.translate(pages[name].to_list())
    assert sorted(engine.asked) == sorted(set(engine.asked))


def test_a_text_seen_before_is_not_even_taken_apart(
    kept: tuple[TranslationMemory, TextCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, texts = kept
    first = list(
        translate_documents([frame(1, 2, 3)], Translator(UpperEngine(), memory, PARAMS), texts)
    )
    translator = Translator(UpperEngine(), memory, PARAMS)
    prepared: list[str] = []
    monkeypatch.setattr(
        translator,
        "prepare",
        lambda texts: prepared.extend(texts) or Translator.prepare(translator, texts),
    )
    second = list(translate_documents([frame(1, 2, 3, 4)], translator, texts))
    assert {name: found[:3] for name, found in second[0][1].items()} == first[0][1]
    assert prepared == [frame(4)["text"][0]]
    other = PARAMS.model_copy(update={"on_numbers_differ": "source"})
    translator = Translator(UpperEngine(), memory, other)
    ((_, fields),) = translate_documents([frame(1)], translator, texts)
    assert "source_kept" not in fields["text"][0].sentences[0].flags
    assert translator.counts.asked > 0


def test_an_error_in_decoding_ends_the_work(kept: tuple[TranslationMemory, TextCache]) -> None:
    memory, texts = kept

    class Failing(UpperEngine):
        def translate(
            self, sentences: Sequence[str], *, is_retry: bool = False
        ) -> list[ModelOutput]:
            if len(self.asked) > 6:
                raise FormatError("broken", Path("model"))
            return super().translate(sentences, is_retry=is_retry)

    translator = Translator(Failing(), memory, PARAMS)
    with pytest.raises(FormatError, match="broken"):
        list(translate_documents([frame(n) for n in range(9)], translator, texts))
    assert "translate" not in {thread.name.split("_")[0] for thread in threading.enumerate()}


def test_a_stop_leaves_no_thread_at_work(kept: tuple[TranslationMemory, TextCache]) -> None:
    memory, texts = kept
    engine = UpperEngine()
    work = translate_documents(
        [frame(n) for n in range(9)], Translator(engine, memory, PARAMS), texts
    )
    next(work)
    work.close()
    assert len(engine.asked) < 12  # of 21
    assert "translate" not in {thread.name.split("_")[0] for thread in threading.enumerate()}


def test_a_damaged_row_is_as_if_it_were_not_there(tmp_path: Path) -> None:
    path = tmp_path / "texts.sqlite"
    made = {
        t: Translation(t.upper(), (TranslatedSentence(t, t.upper(), ("markup",)),))
        for t in ("a", "é\n")
    }
    with TextCache(path) as texts:
        texts.add("namespace", made)
        assert texts.lookup("namespace", ["a", "é\n", "b"]) == made
    connection = sqlite3.connect(path)
    connection.execute("UPDATE texts SET found = found || x'00'")
    connection.commit()
    connection.close()
    with TextCache(path) as texts:
        assert texts.lookup("namespace", ["a", "é\n"]) == {}


@settings(max_examples=examples(60))
@given(
    st.lists(st.lists(st.text(alphabet="aé. \n", max_size=30), max_size=8), max_size=4),
    st.integers(1, 40),
    st.integers(1, 90),
)
def test_pages_are_those_translated_one_by_one(
    texts: list[list[str]], chunk: int, most: int
) -> None:
    schema = {"text": pl.String, "title": pl.String}
    frames = [pl.DataFrame({"text": of, "title": ["Le t"] * len(of)}, schema) for of in texts]
    with (
        pytest.MonkeyPatch.context() as patch,
        TemporaryDirectory() as folder,
        TranslationMemory(Path(folder) / "memory.sqlite") as memory,
        TextCache(Path(folder) / "texts.sqlite") as kept,
    ):
        patch.setattr(pages_module, "CHUNK_BYTES", chunk)
        patch.setattr(pages_module, "NEW_BYTES", most)
        patch.setattr(pages_module, "HELD_BYTES", 2 * most)
        for _ in range(2):
            engine = UpperEngine()
            found = list(translate_documents(frames, Translator(engine, memory, PARAMS), kept))
            assert [t for pages, _ in found for t in pages["text"]] == list(chain(*texts))
            plain = Translator(UpperEngine(), memory, PARAMS)
            made = [translation for _, fields in found for translation in fields["text"]]
            assert made == plain.translate(list(chain(*texts)))
        assert engine.asked == []


def test_a_file_damaged_inside_is_begun_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.sqlite"
    outputs = {
        f"Phrase {n} du texte.": ModelOutput(f"Sentence {n} of the text." * 9) for n in range(900)
    }
    with TranslationMemory(path) as memory:
        memory.add("namespace", outputs)
    data = bytearray(path.read_bytes())
    for page in range(2, len(data) // 4096):
        data[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(data)
    with TranslationMemory(path) as memory:
        found = memory.lookup("namespace", list(outputs))
        assert all(outputs[sentence] == output for sentence, output in found.items())
        assert len(found) < len(outputs)
        memory.add("namespace", outputs)
        memory.add("namespace", outputs)
        assert memory.lookup("namespace", list(outputs)) == outputs


def _group_sizes(
    frames: list[pl.DataFrame],
    cache: TextCache,
    monkeypatch: pytest.MonkeyPatch,
    new_bytes: int,
    held_bytes: int,
) -> list[list[int]]:
    """Rows of each chunk of each group; a chunk holds 8 bytes."""
    monkeypatch.setattr(pages_module, "CHUNK_BYTES", 8)
    monkeypatch.setattr(pages_module, "NEW_BYTES", new_bytes)
    monkeypatch.setattr(pages_module, "HELD_BYTES", held_bytes)
    chunks = pages_module._split_into_chunks(frames)
    groups = pages_module._group_chunks_by_size(chunks, cache, "n")
    return [[chunk.height for chunk in group.chunks] for group in groups]


def test_groups_end_where_enough_text_is_new_or_held(
    kept: tuple[TranslationMemory, TextCache], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every page has four bytes of text, of which those of the title are the same."""
    _, cache = kept
    frames = [
        pl.DataFrame({"text": [f"é{n}" for n in numbers], "title": ["t"] * len(numbers)})
        for numbers in ("12345", "6")
    ]
    assert _group_sizes(frames, cache, monkeypatch, 99, 99) == [[2, 2, 1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 7, 99) == [[2], [2], [1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 8, 99) == [[2, 2], [1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 13, 99) == [[2, 2], [1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 14, 99) == [[2, 2, 1], [1]]
    assert _group_sizes(frames, cache, monkeypatch, 99, 7) == [[2], [2], [1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 99, 14) == [[2, 2], [1, 1]]
    assert _group_sizes(frames, cache, monkeypatch, 99, 15) == [[2, 2, 1], [1]]
    cache.add("n", {"é1": Translation("E1", ()), "t": Translation("T", ())})
    assert _group_sizes(frames, cache, monkeypatch, 6, 99) == [[2, 2], [1, 1]]
