"""What the specification of one record makes of a log, against what the stage `log` makes of it.

In: numbered records, each an impression by `make_impression`, or the reason why it is none. Out:
the kept impressions in keys, in order of time, and the reasons by number. The stage is asked
through its public function and its tables alone.
"""

import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from builder.ingest import ingest_log
from builder.ingest.ids import to_urls
from builder.ingest.logs.cell_lists import JOINED_ITEMS
from builder.ingest.logs.impression import Impression, make_impression
from builder.ingest.rejects import RejectError
from builder.io.sources import Interval, Source
from builder.parameters import LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import fold_texts, key64, url_key

INTERVAL = Interval(0, 2_000_000_000)
KEEP_ALL = {"bots": "keep", "repeats": "keep", "empty": "allow", "clickless": "allow"}
"""Rules about users look at whole logs; they are no part of the specification of one record."""

Kept = tuple[int | None, int, int, tuple[int, ...], tuple[int, ...]]
"""Number of the user by first appearance, query, surface, documents, clicked ranks."""


class Outcome(NamedTuple):
    """What becomes of a log.

    Args:
        kept: Impressions, in order of time.
        reasons: Reasons of rejects by the number of the record.
    """

    kept: list[Kept]
    reasons: dict[int, str]


def judge(record: dict[str, Any], params: LogParameters) -> Impression | str:
    """A record by the specification: the impression, or the reason why it is none."""
    try:
        return make_impression(record, INTERVAL, params)
    except RejectError as reject:
        return str(reject)


def specified(records: Sequence[tuple[int, Impression | str]], params: LogParameters) -> Outcome:
    """The outcome that numbered records must have."""
    valid, reasons = [], {}
    impressions = [found for _, found in records if not isinstance(found, str)]
    folded = iter(fold_texts([impression.query for impression in impressions]))
    for number, found in records:
        if isinstance(found, str):
            reasons[number] = found
            continue
        text = next(folded)
        docs = [_doc(name, params.address, params.scheme) for name in found.results]
        is_list = len(docs) == 1 and JOINED_ITEMS.search(found.results[0].strip()) is not None
        if not text or is_list or None in docs:
            reason = "bad_list" if is_list else "bad_url"
            reasons[number] = reason if text else "query_without_letters"
            continue
        keys = (key64(text), key64(found.query))
        rest = (*keys, tuple(map(int, docs)), tuple(found.clicks))  # type: ignore[arg-type]
        valid.append((found.time, found.user, rest))
    users: dict[str, int] = {}
    kept = [
        (None if user is None else users.setdefault(user, len(users)), *rest)
        for _, user, rest in sorted(valid, key=lambda impression: impression[0])
    ]
    return Outcome(kept, reasons)


@cache
def _doc(name: str, address: str | None, scheme: str | None) -> int | None:
    """Key of a document; None where it has no address."""
    (found,) = to_urls(pl.Series([name]), address, scheme)
    try:
        return key64(url_key(found))
    except ValueError:
        return None


def ingested(data: bytes, params: LogParameters, threads: int = 1) -> Outcome:
    """The outcome that a file has in the stage `log`, whose account must add up."""
    with tempfile.TemporaryDirectory(prefix="differential-") as name:
        folder = Path(name)
        (folder / "input").write_bytes(data)
        for part in ("out", "scratch"):
            (folder / part).mkdir()
        ledger = ingest_log(
            folder / "out",
            files=[Source(folder / "input", "input")],
            interval=INTERVAL,
            params=params.model_copy(update=KEEP_ALL),
            limits=ResourceLimits(folder / "scratch", threads=threads, memory=2**29),
            progress=NoProgress(),
        )
        ledger.check("log")
        rejects = pl.read_parquet(folder / "out/rejects.parquet")
        impressions = pl.read_parquet(folder / "out/impressions").sort("impression")
    reasons = dict(rejects.select("line", "reason").iter_rows())
    assert len(reasons) == rejects.height == sum(ledger.rejected.values())
    assert impressions.height == ledger.rows_out
    return Outcome(_kept(impressions), reasons)


def _kept(impressions: pl.DataFrame) -> list[Kept]:
    users: dict[int, int] = {}
    columns = impressions.select("user", "query", "surface", "results", "clicks")
    return [
        (
            None if user is None else users.setdefault(user, len(users)),
            query,
            surface,
            tuple(results),
            tuple(clicks),
        )
        for user, query, surface, results, clicks in columns.iter_rows()
    ]


def first_difference(wanted: Outcome, found: Outcome) -> str | None:
    """Where two outcomes differ first; None where they are equal."""
    for number in sorted(wanted.reasons.keys() | found.reasons.keys()):
        expected, given = wanted.reasons.get(number), found.reasons.get(number)
        if expected != given:
            return f"record {number}: expected {expected or 'kept'}, found {given or 'kept'}"
    for place, (one, other) in enumerate(zip(wanted.kept, found.kept, strict=True)):
        if one != other:
            return f"kept impression {place}: expected {one}, found {other}"
    return None
