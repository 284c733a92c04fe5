"""Reads verdicts (labels of queries, users and documents) from TSV files.

The header is `kind key label score source version`. The key is the text of a query, the URL of a
document, or the pseudonym of a user in up to 16 hexadecimal digits.
"""

import math
import re
from collections.abc import Iterator, Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import fold_texts, key64, url_key
from builder.trec.bounded import read_text_lines
from schemas import Verdicts

HEADER = ("kind", "key", "label", "score", "source", "version")


def read_verdicts(files: Sequence[Source]) -> pl.DataFrame:
    """Read the distinct verdicts of TSV files into one sorted table.

    Raises:
        FormatError: a file is not UTF-8, its header or a line is malformed, or a source assigns
            two scores to the same key and label.
    """
    rows = [row for source in files for row in _read_verdict_file(source)]
    frame = pl.DataFrame(rows, schema=Verdicts.dtypes(), orient="row").unique().sort(pl.all())
    conflicts = frame.filter(frame.select(Verdicts.primary_key()).is_duplicated())
    if conflicts.height:
        kind, key, label, source, version = conflicts.select(Verdicts.primary_key()).row(0)
        raise FormatError(
            f"expected one verdict with label {label!r} on {kind} {key:016x} from source {source}, "
            f"version {version}, found two with different scores; remove one of them",
            ", ".join(file.name for file in files),
        )
    return frame


def _read_verdict_file(source: Source) -> Iterator[tuple[str, int, str, str, str, float]]:
    """Yield the verdict in each line of a TSV file, except in blank lines."""
    header, *lines = read_text_lines(source) or [""]
    if tuple(header.split("\t")) != HEADER:
        expected = "<TAB>".join(HEADER)
        raise FormatError(f"expected the header {expected}, found {header[:80]!r}", source.name, 1)
    for number, line in enumerate(lines, 2):
        if not line.strip():
            continue
        fields = [field.strip() for field in line.split("\t")]
        if len(fields) != len(HEADER):
            raise FormatError(
                f"expected {len(HEADER)} tab-separated fields, found {len(fields)}",
                source.name,
                number,
            )
        try:
            yield _parse_verdict(*fields)
        except ValueError as error:
            raise FormatError(str(error), source.name, number) from None


def _parse_verdict(
    kind: str, key: str, label: str, score: str, source: str, version: str
) -> tuple[str, int, str, str, str, float]:
    """Validate the fields of a verdict and return them in the column order of the schema."""
    if kind == "query":
        number = key64(fold_texts([key])[0])
    elif kind == "document":
        number = key64(url_key(key))
    elif kind == "user":
        if not re.fullmatch("[0-9a-fA-F]{1,16}", key):
            raise ValueError(
                f"key: expected a user key of 1 to 16 hexadecimal digits, found {key[:80]!r}"
            )
        number = int(key, 16)
    else:
        raise ValueError(f"kind: expected query, user or document, found {kind!r}")
    if not (label.replace("_", "a").isalnum() and label.isascii() and label.islower()):
        raise ValueError(f"label: expected lowercase letters, digits and _, found {label!r}")
    if not (source and version):
        raise ValueError(f"expected a source and a version, found {source!r} and {version!r}")
    return kind, number, label, source, version, _parse_score(score)


def _parse_score(score_text: str) -> float:
    """Parse a score; raise a ValueError if it is not a number from 0 to 1."""
    try:
        score = float(score_text)
    except ValueError:
        score = math.nan
    if not 0 <= score <= 1:
        raise ValueError(f"score: expected a number from 0 to 1, found {score_text[:80]!r}")
    return score
