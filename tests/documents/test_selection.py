"""Rules, duplicates, languages and coverage on a few rows, and what is reported of them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

from builder.documents import collect_page_verdicts, language, verdicts
from builder.documents.case_tables import (
    NOT_IN_TABLE,
    SEPARATOR,
    WORD_MARK,
    WORD_START,
    character_tables,
    lowercase_non_ascii_in_place,
)
from builder.documents.coverage import _note_other_forms
from builder.documents.duplicates import SignatureFile, find_duplicate_groups
from builder.documents.fingerprints import fingerprint_pages
from builder.documents.language import detect_languages
from builder.documents.row_groups import iter_row_groups
from builder.documents.rules import PageRules
from builder.documents.sketch import BINS, EMPTY, bands_to_frame, sketch_texts
from builder.documents.stage import _write_parts, duplicate_reason_expr
from builder.documents.token_buffer import from_joined_tokens, tokenize, tokenize_chunks
from builder.documents.url_lists import UrlList
from builder.parameters import DocumentParameters, VerdictFilterParameters
from builder.runtime.limits import ResourceLimits
from schemas import Documents
from tests.documents.snapshots import store_pages
from tests.progress import Steps


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def test_the_first_rule_that_excludes_a_page_is_its_reason() -> None:
    urls = ["denied", "denied-shown", "spared", "spam", "both", "shown", "other", "deny-spam"]
    pages = pl.DataFrame(
        {
            "doc_id": [f"d{n:016x}" for n in range(8)],
            "url_key": [f"https://{url}.example/" for url in urls],
        }
    )
    rules = PageRules(
        pl.Series([1, 3, 5], dtype=pl.UInt64),
        DocumentParameters(sample_share=0.0),
        UrlList(["denied.example", "denied-shown.example", "spared.example", "deny-spam.example"]),
        UrlList(["spared.example", "both.example"]),
        {
            "spam": pl.Series([2, 3, 4, 7], dtype=pl.UInt64),
            "adult": pl.Series([3, 6], dtype=pl.UInt64),
        },
    )
    assert rules.reject_reasons == ("denied", "spam", "adult", "not_in_sample")
    found = rules.apply(pages)
    assert found["reason"].to_list() == [
        "denied",
        "denied",
        "not_in_sample",
        "spam",
        "not_in_sample",
        None,
        "adult",
        "denied",
    ]
    assert found["shown"].to_list() == [False, True, False, True, False, True, False, False]
    everything = PageRules(rules.shown, DocumentParameters(sample_share=1.0)).apply(pages)
    assert everything["reason"].null_count() == 8
    assert everything["sampled"].all()


@pytest.mark.parametrize(
    ("policy", "reasons"),
    [
        (("keep", "keep"), [None] * 4),
        (("keep_first", "keep"), [None, "duplicate", None, None]),
        (("drop", "keep"), ["duplicate", "duplicate", None, None]),
        (("keep", "keep_first"), [None, None, "near_duplicate", None]),
        (("keep", "drop"), ["near_duplicate", None, "near_duplicate", None]),
        (("drop", "drop"), ["duplicate", "duplicate", "near_duplicate", None]),
    ],
)
def test_why_a_duplicate_is_dropped(policy: tuple[str, str], reasons: list[str | None]) -> None:
    groups = pl.DataFrame(
        [("a", "a", "a"), ("b", "a", None), ("c", None, "a"), ("d", None, None)],
        schema={
            "doc_id": pl.String,
            "duplicate_group": pl.String,
            "near_duplicate_group": pl.String,
        },
        orient="row",
    )
    params = DocumentParameters(duplicates=policy[0], near_duplicates=policy[1])  # type: ignore[arg-type]
    assert groups.select(r=duplicate_reason_expr(params))["r"].to_list() == reasons


def _groups(
    connection: duckdb.DuckDBPyConnection, folder: Path, threshold: float, shown: list[int]
) -> list[tuple[int, str | None, str | None]]:
    """Pages 1 to 6: 1, 2 and 3 have the same text, 3 to 5 are connected by three of four bins."""
    signatures = np.full((6, BINS), EMPTY, dtype=np.uint32)
    for row, bins in enumerate(([9, 9, 9, 8], [9, 9, 9, 8], [9, 9, 9, 9], [9, 9, 9, 7])):
        signatures[row + 1, :4] = bins
    numbers = np.array([6, 2, 3, 4, 5, 1], dtype=np.uint64)
    (folder / "signatures").write_bytes(signatures.tobytes())
    hashes = pl.DataFrame(
        {
            "number": pl.Series(range(1, 7), dtype=pl.UInt64),
            "doc_id": [f"d{n}" for n in range(1, 7)],
            "shown": [n in shown for n in range(1, 7)],
            "text_hash": ["x", "x", "x", "y", "z", "z"],
        }
    )
    bands = pl.DataFrame(
        {
            "number": pl.Series([2, 3, 4, 5, 4, 5], dtype=pl.UInt64),
            "band": [0, 0, 0, 0, 1, 1],
            "value": [7, 7, 7, 8, 9, 9],
        }
    )
    connection.register("hashes", hashes.to_arrow())
    connection.register("bands", bands.to_arrow())
    signature_file = SignatureFile(folder / "signatures", numbers)
    return find_duplicate_groups(connection, signature_file, threshold).rows()


@pytest.mark.parametrize(
    ("threshold", "shown", "groups"),
    [
        (
            0.75,
            [],
            [
                (1, "d1", None),
                (2, "d1", "d2"),
                (3, "d1", "d2"),
                (4, None, "d2"),
                (5, "d5", "d2"),
                (6, "d5", None),
            ],
        ),
        (
            0.76,  # only pages 2 and 3 have four bins in common
            [3, 6],
            [
                (1, "d3", None),
                (2, "d3", "d3"),
                (3, "d3", "d3"),
                (5, "d6", None),
                (6, "d6", None),
            ],
        ),
    ],
)
def test_a_group_is_named_after_its_first_page_that_was_shown(
    connection: duckdb.DuckDBPyConnection,
    threshold: float,
    shown: list[int],
    groups: list[tuple[int, str | None, str | None]],
    tmp_path: Path,
) -> None:
    assert _groups(connection, tmp_path, threshold, shown) == groups


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("ABCDEF ghijkl", "ABCDEF ghijkl"),  # six capitals of thirteen characters
        ("ABCDEFG ijklm", "abcdefg ijklm"),
        ("ÉÀÈÙÇ ÊÎÔ", "éàèùç êîô"),
        ("abc", "abc"),
    ],
)
def test_a_text_mostly_in_capitals_is_lowercased_first(line: str, asked: str) -> None:
    assert language._lowercase_if_mostly_uppercase(line) == asked


def test_texts_of_twenty_characters_have_a_language(monkeypatch: pytest.MonkeyPatch) -> None:
    class Detector:
        """Is sure of texts that are long."""

        def detect(self, line: str, k: int) -> list[dict[str, Any]]:
            if "none" in line:
                return []
            return [{"lang": "fr", "score": min(0.123456 + len(line) / 500, 1)}][:k]

    monkeypatch.setattr(language, "_load_detector", Detector)
    texts = ["x" * 19, f"{'x' * 10}  {'x' * 8}", "x" * 20, "none" * 9, "y" * 101, "z" * 500]
    assert detect_languages(texts) == [
        (None, None),
        (None, None),
        ("fr", 0.1635),
        (None, None),
        ("fr", 0.3255),
        ("fr", 0.9235),
    ]


def test_row_groups_have_a_share_of_the_size_of_their_file(tmp_path: Path) -> None:
    texts = {f"https://a.example/{n}": str(n) for n in range(5)}
    fetches, pages = store_pages(tmp_path, texts, rows_per_group=2)
    groups = list(iter_row_groups(fetches, pages))
    assert [group.number for group in groups] == [0, 1, 2]
    assert {group.size for group in groups} == {(tmp_path / "fetches.parquet").stat().st_size // 3}
    found = [group.add_texts(group.read_pages()) for group in groups]
    assert [frame["text"].to_list() for frame in found] == [["0", "1"], ["2", "3"], ["4"]]
    assert [frame["url"].to_list() for frame in found] == [
        [f"https://a.example/{n}" for n in numbers] for numbers in ([0, 1], [2, 3], [4])
    ]


def test_parts_are_written_even_if_there_is_no_document(tmp_path: Path) -> None:
    row = dict.fromkeys(Documents.dtypes()) | {"url": "u", "url_key": "u", "text": "x"}
    row |= {"fetched_at": 0, "title": "", "shown": True, "sampled": False, "tokens": 1}
    row |= {"text_hash": "0" * 32, "token_hash": "0" * 32}
    keys = [1, 2 << 56, 3 << 56]
    frame = pl.DataFrame(
        [{**row, "doc_id": f"d{key:016x}", "doc": key} for key in keys],
        schema=Documents.dtypes() | {"doc": pl.UInt64()},
    )
    assert list(_write_parts([frame[:2], frame[2:]], [1, 2], tmp_path / "some")) == [0, 1, 1, 1]
    files = sorted((tmp_path / "some").iterdir())
    assert [path.name for path in files] == [f"part-0000{n}.parquet" for n in range(3)]
    assert [pl.read_parquet(path)["doc_id"].to_list() for path in files] == [
        [f"d{key:016x}"] for key in keys
    ]
    assert list(_write_parts([], [], tmp_path / "none")) == [0]
    assert pl.read_parquet(tmp_path / "none/part-00000.parquet").height == 0


def test_plug_ins_label_the_pages_of_a_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    class PlugIn:
        """Labels pages whose URL ends in 1."""

        name, version = "mine", "2"

        def __init__(self, kind: str) -> None:
            self.kind = kind

        def judge(self, subjects: pl.DataFrame) -> pl.DataFrame:
            asked.append(subjects["url"].to_list())
            chosen = subjects.filter(pl.col("url").str.ends_with("1"))
            return chosen.select("key", label=pl.lit("spam"), score=pl.lit(0.5))

    given = tuple(PlugIn(kind) for kind in ("document", "query"))
    monkeypatch.setattr(verdicts, "load_plugins", lambda _: given)
    monkeypatch.setattr(verdicts, "PAGES_PER_CALL", 2)
    for name in ("out", "scratch"):
        (tmp_path / name).mkdir()
    progress = Steps()
    urls = [f"https://a.example/{n}" for n in range(3)]
    ledger = collect_page_verdicts(
        tmp_path / "out",
        pages=store_pages(tmp_path, dict.fromkeys(urls, "x"))[1],
        params=VerdictFilterParameters(),
        limits=ResourceLimits(tmp_path / "scratch", threads=1),
        progress=progress,
    )
    assert (ledger.rows_in, ledger.rows_out, dict(ledger.rejected)) == (
        1,
        1,
        {"not_in_this_index": 0},
    )
    assert [len(batch) for batch in asked] == [2, 1]
    assert sorted(url for batch in asked for url in batch) == urls
    row = pl.read_parquet(tmp_path / "out/page_verdicts.parquet").row(0, named=True)
    assert (row["kind"], row["label"], row["source"], row["version"], row["score"]) == (
        "document",
        "spam",
        "mine",
        "2",
        0.5,
    )


def test_an_example_of_other_forms_is_that_of_the_first_url(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    connection.execute("CREATE TABLE shown (doc INT, kept_times INT, in_crawl BOOL)")
    connection.execute("CREATE TABLE log_urls (doc INT, url_key VARCHAR)")
    connection.execute("CREATE TABLE pages (url_key VARCHAR)")
    connection.execute(
        "INSERT INTO shown VALUES (1, 1, false), (2, 5, false), (3, 0, false), (4, 1, true)"
    )
    connection.execute(
        "INSERT INTO log_urls VALUES (1, 'http://b.example/x//?q'), (2, 'http://a.example/y'), "
        "(3, 'http://c.example/'), (4, 'http://d.example/')"
    )
    connection.execute(
        "INSERT INTO pages VALUES ('https://www.b.example/x?q'), ('https://a.example/y/'), "
        "('https://www.a.example/y'), ('https://c.example/'), ('https://d.example/')"
    )
    (note,) = _note_other_forms(connection, 3)
    assert note.startswith(
        "2 of 3 documents shown are in the crawl only under a URL that differs in scheme, www. or "
        "final slash, such as http://a.example/y in the log and https://a.example/y/ in the crawl; "
    )


def test_characters_are_word_starts_marks_separators_or_left_to_polars() -> None:
    tables = character_tables()
    characters = {
        "É": (WORD_START, "é"),
        "ß": (WORD_START, "ß"),
        "Д": (WORD_START, "д"),
        "日": (WORD_START, "日"),
        "\u0301": (WORD_MARK, "\u0301"),
        "€": (SEPARATOR, "€"),
        "\u00a0": (SEPARATOR, "\u00a0"),
        "\U0001d49c": (WORD_START, "\U0001d49c"),
        "\U00010400": (WORD_START, "\U00010428"),
        "Σ": (NOT_IN_TABLE, "Σ"),
        "İ": (NOT_IN_TABLE, "İ"),
        "\u200d": (NOT_IN_TABLE, "\u200d"),
        "\U00020000": (NOT_IN_TABLE, "\U00020000"),
    }
    for character, (kind, lower) in characters.items():
        data = np.frombuffer(bytearray(f"a{character}b".encode()), np.uint8)
        kinds, sizes = lowercase_non_ascii_in_place(data, np.array([1]))
        size = len(character.encode())
        assert (kinds.tolist(), sizes.tolist()) == ([kind], [size]), character
        assert data.tobytes().decode() == f"a{lower}b"
    assert len(tables.kinds) == len(tables.lowercase) == 0x20000


def test_a_buffer_of_tokens_by_hand() -> None:
    for buffer in (
        tokenize(pl.Series(["L'Été!", None, "x", "\u0301a b"])),
        from_joined_tokens(pl.Series(["l été ", "", "x ", "a b "])),
    ):
        assert buffer.data.tobytes() == "l été x a b ".encode()
        assert buffer.bounds.tolist() == [0, 8, 8, 10, 14]
        assert buffer.ends.tolist() == [1, 7, 9, 11, 13]
        assert buffer.text_offsets.tolist() == [0, 2, 2, 3, 5]
        assert buffer.token_counts.tolist() == [2, 0, 1, 2]
        assert buffer.token_starts.tolist() == [0, 2, 8, 10, 12]
        assert buffer.token_offsets.tolist() == [0, 2, 8, 10, 12, 14]
        assert buffer.token_series.to_list() == ["l ", "été ", "x ", "a ", "b "]
        assert buffer.md5_hex()[1] == "d41d8cd98f00b204e9800998ecf8427e"
        words = buffer.as_uint64()
        assert len(words) == 15
        assert (words[8], words[13], words[14]) == (0x206220612078, 0x20, 0)


def test_bands_of_texts_are_rows_with_their_numbers() -> None:
    sketches = sketch_texts(tokenize_chunks(pl.Series(["a b", "", "c d"])), 2)
    rows = bands_to_frame(sketches, np.array([7, 8, 9]))
    assert rows["number"].to_list() == [7, 9]
    filled = sketches.filled.nonzero()
    assert rows["band"].to_list() == filled[1].tolist()
    assert rows["value"].to_list() == sketches.bands[filled].tolist()


def test_pages_without_shingles_have_no_sketches() -> None:
    pages = pl.DataFrame({"title": ["Un", ""], "text": ["deux, trois", ""]})
    without, sketched = fingerprint_pages(pages), fingerprint_pages(pages, 2)
    assert without.sketches is None
    assert sketched.sketches is not None
    assert sketched.sketches.filled.any(axis=1).tolist() == [True, False]
    assert without.pages["tokens"].to_list() == [3, 0]
    assert without.pages.equals(sketched.pages)
