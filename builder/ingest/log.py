"""Query logs -> impressions in keys: the stage `log`.

In: log files of a snapshot. Out: `impressions` (no text, no time, no user identifier),
`log_queries`, `log_urls`, and a reject with file and line for every line that is no impression.
"""

import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from builder.executors import in_turn
from builder.ingest.conduct import Conduct
from builder.ingest.dictionary import Dictionary
from builder.ingest.impressions import Piece, pieces_of
from builder.ingest.keying import Prepared, key_records, prepare
from builder.ingest.staging import Staging
from builder.ledger import Ledger, RejectWriter
from builder.parameters import LogParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.sources import Interval, Source

SECRET_BYTES = 2**20


def ingest_log(
    out: Path,
    *,
    files: Sequence[Source],
    interval: Interval,
    params: LogParameters,
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: read the query logs of a snapshot.

    Args:
        out: Folder that receives `impressions`, `log_queries`, `log_urls` and `rejects`.
        files: Log files in the order in which they are read.
        interval: Impressions outside it are rejected.
        params: `[log]`.
        limits: Scratch space and memory.
        progress: Told the lines read.

    Returns:
        An account of the lines.

    Raises:
        FormatError: a file cannot be opened.
        DataError: two strings have one key.
    """
    ledger = Ledger("records")
    with (
        RejectWriter(out, "log", ledger) as rejects,
        Dictionary(limits, _secret(files), params.address) as dictionary,
        ThreadPoolExecutor(1) as beside,
    ):
        with Staging(limits.scratch) as staging:
            for place, file in enumerate(files):

                def prepared(piece: Piece) -> Prepared:
                    return prepare(piece(), dictionary)

                def stage(prepared: Prepared, place: int = place, file: Source = file) -> None:
                    keyed, left = key_records(prepared, dictionary)
                    for record, reason in left:
                        rejects.add(reason, file=file.name, line=record)
                    staging.add(keyed, place)
                    ledger.rows_in += len(keyed) + len(left)
                    progress.advance(len(prepared.records))

                pieces = pieces_of(file, interval, params, dictionary.pages)
                in_turn(prepared, stage, pieces, limits.threads)
        written = beside.submit(dictionary.write, out)
        conduct = Conduct(staging, params, limits)
        for reason, place, record in conduct.left_out:
            rejects.add(reason, file=files[place].name, line=record)
        ledger.rows_out = staging.write(out / "impressions", conduct.numbers, limits.threads)
        written.result()
    return ledger


def _secret(files: Sequence[Source]) -> bytes:
    """A key that can be made again from the raw log alone."""
    digest = hashlib.sha256()
    for file in files[:1]:
        with file.path.open("rb") as raw:
            digest.update(raw.read(SECRET_BYTES))
    return digest.digest()
