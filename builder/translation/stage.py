"""Pipeline stage `translate`: adds English translations to documents and queries.

Input: documents and queries of a snapshot in the source language. Output: the same rows, in part
files of the same names, with English title and text; each sentence with its translation
(`sentences`); a summary per document and query (`translations`); queries with equal English text
(`query_collisions`). Without a model, documents and queries are copied unchanged, and the other
tables are empty.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from builder.definition.model import Workflow
from builder.io.parquet import open_file
from builder.io.tables import Table, TableWriter, write_frame
from builder.parameters import TranslationParameters
from builder.plugins import plugin_packages
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import CacheFolder, FileReference, Same
from builder.runtime.stage import stage
from builder.text.keys import fold_texts
from builder.translation.engines import load_engine
from builder.translation.memory import TranslationMemory
from builder.translation.pages import Fields, translate_documents
from builder.translation.parts import ModelOutput
from builder.translation.records import sentence_rows, translation_rows
from builder.translation.sentences import TextKind
from builder.translation.text_cache import TextCache
from builder.translation.translator import Decoder, Translator
from builder.translation.workers import decode_blocks
from schemas import (
    Documents,
    GatheredDocuments,
    Queries,
    QueryCollisions,
    Sentences,
    SplitQueries,
    TableSchema,
    Translations,
)

MEMORY, TEXTS = "memory.sqlite", "texts.sqlite"
"""Names of the cache files: the translation memory of sentences, and the cache of whole texts."""
SAMPLED = 100
"""Number of documents from which the total number of tokens is estimated, for the progress bar."""


def _model_folder_patterns(workflow: Workflow, _: str) -> tuple[str, ...]:
    """Return the translation model's folder as the only file pattern; none without a model."""
    model = workflow.translate.model
    return (str(model),) if model else ()


@stage(
    "translate",
    version="5",
    writes=(Documents, Queries, Sentences, Translations, QueryCollisions),
    fingerprinted_files={"model": FileReference(_model_folder_patterns)},
    plugins=lambda w: plugin_packages("translators", (w.translate.engine,)),
)
def translate(
    out: Path,
    *,
    gathered: Same[GatheredDocuments],
    split_queries: Same[SplitQueries],
    params: TranslationParameters,
    limits: ResourceLimits,
    progress: Progress,
    memory: CacheFolder | None = None,
) -> RowLedger:
    """Translate documents and queries to English.

    Args:
        out: Folder that receives `documents` (one part file per part of `gathered`), `queries`,
            `sentences`, `translations`, `query_collisions` and `rejects`.
        gathered: Documents; see `schemas.Documents` for the columns.
        split_queries: Queries; see `schemas.Queries` for the columns.
        params: Parameters of the `[translate]` section; without a model, English columns are null.
        limits: Number of threads, executor, and folder for temporary files.
        progress: Progress bar, in decoded source tokens.
        memory: Folder of the caches, shared by all snapshots; None: use the temporary folder.

    Returns:
        The ledger: counts of documents read and written; none is rejected.

    Raises:
        FormatError: the folder is not a translation model.
    """
    ledger = RowLedger("documents")
    if params.model is None:
        ledger.rows_in = _copy_untranslated(out, gathered, split_queries)
    else:
        engine = load_engine(params.model, params, limits.threads)
        folder = memory or limits.scratch
        with TranslationMemory(folder / MEMORY) as kept, TextCache(folder / TEXTS) as texts:
            decoder = None if limits.executor.in_process else _create_worker_decoder(params, limits)
            translator = Translator(engine, kept, params, progress.advance, decoder)
            progress.start(
                "translate", _estimate_token_count(gathered, engine.count_tokens), "source tokens"
            )
            ledger.rows_in = _translate_tables(out, gathered, split_queries, translator, texts)
    ledger.rows_out = ledger.rows_in
    with RejectWriter(out, "translate", ledger):
        return ledger


def _create_worker_decoder(params: TranslationParameters, limits: ResourceLimits) -> Decoder:
    """Return a function that decodes blocks of sentences on the workers of `limits.executor`."""
    folder = params.model or Path()

    def decode(blocks: Sequence[list[str]], is_retry: bool) -> Iterator[list[ModelOutput]]:
        return decode_blocks(folder, params, limits, blocks, is_retry=is_retry)

    return decode


def _translate_tables(
    out: Path, gathered: Table, split_queries: Table, translator: Translator, cache: TextCache
) -> int:
    """Translate documents and queries, write all tables, and return the number of documents."""
    rows = 0
    with TableWriter(out / "translations.parquet", Translations) as summary:
        for number, path in enumerate(gathered.paths):
            sentences = out / "sentences" / f"part-{number:05d}.parquet"
            with (
                TableWriter(out / "documents" / path.name, Documents) as documents,
                TableWriter(sentences, Sentences) as table,
            ):
                for pages, fields in translate_documents(_read_row_groups(path), translator, cache):
                    documents.write(_to_arrow_table(add_english_columns(pages, fields)))
                    table.write(sentence_rows(pages["doc_id"].to_list(), fields))
                    summary.write(translation_rows(pages["doc_id"].to_list(), fields))
            rows += documents.rows
        last = out / "sentences" / f"part-{len(gathered.paths):05d}.parquet"
        queries = split_queries.scan().collect()
        english = translator.translate(queries["text"].to_list(), TextKind.QUERY)
        of_queries = {"query": english}
        with TableWriter(last, Sentences) as table:
            table.write(sentence_rows(queries["query_id"].to_list(), of_queries))
        summary.write(translation_rows(queries["query_id"].to_list(), of_queries))
    in_english = pl.Series("text_en", [t.text for t in english], dtype=pl.String)
    write_frame(queries.with_columns(in_english), out / "queries.parquet", Queries)
    found = find_query_collisions(queries.with_columns(in_english))
    write_frame(found, out / "query_collisions.parquet", QueryCollisions)
    return rows


def add_english_columns(documents: pl.DataFrame, translations: Fields) -> pl.DataFrame:
    """Add the columns `title_en` and `text_en` to documents.

    Args:
        documents: Data frame with `title` and `text`.
        translations: Translations by field name (`title`, `text`), in the order of `documents`.
    """
    return documents.with_columns(
        pl.Series(f"{name}_en", [made.text for made in found], dtype=pl.String)
        for name, found in translations.items()
    )


def find_query_collisions(queries: pl.DataFrame) -> pl.DataFrame:
    """Return the queries whose English text is also the English text of another query.

    Differences in case, accents, punctuation and extra spaces are ignored. Queries without
    English text are not returned.
    """
    folded = pl.Series("folded_en", fold_texts(queries["text_en"]), dtype=pl.String)
    rows = queries.select("query_id", "text", "text_en").with_columns(folded)
    return rows.filter((pl.len().over("folded_en") > 1) & (pl.col("folded_en") != ""))


def _estimate_token_count(documents: Table, count_tokens: Callable[[str], int]) -> int:
    """Estimate the number of source tokens of all documents, for the progress bar."""
    lengths = documents.scan().select(pl.col("title", "text").str.len_chars().sum()).collect()
    sample = documents.scan().select("text").head(SAMPLED).collect()["text"].to_list()
    characters = sum(map(len, sample))
    if not characters:
        return 0
    pieces = sum(map(count_tokens, sample))
    return round(int(sum(lengths.row(0))) * pieces / characters)


def _copy_untranslated(out: Path, gathered: Table, split_queries: Table) -> int:
    (out / "documents").mkdir()
    for path in gathered.paths:
        _link_or_copy(path, out / "documents" / path.name)
    for path in split_queries.paths:
        _link_or_copy(path, out / "queries.parquet")
    empty: dict[str, type[TableSchema]] = {
        "sentences/part-00000": Sentences,
        "translations": Translations,
        "query_collisions": QueryCollisions,
    }
    for name, schema in empty.items():
        write_frame(pl.DataFrame(schema=schema.dtypes()), out / f"{name}.parquet", schema)
    return sum(pq.read_metadata(path).num_rows for path in gathered.paths)


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def _read_row_groups(path: Path) -> Iterator[pl.DataFrame]:
    with open_file(path) as file:
        for number in range(file.num_row_groups):
            yield pl.DataFrame(file.read_row_group(number))


def _to_arrow_table(frame: pl.DataFrame) -> pa.Table:
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())
