"""Reads the topics of a collection, which are common to all snapshots.

Input: a UTF-8 TSV file with a header. The column `label` is required; `topic_id`, `aliases`
(separated by `|`), `language` and `source` are optional. Cells may be quoted. Blank lines and lines
that start with `#` are skipped; any other malformed line is an error, since topics determine the
contents of the collection.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import polars as pl

from builder.errors import DataError, FormatError
from builder.io import parquet
from builder.io.sources import Source
from builder.io.tables import write_frame
from builder.queries.topic_cells import check_label, split_aliases, split_cells
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference
from builder.runtime.scope import Scope
from builder.runtime.stage import stage
from builder.text.keys import fold, fold_texts, key64
from builder.text.listing import join_names
from builder.text.names import FRENCH
from builder.trec.bounded import read_text_lines
from schemas import Topics

LABEL = "label"
HEADER = ("topic_id", LABEL, "aliases", "language", "source")
DEFAULTS = {"aliases": "", "language": FRENCH, "source": ""}
"""Default values of columns not in the file; a missing `topic_id` is derived from the label."""
TOPIC_ID = re.compile(r"[a-z0-9][a-z0-9_-]*")
LANGUAGE = re.compile(r"[a-z]{2}")
SPECIAL_CHARACTERS = r"[+#*^$\[\]\\]|\w\?|^\."
"""Pattern of characters that matching ignores, such as + in c++, and wildcards."""


@stage("topics", version="3", scope=Scope.COLLECTION, writes=(Topics,))
def read_topics(
    out: Path,
    *,
    source: Annotated[Source, FileReference(lambda w, _: (w.collection.topics,))],
    limits: ResourceLimits,
    progress: Progress,
) -> RowLedger:
    """Stage: read the topic table.

    Args:
        out: Folder that receives `topics.parquet` and `rejects.parquet`.
        source: TSV file of topics.
        limits: Unused; a topic table is small.
        progress: Advances by the number of lines.

    Returns:
        The ledger: numbers of lines read, kept and rejected; blank lines and comments are rejected.

    Raises:
        FormatError: the file is not UTF-8, its header or a line is malformed, or an id occurs
            twice.
    """
    del limits
    ledger = RowLedger("lines")
    with RejectWriter(out, "topics", ledger) as rejects:
        topics, skipped = parse_topics(source)
        for line, reason in skipped.items():
            rejects.add(reason, file=source.name, line=line)
    ledger.rows_out = write_frame(topics, out / "topics.parquet", Topics)
    ledger.rows_in = ledger.rows_out + len(skipped)
    ledger.notes.extend(note_special_characters(topics))
    progress.start("topics", ledger.rows_in, "lines")
    progress.advance(ledger.rows_in)
    progress.finish()
    return ledger


def parse_topics(source: Source) -> tuple[pl.DataFrame, dict[int, str]]:
    """Return the topics of a TSV file in file order, and the reason for each skipped line.

    Returns:
        Table with the schema `Topics`; reject reasons by line number.

    Raises:
        FormatError: see `read_topics`.
    """
    header, lines = _read_header_and_lines(source)
    skipped = {
        number: "comment_line" if line.strip() else "blank_line"
        for number, line in enumerate(lines, 2)
        if _is_skipped(line)
    }
    topics = pl.DataFrame(list(_parse_lines(header, lines, source)), schema=Topics.dtypes())
    return topics, skipped


def note_special_characters(topics: pl.DataFrame) -> Iterator[str]:
    """Yield a note that lists labels and aliases with special characters, if there are any.

    Args:
        topics: Table with the schema `Topics`.
    """
    names = topics.select(pl.concat_list("label", "aliases").alias("name")).explode("name")
    special = names.filter(pl.col("name").str.contains(SPECIAL_CHARACTERS)).unique(
        maintain_order=True
    )
    if special.height:
        folded = pl.format("{} matches as {}", "name", fold(pl.col("name")))
        listed = join_names(special.select(folded).to_series().to_list())
        yield (
            "topic labels and aliases with characters that matching ignores: "
            f"{special.height:,} ({listed}); write words as users type them, without wildcards, "
            "and check that the text without these characters is not a different word"
        )


def read_topic_table(path: Path) -> pl.DataFrame:
    """Return the topics of a TSV file, or of the `topics.parquet` of a collection.

    Args:
        path: Parquet file (name ending in `.parquet`) with the schema `Topics`, or TSV file as for
            `read_topics`.

    Returns:
        Table with the schema `Topics`.

    Raises:
        UsageError: the file does not exist.
        FormatError: the file is malformed, or rows violate the schema.
    """
    if path.suffix != ".parquet":
        return parse_topics(Source(path, str(path)))[0]
    table = parquet.read_columns(path, Topics.dtypes(), "topics")
    violations = Topics.filter(table)[1].counts()
    if violations:
        found = ", ".join(f"{rule} in {count} rows" for rule, count in violations.items())
        raise FormatError(
            f"expected topics as described by `longeval schema topics`, found violations: {found}",
            path,
        )
    return table


def topic_differences(published: pl.DataFrame, topics: pl.DataFrame) -> tuple[str, ...]:
    """Return up to three lines of text that list added, removed and changed topics."""
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
    """Raise an error if the topics of a definition differ from those of a published collection.

    Raises:
        DataError: a topic was added, removed or changed.
    """
    ids = ["topic_id", "label", "aliases", "language"]
    before, now = (set(map(repr, frame.select(ids).rows())) for frame in (published, topics))
    if before != now:
        raise DataError(
            "expected the topics of the published collection, found different topics (added or "
            f"changed: {len(now - before)}; removed or changed: {len(before - now)}), such as "
            f"{min(before ^ now)}; restore them, or start a new collection"
        )


def _read_header_and_lines(source: Source) -> tuple[list[str], list[str]]:
    """Return the column names in the header of a file, and all lines after the header."""
    first, *lines = read_text_lines(source) or [""]
    header = split_cells(first, source, 1)
    if LABEL not in header or not {*header} <= {*HEADER} or len({*header}) < len(header):
        expected = "<TAB>".join(HEADER)
        raise FormatError(
            f"expected a header with {LABEL} and, optionally, any of {expected}, "
            f"found {first[:80]!r}",
            source.name,
            1,
        )
    return header, lines


def _is_skipped(line: str) -> bool:
    """Return whether a line is blank or a comment."""
    return not line.strip() or line.startswith("#")


def _parse_lines(header: list[str], lines: list[str], source: Source) -> Iterator[dict[str, Any]]:
    """Yield the topic in each line, except in blank lines and comments."""
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, 2):
        if _is_skipped(line):
            continue
        topic = _parse_topic(header, split_cells(line, source, number), source, number)
        seen = first_line.setdefault(topic["topic_id"], number)
        if seen != number:
            raise FormatError(
                f"expected unique topic ids, found {topic['topic_id']!r}, also on line {seen}",
                source.name,
                number,
            )
        yield topic


def _parse_topic(
    header: list[str], fields: list[str], source: Source, line_number: int
) -> dict[str, Any]:
    """Validate the fields of a line and return them as a topic, by column name."""
    if len(fields) != len(header):
        raise FormatError(
            f"expected {len(header)} tab-separated fields, found {len(fields)}",
            source.name,
            line_number,
        )
    topic = DEFAULTS | dict(zip(header, fields, strict=True))
    check_label(topic[LABEL], source, line_number)
    topic.setdefault("topic_id", _label_to_id(topic[LABEL]))
    aliases = split_aliases(topic["aliases"], source, line_number)
    for field, pattern, form in (
        ("topic_id", TOPIC_ID, "lowercase letters, digits, - and _"),
        ("language", LANGUAGE, "a two-letter ISO 639-1 code"),
    ):
        if not pattern.fullmatch(topic[field]):
            raise FormatError(
                f"{field}: expected {form}, found {topic[field]!r}", source.name, line_number
            )
    for name, folded in zip(
        (topic[LABEL], *aliases), fold_texts((topic[LABEL], *aliases)), strict=True
    ):
        if not folded:
            raise FormatError(
                f"expected a label or alias with at least one letter or digit, found {name!r}",
                source.name,
                line_number,
            )
    return {**topic, "aliases": aliases}


def _label_to_id(label: str) -> str:
    """Return the folded label with hyphens if it is a valid topic id, otherwise its hash."""
    (folded,) = fold_texts([label])
    name = folded.replace(" ", "-")
    return name if TOPIC_ID.fullmatch(name) else f"t{key64(folded):016x}"
