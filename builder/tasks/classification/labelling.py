"""From posts to candidates: distant labels, periods, and the split of each author.

In: blocks of posts. Out: one work table on disk with every record that was read, and for each the
split that it may enter or the reason why it enters none. Nothing here looks at more than one post.

The split of an author is decided by a keyed hash of the author alone, so that more data moves
nobody; a post enters the split of its author if it lies in the period of that split, and the
unlabelled corpus in any period.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq

from builder.io.sources import Source
from builder.tasks.classification.definition import (
    INTERVAL_OF,
    LABELLED,
    SPLITS,
    AuthorsSection,
    ClassificationDefinition,
)
from builder.tasks.classification.markers import POLARITIES, MarkerList, label
from builder.tasks.classification.posts import Block, read_posts
from builder.text.keys import fold, key64

URL = r"(?i)\b[a-z][a-z0-9+.-]*://\S*|\bwww\.\S+"
MENTION = r"@\w+"
WORK_SCHEMA = {
    "file": pl.String,
    "line": pl.UInt64,
    "id": pl.String,
    "time": pl.Int64,
    "author": pl.UInt64,
    "sample": pl.UInt64,
    "period": pl.String,
    "marked": pl.String,
    "split": pl.String,
    "reason": pl.String,
    "text": pl.String,
    "identity": pl.String,
}
"""author: keyed hash of the author; sample: keyed hash of the id; marked: positive, negative, both
or none; identity: what makes two texts the same; split or reason, one of them null."""


def identity(text: pl.Expr) -> pl.Expr:
    """What makes two texts the same: folded words, without addresses and mentions, numbers as 0."""
    plain = text.str.replace_all(URL, " ").str.replace_all(MENTION, " ")
    return fold(plain.str.replace_all(r"\b\d+\b", "0"))


@dataclass(frozen=True, slots=True)
class AuthorSplits:
    """The split of each author.

    Args:
        seed: Key of the hash.
        bounds: Ascending ends of the splits in [0, 2^64].
    """

    seed: str
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, shares: AuthorsSection, seed: str) -> "AuthorSplits":
        """The splits that shares of authors give."""
        ends = accumulate(getattr(shares, split) for split in SPLITS)
        return cls(seed, tuple(round(end * 2**64) for end in ends))

    def key(self, author: str) -> int:
        """Keyed hash of an author, 64 bits."""
        return key64(f"{self.seed}\nauthor\n{author}")

    def split(self, key: int) -> str:
        """The split of the author with this hash."""
        return SPLITS[min(bisect_right(self.bounds, key), len(SPLITS) - 1)]


@dataclass(frozen=True, slots=True)
class Labeller:
    """Labels posts and decides which split they may enter."""

    definition: ClassificationDefinition
    markers: MarkerList

    def write(self, sources: Iterable[Source], path: Path) -> int:
        """Read all posts into a temporary table and return the number of records read."""
        rows = 0
        schema = pl.DataFrame(schema=WORK_SCHEMA).to_arrow().schema
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
            for source in sources:
                for block in read_posts(source):
                    frame = self.candidates(block, source.name)
                    writer.write_table(frame.to_arrow().cast(schema))
                    rows += frame.height
        return rows

    def candidates(self, block: Block, file: str) -> pl.DataFrame:
        """A block as rows of the work table (`WORK_SCHEMA`)."""
        posts = self._split(self._mark(block.posts))
        kept = pl.col("reason").is_null()
        judged = posts.with_columns(
            split=pl.when(kept).then("split"),
            text=pl.when(kept).then("text"),
            identity=pl.when(kept).then("identity"),
            file=pl.lit(file),
        )
        lines = pl.DataFrame(block.malformed, schema=["line", "reason"], orient="row")
        malformed = lines.cast({"line": pl.UInt64, "reason": pl.String})
        rows = pl.concat([judged, malformed.with_columns(file=pl.lit(file))], how="diagonal")
        return rows.select(list(WORK_SCHEMA)).cast(WORK_SCHEMA)  # type: ignore[arg-type]

    def _mark(self, posts: pl.DataFrame) -> pl.DataFrame:
        """Add marked and identity; take the markers out of the text if that is wanted."""
        perhaps = posts["text"].str.contains_any(self.markers.needles)
        marked, clean = [], []
        for text, candidate in zip(posts["text"], perhaps, strict=True):
            found = self.markers.find(text) if candidate else []
            marked.append(label(found))
            clean.append(self.markers.strip(text) if found else text)
        texts = posts.with_columns(
            marked=pl.Series(marked, dtype=pl.String), clean=pl.Series(clean, dtype=pl.String)
        ).with_columns(identity=identity(pl.col("clean")))
        return texts.with_columns(text="clean") if self.definition.labels.strip_markers else texts

    def _split(self, posts: pl.DataFrame) -> pl.DataFrame:
        """Add author, sample, period, split and reason."""
        splits = AuthorSplits.of(self.definition.authors, self.definition.seed)
        keys = [splits.key(author) for author in posts["author"]]
        samples = [key64(f"{splits.seed}\nsample\n{name}") for name in posts["id"]]
        placed = posts.with_columns(
            author=pl.Series(keys, dtype=pl.UInt64),
            sample=pl.Series(samples, dtype=pl.UInt64),
            period=self._period(),
            split=pl.Series([splits.split(key) for key in keys], dtype=pl.String),
        )
        return placed.with_columns(reason=self._reason())

    def _period(self) -> pl.Expr:
        period = pl.lit(None, dtype=pl.String)
        for name, interval in self.definition.intervals.named().items():
            inside = pl.col("time").is_between(interval.start, interval.stop, closed="left")
            period = pl.when(inside).then(pl.lit(name)).otherwise(period)
        return period

    def _reason(self) -> pl.Expr:
        """The first reason that keeps a post out of every split, or null."""
        words = pl.col("identity").str.count_matches(r"\S+")
        own_period = pl.col("split").replace_strict(INTERVAL_OF, default=None)
        reasons = {
            "outside_intervals": pl.col("period").is_null(),
            "both_sides": pl.col("marked") == "both",
            "too_few_words": words < self.definition.text.min_words,
            "author_of_another_period": own_period.ne(pl.col("period")).fill_null(value=False),
            "no_marker": pl.col("split").is_in(LABELLED) & ~pl.col("marked").is_in(POLARITIES),
        }
        return pl.coalesce(pl.when(test).then(pl.lit(name)) for name, test in reasons.items())
