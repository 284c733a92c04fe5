"""The topics of a collection: a hand-made table, chosen once for all snapshots.

In: UTF-8 tab-separated lines under a header with `label` and any of `topic_id`, `aliases` (between
`|`), `language` and `source`; so a list of words under the word `label` is one. Out: `topics` (see
`schemas.Topics`). A topic list decides what a collection is about, so a faulty line is an error,
never a silent loss; only blank lines are left out.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from builder.errors import DataError, FormatError
from builder.io.sources import Source
from builder.io.tables import write_frame
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from builder.text.keys import fold_texts, key64
from builder.text.names import FRENCH
from builder.trec.bounded import read_text_lines
from schemas import Topics

LABEL = "label"
HEADER = ("topic_id", LABEL, "aliases", "language", "source")
ABSENT = {"aliases": "", "language": FRENCH, "source": ""}
"""What topics have where there is no such column; ids are made of labels then."""
TOPIC_ID = re.compile(r"[a-z0-9][a-z0-9_-]*")
LANGUAGE = re.compile(r"[a-z]{2}")


@stage("topics", version="1", scope=Scope.COLLECTION, writes=(Topics,))
def read_topics(
    out: Path,
    *,
    source: Annotated[Source, Files(lambda w, _: (w.collection.topics,))],
    limits: Limits,
    progress: Progress,
) -> Ledger:
    """Stage: read the topic table.

    Args:
        out: Folder that receives `topics.parquet` and `rejects.parquet`.
        source: The TSV file.
        limits: Unused; a topic table is small.
        progress: Told the lines read.

    Raises:
        FormatError: not UTF-8, a wrong header, a faulty line, or an id given twice.
    """
    del limits
    ledger = Ledger("lines")
    with RejectWriter(out, "topics", ledger) as rejects:
        topics, blank = parse_topics(source)
        for line in blank:
            rejects.add("blank_line", file=source.name, line=line)
    ledger.rows_out = write_frame(topics, out / "topics.parquet", Topics)
    ledger.rows_in = ledger.rows_out + len(blank)
    progress.start("topics", ledger.rows_in, "lines")
    progress.advance(ledger.rows_in)
    progress.finish()
    return ledger


def parse_topics(source: Source) -> tuple[pl.DataFrame, list[int]]:
    """The topics of a file (see `schemas.Topics`), in file order, and its blank lines.

    Raises:
        FormatError: see `read_topics`.
    """
    header, lines = _lines(source)
    blank = [number for number, line in enumerate(lines, 2) if not line.strip()]
    topics = pl.DataFrame(list(_parse(header, lines, source)), schema=Topics.dtypes())
    return topics, blank


def topic_differences(published: pl.DataFrame, topics: pl.DataFrame) -> tuple[str, ...]:
    """How topics differ from those of a published collection, a line per kind of difference."""
    columns = ["topic_id", "label", "aliases", "language"]
    before, now = (
        {row[0]: row for row in frame.select(columns).rows()} for frame in (published, topics)
    )
    changed = {name for name in before.keys() & now.keys() if before[name] != now[name]}
    kinds = {"added": now.keys() - before, "removed": before.keys() - now, "changed": changed}
    return tuple(
        f"topics {kind}: {', '.join(sorted(names))}" for kind, names in kinds.items() if names
    )


def require_same_topics(published: pl.DataFrame, topics: pl.DataFrame) -> None:
    """Compare the topics of a published collection with those of a definition.

    Raises:
        DataError: a topic was added, removed or changed; topics are chosen once for all snapshots.
    """
    ids = ["topic_id", "label", "aliases", "language"]
    before, now = (set(map(repr, frame.select(ids).rows())) for frame in (published, topics))
    if before != now:
        raise DataError(
            f"expected the topics that the collection was published with; {len(now - before)} are "
            f"new or changed, {len(before - now)} are gone or changed, such as "
            f"{min(before ^ now)}. Topics are chosen once for all snapshots: start a new "
            "collection for others"
        )


def _lines(source: Source) -> tuple[list[str], list[str]]:
    """The names of the columns, and the lines under them."""
    first, *lines = read_text_lines(source) or [""]
    header = [name.strip() for name in first.split("\t")]
    if LABEL not in header or not {*header} <= {*HEADER} or len({*header}) < len(header):
        expected = "<TAB>".join(HEADER)
        raise FormatError(
            f"expected the header {expected}, or some of it with {LABEL}, found {first[:80]!r}",
            source.name,
            1,
        )
    return header, lines


def _parse(header: list[str], lines: list[str], source: Source) -> Iterator[dict[str, Any]]:
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        topic = _topic(header, line.split("\t"), source, number)
        seen = first_line.setdefault(topic["topic_id"], number)
        if seen != number:
            raise FormatError(
                f"topic {topic['topic_id']!r} is already on line {seen}; an id names one topic",
                source.name,
                number,
            )
        yield topic


def _topic(header: list[str], fields: list[str], source: Source, line: int) -> dict[str, Any]:
    if len(fields) != len(header):
        raise FormatError(
            f"expected {len(header)} tab-separated fields, found {len(fields)}", source.name, line
        )
    topic = ABSENT | dict(zip(header, (field.strip() for field in fields), strict=True))
    topic.setdefault("topic_id", _id_of(topic[LABEL]))
    aliases = [alias for part in topic["aliases"].split("|") if (alias := part.strip())]
    for field, pattern, form in (
        ("topic_id", TOPIC_ID, "lower-case letters, digits, - and _"),
        ("language", LANGUAGE, "an ISO 639-1 code of two letters"),
    ):
        if not pattern.fullmatch(topic[field]):
            raise FormatError(
                f"{field}: expected {form}, found {topic[field]!r}", source.name, line
            )
    for name, folded in zip(
        (topic[LABEL], *aliases), fold_texts((topic[LABEL], *aliases)), strict=True
    ):
        if not folded:
            raise FormatError(
                f"a label or alias needs a letter or a digit, found {name!r}", source.name, line
            )
    return {**topic, "aliases": aliases}


def _id_of(label: str) -> str:
    """The folded label with hyphens, or its hash where that is no id."""
    (folded,) = fold_texts([label])
    name = folded.replace(" ", "-")
    return name if TOPIC_ID.fullmatch(name) else f"t{key64(folded):016x}"
