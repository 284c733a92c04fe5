"""Verdicts in files: labels that people or other programs gave.

In: UTF-8 tab-separated lines under the header `kind key label score source version`. The key of a
query is its text, of a document its URL, of a user its pseudonym in 16 hexadecimal digits. Out:
rows of `schemas.Verdicts`.
"""

from collections.abc import Iterator, Sequence

import polars as pl

from builder.errors import FormatError
from builder.io.sources import Source
from builder.text.keys import fold_texts, key64, url_key
from builder.trec.bounded import read_text_lines
from schemas import Verdicts

HEADER = ("kind", "key", "label", "score", "source", "version")


def read_verdicts(files: Sequence[Source]) -> pl.DataFrame:
    """The verdicts of TSV files: columns of `schemas.Verdicts`, sorted, without repetitions.

    Raises:
        FormatError: not UTF-8, a wrong header or line, or two scores for one key and label.
    """
    rows = [row for source in files for row in _parse(source)]
    frame = pl.DataFrame(rows, schema=Verdicts.dtypes(), orient="row").unique().sort(pl.all())
    twice = frame.filter(frame.select(Verdicts.primary_key()).is_duplicated())
    if twice.height:
        kind, key, label, source, version = twice.select(Verdicts.primary_key()).row(0)
        raise FormatError(
            f"{source} {version} gives {kind} {key:016x} two scores for {label!r}; keep one",
            ", ".join(file.name for file in files),
        )
    return frame


def _parse(source: Source) -> Iterator[tuple[str, int, str, str, str, float]]:
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
            yield _verdict(*fields)
        except ValueError as error:
            raise FormatError(str(error), source.name, number) from None


def _verdict(
    kind: str, key: str, label: str, score: str, source: str, version: str
) -> tuple[str, int, str, str, str, float]:
    """One verdict, in the order of the contract's columns."""
    if kind == "query":
        number = key64(fold_texts([key])[0])
    elif kind == "document":
        number = key64(url_key(key))
    elif kind == "user":
        number = int(key, 16)
    else:
        raise ValueError(f"kind: expected query, user or document, found {kind!r}")
    if not (label.replace("_", "a").isalnum() and label.isascii() and label.islower()):
        raise ValueError(f"label: expected lower-case letters, digits and _, found {label!r}")
    if not 0 <= float(score) <= 1:
        raise ValueError(f"score: expected a number from 0 to 1, found {score!r}")
    if not (source and version and 0 <= number < 2**64):
        raise ValueError("expected a source, a version and a key of 64 bits")
    return kind, number, label, source, version, float(score)
