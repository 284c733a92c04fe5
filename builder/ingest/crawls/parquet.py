"""Parquet crawls -> raw pages, row by row."""

from collections.abc import Iterator
from functools import partial
from os import SEEK_END

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.crawls.fetches import Found
from builder.ingest.crawls.page import names_of, page_of
from builder.ingest.nested import named
from builder.ingest.parquet_rows import offered_rows, readable
from builder.ingest.rejects import made_or_reason
from builder.io.sources import Source
from builder.parameters import CrawlParameters

MAGIC = b"PAR1"
"""How a Parquet file begins and ends."""
LEAST = 2 * len(MAGIC) + 4
"""Bytes of a file without any row: there is a number between both."""
ROWS = 256
AT_ONCE = 16
"""Rows that are unpacked together."""


def read_parquet_pages(source: Source, params: CrawlParameters) -> Iterator[Found]:
    """Every row of a file; of one that was cut, whose rows cannot be found then, one reject.

    Raises:
        FormatError: it is no Parquet file, or lacks columns.
    """
    if _is_cut(source):
        yield 1, "file_truncated"
        return
    names, size = names_of(params.fields), source.path.stat().st_size
    with readable(source), pq.ParquetFile(source.path) as file:
        columns = _columns(file.schema_arrow, source, params)
        for number, record in offered_rows(file, size, columns, ROWS, AT_ONCE):
            yield (
                number,
                record
                if isinstance(record, str)
                else made_or_reason(partial(page_of, record, names, params)),
            )


def _is_cut(source: Source) -> bool:
    """Whether a file that begins as one of Parquet does not end so."""
    if source.path.stat().st_size < LEAST:
        return True
    with source.path.open("rb") as file:
        begins = file.read(len(MAGIC)) == MAGIC
        file.seek(-len(MAGIC), SEEK_END)
        return begins and file.read() != MAGIC


def _columns(schema: pa.Schema, source: Source, params: CrawlParameters) -> list[str]:
    """The names that lead to columns: of the address, of times, of texts, and perhaps the title."""
    names = names_of(params.fields)
    found = set(named(schema, names.all))
    dated = found & set(names.times) or params.undated == "start"
    if not (names.url in found and dated and found & set(names.texts)):
        raise FormatError(
            f"expected the columns {names.url}, {' or '.join(names.times)}, "
            f"{' or '.join(names.texts)} and perhaps {names.title}, found "
            f"{', '.join(schema.names)}; name them in [crawl.fields]",
            source.name,
        )
    return [name for name in names.all if name in found]
