"""A log file -> numbered impressions and rejects, whatever its format.

The format is told by the first bytes: Parquet with one row an impression (columns `time`, `query`,
`results` and, where there are any, `user` and `clicks`), else JSON lines; see `impression`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from builder.errors import FormatError
from builder.ingest.impression import Impression, RejectError, make_impression, parse_impression
from builder.ingest.lines import Block, read_blocks
from builder.parameters import LogParameters
from builder.sources import Interval, Source

PARQUET = b"PAR1"
NEEDED = ("time", "query", "results")
COLUMNS = (*NEEDED, "user", "clicks")
ROWS = 4096

Numbered = tuple[int, Impression]


@dataclass
class Records:
    """Some records of a file, by their 1-based number.

    Args:
        impressions: Those that are impressions.
        rejects: Those that are none, with the reason.
    """

    impressions: list[Numbered] = field(default_factory=list)
    rejects: list[tuple[int, str]] = field(default_factory=list)


def read_impressions(
    source: Source, interval: Interval, params: LogParameters
) -> Iterator[Records]:
    """Every record of a log file, in pieces.

    Raises:
        FormatError: the file cannot be opened, or is a Parquet file without the columns.
    """
    try:
        with source.path.open("rb") as file:
            head = file.read(len(PARQUET))
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", source.name) from None
    if head == PARQUET:
        yield from _read_parquet(source, interval, params)
    else:
        for block in read_blocks(source, params.max_line_bytes):
            yield _parse(block, interval, params)


def _parse(block: Block, interval: Interval, params: LogParameters) -> Records:
    records = Records()
    for number, line in enumerate(block.lines, block.first):
        if line is None:
            records.rejects.append((number, "line_too_long"))
            continue
        try:
            records.impressions.append((number, parse_impression(line, interval, params)))
        except RejectError as reject:
            records.rejects.append((number, str(reject)))
    if block.fault is not None:
        records.rejects.append((block.first + len(block.lines), block.fault))
    return records


def _read_parquet(source: Source, interval: Interval, params: LogParameters) -> Iterator[Records]:
    try:
        with pq.ParquetFile(source.path) as file:
            names = file.schema_arrow.names
            if missing := [name for name in NEEDED if name not in names]:
                raise FormatError(
                    f"expected the columns {', '.join(COLUMNS)}; {', '.join(missing)} is missing, "
                    f"found {', '.join(names)}",
                    source.name,
                )
            number = 0
            present = [name for name in COLUMNS if name in names]
            for batch in file.iter_batches(ROWS, columns=present):
                records = Records()
                for row in batch.to_pylist():
                    number += 1
                    record = {name: value for name, value in row.items() if value is not None}
                    try:
                        page = make_impression(record, interval, params)
                        records.impressions.append((number, page))
                    except RejectError as reject:
                        records.rejects.append((number, str(reject)))
                yield records
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"not a readable Parquet file: {error}", source.name) from None
