"""Texts, files and tables translated outside a collection, and what the stage makes of tables."""

import io
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from builder.errors import FormatError, UsageError
from builder.io.tables import Table
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.translation import standalone, workers
from builder.translation.engines import load_engine
from builder.translation.parts import ModelOutput
from builder.translation.sentences import Translation
from builder.translation.stage import (
    _copy_untranslated,
    _estimate_token_count,
    add_english_columns,
    find_query_collisions,
)
from builder.translation.standalone import translate_file
from schemas import GatheredDocuments, SplitQueries


class UpperEngine:
    """Answers in capitals with an `E` in front."""

    def __init__(self) -> None:
        self.identity = {"model": "upper"}

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def translate(self, sentences: Sequence[str], *, is_retry: bool = False) -> list[ModelOutput]:
        return [ModelOutput(f"E {sentence.upper()}", 3) for sentence in sentences]


@pytest.fixture
def options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Parameters with a model that answers in capitals, and limits."""
    monkeypatch.setattr(standalone, "load_engine", lambda *_: UpperEngine())
    (tmp_path / "scratch").mkdir()
    params = TranslationParameters(model=tmp_path, retry=False)
    return {"params": params, "limits": ResourceLimits(tmp_path / "scratch", threads=1)}


def test_a_text_file_keeps_its_lines(options: dict[str, Any], tmp_path: Path) -> None:
    file, out = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_bytes("\ufeffUn chat.\n\nLe chien dort\n".encode())
    (found,) = translate_file(file, out, **options)
    assert out.read_bytes() == b"E UN CHAT.\n\nE LE CHIEN DORT\n"
    assert [sentence.source for sentence in found.sentences] == ["Un chat.", "Le chien dort"]
    stream = io.BytesIO()
    translate_file(file, stream, **options, kind="query")
    assert stream.getvalue() == b"E UN CHAT.\n\nE LE CHIEN DORT\n"
    assert len(translate_file(file, out, **options, kind="query")) == 4


def test_a_table_gets_two_columns(options: dict[str, Any], tmp_path: Path) -> None:
    file, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    texts = ["Un chat. 12.", None, "", "<b>Un</b> chien"]
    pl.DataFrame({"n": [1, 2, 3, 4], "t": texts}).write_parquet(file)
    assert len(translate_file(file, out, **options, column="t")) == 4
    assert pl.read_parquet(out).to_dicts() == [
        {"n": 1, "t": texts[0], "t_en": "E UN CHAT. 12.", "t_flags": ["untranslatable"]},
        {"n": 2, "t": None, "t_en": None, "t_flags": []},
        {"n": 3, "t": "", "t_en": "", "t_flags": []},
        {"n": 4, "t": texts[3], "t_en": "e <B>UN</B> CHIEN", "t_flags": ["markup"]},
    ]
    pl.DataFrame({"t": ["Un chat"]}, {"t": pl.Categorical}).write_parquet(file)
    translate_file(file, out, **options, column="t")
    assert pl.read_parquet(out)["t_en"].to_list() == ["E UN CHAT"]


@pytest.mark.parametrize(
    ("names", "arguments", "message"),
    [
        (("no.txt", "b.txt"), {}, "{folder}/no.txt: no such file; expected a text or Parquet file"),
        (
            ("a.txt", "b.parquet"),
            {},
            "--out: expected the same file type as the input a.txt, found b.parquet",
        ),
        (
            ("a.parquet", "b.txt"),
            {},
            "--out: expected the same file type as the input a.parquet, found b.txt",
        ),
        (
            ("a.parquet", None),
            {},
            "a.parquet: expected an output file for a Parquet table, found none; use --out",
        ),
        (
            ("a.parquet", "b.parquet"),
            {"column": "n"},
            "--column: expected a text column of a.parquet, found none named 'n'",
        ),
        (
            ("a.parquet", "b.parquet"),
            {"column": "x"},
            "--column: expected a text column of a.parquet, found none named 'x'",
        ),
        (
            ("a.parquet", "b.parquet"),
            {"column": "u"},
            (
                "a.parquet: expected no column 'u_flags', because results are written to a new "
                "column of this name; rename the existing column"
            ),
        ),
        (
            ("a.txt", "b.txt"),
            {"params": TranslationParameters()},
            "expected a translation model, found none; use --model DIR",
        ),
        (
            ("a.txt", "b.txt"),
            {"params": TranslationParameters(model=Path("/nowhere"))},
            ("--model: /nowhere: no such folder; expected the folder of a translation model"),
        ),
    ],
)
def test_what_cannot_be_translated_is_told(
    options: dict[str, Any],
    names: tuple[str, str | None],
    arguments: dict[str, Any],
    message: str,
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("Un chat")
    pl.DataFrame({"n": [1], "t": ["a"], "t_en": ["b"], "u": ["c"], "u_flags": ["d"]}).write_parquet(
        tmp_path / "a.parquet"
    )
    out = io.BytesIO() if names[1] is None else tmp_path / names[1]
    with pytest.raises(UsageError) as caught:
        translate_file(tmp_path / names[0], out, **options | arguments)
    assert str(caught.value) == message.format(folder=tmp_path)


def test_a_text_that_is_not_utf_8_is_named(options: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"Un caf\xe9")
    with pytest.raises(FormatError, match=r"a\.txt: expected UTF-8 text: .*0xe9 in position 6"):
        translate_file(tmp_path / "a.txt", io.BytesIO(), **options)


def _documents(folder: Path, *texts: str) -> Table[GatheredDocuments]:
    frame = pl.DataFrame({"title": ["Un"] * len(texts), "text": texts})
    frame.write_parquet(folder / "part-0.parquet")
    return Table((folder / "part-0.parquet",), GatheredDocuments)


def test_tokens_are_estimated_from_the_first_hundred_documents(tmp_path: Path) -> None:
    """100 texts of 10 characters and 2 words, then texts of 1,000 characters; titles of 2."""

    def estimate(*texts: str) -> int:
        return _estimate_token_count(_documents(tmp_path, *texts), lambda text: len(text.split()))

    assert estimate("abcd efghi", "a") == 4  # 3 tokens of 11 characters, of 15: 4.09
    assert estimate(*["abcd efghi"] * 100, "x" * 1000) == 440  # 2202 * 200 / 1000
    assert estimate(*["abcd efghi"] * 99, "x" * 10, "x" * 10) == 241  # 1212 * 199 / 1000
    assert estimate("") == 0


def test_queries_with_the_same_english_text_collide() -> None:
    queries = pl.DataFrame(
        {
            "query_id": ["a", "b", "c", "d", "e"],
            "text": ["l'été", "été !", "hiver", "x", "y"],
            "text_en": ["The summer", "the  Summér!", "winter", "", "?"],
        }
    )
    assert find_query_collisions(queries).rows() == [
        ("a", "l'été", "The summer", "the summer"),
        ("b", "été !", "the  Summér!", "the summer"),
    ]


def test_english_columns_stand_beside_the_french_ones() -> None:
    documents = pl.DataFrame({"title": ["a", "b"], "text": ["c", "d"]})
    fields = {name: [Translation(f"{name} {n}", ()) for n in (1, 2)] for name in ("text", "title")}
    assert add_english_columns(documents, fields).to_dicts() == [
        {"title": "a", "text": "c", "text_en": "text 1", "title_en": "title 1"},
        {"title": "b", "text": "d", "text_en": "text 2", "title_en": "title 2"},
    ]


def test_without_a_model_tables_are_those_of_the_stage_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = _documents(tmp_path, "a", "b", "c")
    (tmp_path / "q.parquet").write_bytes(b"queries")
    queries = Table((tmp_path / "q.parquet",), SplitQueries)
    for number in range(2):  # hard links, then copies
        out = tmp_path / f"out{number}"
        out.mkdir()
        assert _copy_untranslated(out, documents, queries) == 3
        assert (out / "queries.parquet").read_bytes() == b"queries"
        copied = out / "documents/part-0.parquet"
        assert copied.read_bytes() == documents.paths[0].read_bytes()
        assert copied.samefile(documents.paths[0]) == (number == 0)
        for name in ("sentences/part-00000", "translations", "query_collisions"):
            assert pl.read_parquet(out / f"{name}.parquet").height == 0

        def fail(*_: object) -> None:
            raise OSError

        monkeypatch.setattr("os.link", fail)


def test_a_worker_loads_a_model_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded: list[tuple[Path, int]] = []

    def load(folder: Path, _: TranslationParameters, threads: int) -> UpperEngine:
        loaded.append((folder, threads))
        return UpperEngine()

    monkeypatch.setattr(workers, "load_engine", load)
    workers._load_engine_once.cache_clear()
    limits = ResourceLimits(tmp_path, threads=3)
    params, blocks = TranslationParameters(), [["un", "deux"], [], ["trois"]]
    for is_retry in (False, True):
        found = workers.decode_blocks(tmp_path, params, limits, blocks, is_retry=is_retry)
        assert [[output.text for output in block] for block in found] == [
            ["E UN", "E DEUX"],
            [],
            ["E TROIS"],
        ]
    workers._load_engine_once.cache_clear()
    assert loaded == [(tmp_path, 3)]


def test_a_plug_in_must_give_an_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = [UpperEngine(), SimpleNamespace()]
    monkeypatch.setattr(
        "builder.translation.engines.load_plugin", lambda *_: lambda *_: given.pop(0)
    )
    params = TranslationParameters(engine="mine")
    assert isinstance(load_engine(tmp_path, params, 1), UpperEngine)
    with pytest.raises(UsageError) as caught:
        load_engine(tmp_path, params, 1)
    assert str(caught.value) == (
        "plug-in 'mine' in the entry-point group longeval_builder.translators: expected an engine "
        "with the attributes `identity`, `count_tokens` and `translate`, found SimpleNamespace"
    )
