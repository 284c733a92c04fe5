"""Which pages become documents, and their fingerprints."""

import hashlib
import re
from pathlib import Path

import polars as pl

from builder.documents import build_documents, collect_shown_documents
from builder.documents.language import detect_languages
from builder.documents.row_groups import iter_row_groups
from builder.documents.tokens import tokens_expr
from builder.io.tables import Table, table_at, write_frame
from builder.parameters import DocumentParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id
from schemas import Candidates, Impressions, ShownDocuments
from tests.crawled import write_crawled

TEXT = "Les crêpes bretonnes se préparent avec de la farine et du lait."


def _pages(folder: Path, count: int, text: str = TEXT) -> tuple[Table, Table]:
    frame = pl.DataFrame(
        {
            "doc_id": [doc_id(n) for n in range(count)],
            "url": [f"https://a.example/{n}" for n in range(count)],
            "url_key": [f"https://a.example/{n}" for n in range(count)],
            "fetched_at": 5,
            "title": "L'Été",
            "text": text,
        }
    )
    return write_crawled(frame, folder)


def _gather(
    folder: Path, crawl: tuple[Table, Table], shown: list[int], share: float
) -> pl.DataFrame:
    frame = pl.DataFrame({"doc": shown, "impressions": 1}, schema=ShownDocuments.dtypes())
    write_frame(frame, folder / "shown_documents.parquet", ShownDocuments)
    out, scratch = folder / f"out-{share}", folder / f"scratch-{share}-{len(shown)}"
    out.mkdir()
    scratch.mkdir()
    ledger = build_documents(
        out,
        fetches=crawl[0],
        pages=crawl[1],
        shown_documents=table_at(folder, "shown_documents", ShownDocuments),
        params=DocumentParameters(sample_share=share),
        limits=ResourceLimits(scratch),
        progress=NoProgress(),
    )
    ledger.check("documents")
    return pl.read_parquet(out / "gathered_documents/part-00000.parquet")


def test_pages_that_are_left_out_are_not_held(tmp_path: Path) -> None:
    (group,) = iter_row_groups(*_pages(tmp_path, 1000, "x" * 4000))
    addresses = group.read_pages()
    numbers = pl.col("number")
    none, few = (group.add_texts(addresses.filter(numbers % share == 7)) for share in (7, 100))
    assert none.is_empty()
    assert few.schema == none.schema
    assert few["doc_id"].to_list() == [doc_id(n) for n in range(7, 1000, 100)]
    held = few["text"].to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
    assert 10 * 4000 <= sum(buffer.size for buffer in held if buffer) < 11 * 4000


def test_shown_pages_and_a_sample(tmp_path: Path) -> None:
    pages = _pages(tmp_path, 400)
    none = _gather(tmp_path, pages, [3, 5, 999], 0.0)
    assert none["doc_id"].to_list() == [doc_id(3), doc_id(5)]
    assert none["shown"].all()
    assert not none["sampled"].any()
    some = _gather(tmp_path, pages, [3], 0.2)
    more = _gather(tmp_path, pages, [3], 0.5)
    sampled = set(some.filter("sampled")["doc_id"])
    assert 40 < len(sampled) < 120
    assert sampled <= set(more.filter("sampled")["doc_id"])
    assert _gather(tmp_path, pages, [], 1.0).height == 400


def test_fingerprints(tmp_path: Path) -> None:
    (row,) = _gather(tmp_path, _pages(tmp_path, 1), [0], 0.0).iter_rows(named=True)
    words = re.findall(r"\w+", f"L'Été\n{TEXT}".lower())
    assert row["tokens"] == len(words)
    assert row["token_hash"] == hashlib.md5(" ".join(words).encode()).hexdigest()
    assert row["text_hash"] == hashlib.md5(TEXT.encode()).hexdigest()
    assert row["language"] == "fr"
    assert row["language_score"] > 0.5
    assert row["text_en"] is None


def test_case_and_punctuation_are_no_change_of_tokens(tmp_path: Path) -> None:
    hashes = []
    for number, text in enumerate((TEXT, TEXT.upper().replace(".", " !"), TEXT + " Miam.")):
        folder = tmp_path / str(number)
        folder.mkdir()
        hashes.append(_gather(folder, _pages(folder, 1, text), [0], 0.0)["token_hash"][0])
    assert hashes[0] == hashes[1] != hashes[2]


def test_tokens_are_words_in_lower_case() -> None:
    frame = pl.DataFrame({"text": ["L'Œuf n°2, c'est-à-dire_x", ""]})
    found = frame.select(tokens_expr(pl.col("text")))["text"].to_list()
    assert found == [["l", "œuf", "n", "2", "c", "est", "à", "dire_x"], []]


def test_languages() -> None:
    found = detect_languages([TEXT, "The cat sat on the mat and looked at the moon.", "ok", ""])
    assert [code for code, _ in found] == ["fr", "en", None, None]


def test_shown_documents_of_candidates(tmp_path: Path) -> None:
    rows = [(0, 1, 10, 10, [7, 8, 7], [1]), (1, 1, 11, 11, [9], []), (2, 2, 10, 10, [8], [])]
    impressions = pl.DataFrame(rows, schema=Impressions.dtypes(), orient="row")
    write_frame(impressions, tmp_path / "impressions.parquet", Impressions)
    kept = pl.DataFrame({"query": [10], "text": ["x"], "topics": [["t"]], "impressions": [2]})
    missing = [
        pl.lit(None if c.nullable else 1).cast(c.dtype).alias(name)
        for name, c in Candidates.columns().items()
        if name not in kept.columns
    ]
    write_frame(kept.with_columns(*missing), tmp_path / "candidates.parquet", Candidates)
    out = tmp_path / "out"
    out.mkdir()
    ledger = collect_shown_documents(
        out,
        impressions=table_at(tmp_path, "impressions", Impressions),
        candidates=table_at(tmp_path, "candidates", Candidates),
        limits=ResourceLimits(tmp_path),
        progress=NoProgress(),
    )
    assert (ledger.rows_in, ledger.rows_out) == (3, 2)
    assert dict(ledger.rejected) == {"query_not_selected": 1}
    assert pl.read_parquet(out / "shown_documents.parquet").rows() == [(7, 2), (8, 2)]
