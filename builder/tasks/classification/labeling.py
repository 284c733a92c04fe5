"""Assigns distant labels and candidate splits to posts.

Writes a work table in which every input record has either a candidate split or a reject reason.
Posts are processed independently; module `selection` compares posts with each other.

Authors are assigned to splits by a keyed hash, so that adding data does not move an author to
another split. A post is a candidate for the split of its author if its time lies in the period of
that split; the split `unlabelled` accepts all periods.
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
    LABELED_SPLITS,
    SPLIT_INTERVALS,
    SPLITS,
    AuthorsSection,
    ClassificationDefinition,
)
from builder.tasks.classification.markers import POLARITIES, MarkerList, distant_label
from builder.tasks.classification.posts import PostBlock, read_posts
from builder.text.keys import fold, key64

URL = r"(?i)\b[a-z][a-z0-9+.-]*://\S*|\bwww\.\S+"
MENTION = r"(?i)(?:\brt\s+)?@\w+(?:[.-]\w+)*(?:@\w+(?:[.-]\w+)*)?"
"""Regex for a mention (`@user` or `@user@server`), with the retweet mark `RT` if it precedes."""
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
"""Columns of the work table, which has one row per input record.

`author` and `sample` are keyed hashes of the author and the post id; `marked` is the distant label
(positive, negative, both or none); `identity` is the deduplication key derived from the text.
Either `split` or `reason` is null.
"""


def deduplication_key_expr(text: pl.Expr) -> pl.Expr:
    """Return an expression for the deduplication key, which is equal for duplicate texts.

    The key is the text in lower case, without accents, punctuation, URLs, mentions and retweet
    marks (`RT @user`), and with every number replaced by 0.
    """
    plain = text.str.replace_all(URL, " ").str.replace_all(MENTION, " ")
    return fold(plain.str.replace_all(r"\b\d+\b", "0"))


@dataclass(frozen=True, slots=True)
class AuthorSplits:
    """Assignment of authors to splits by hash.

    Args:
        seed: Key of the hash.
        bounds: Exclusive upper bound of the hashes of each split, ascending in [0, 2^64].
    """

    seed: str
    bounds: tuple[int, ...]

    @classmethod
    def from_shares(cls, shares: AuthorsSection, seed: str) -> "AuthorSplits":
        """Create an assignment that gives each split its share of authors."""
        cumulative = accumulate(getattr(shares, split) for split in SPLITS)
        return cls(seed, tuple(round(share * 2**64) for share in cumulative))

    def hash_author(self, author: str) -> int:
        """Return the keyed 64-bit hash of an author."""
        return key64(f"{self.seed}\nauthor\n{author}")

    def find_split(self, author_hash: int) -> str:
        """Return the split to which an author hash is assigned."""
        return SPLITS[min(bisect_right(self.bounds, author_hash), len(SPLITS) - 1)]


@dataclass(frozen=True, slots=True)
class PostLabeler:
    """Labeler that assigns distant labels and candidate splits to posts.

    Args:
        definition: Definition of the collection.
        markers: Markers from which distant labels are derived.
    """

    definition: ClassificationDefinition
    markers: MarkerList

    def write_labeled_posts(self, sources: Iterable[Source], path: Path) -> int:
        """Label the posts of all files, write the work table, and return its number of rows."""
        rows = 0
        schema = pl.DataFrame(schema=WORK_SCHEMA).to_arrow().schema
        with pq.ParquetWriter(path, schema, compression="zstd", compression_level=1) as writer:
            for source in sources:
                for block in read_posts(source):
                    frame = self.label_posts(block, source.name)
                    writer.write_table(frame.to_arrow().cast(schema))
                    rows += frame.height
        return rows

    def label_posts(self, block: PostBlock, file_name: str) -> pl.DataFrame:
        """Label a block of records, and return one row of the work table per record."""
        posts = self._assign_splits(self._add_distant_labels(block.posts))
        is_candidate = pl.col("reason").is_null()
        labeled = posts.with_columns(
            split=pl.when(is_candidate).then("split"),
            text=pl.when(is_candidate).then("text"),
            identity=pl.when(is_candidate).then("identity"),
            file=pl.lit(file_name),
        )
        lines = pl.DataFrame(block.malformed, schema=["line", "reason"], orient="row")
        malformed = lines.cast({"line": pl.UInt64, "reason": pl.String})
        rows = pl.concat([labeled, malformed.with_columns(file=pl.lit(file_name))], how="diagonal")
        return rows.select(list(WORK_SCHEMA)).cast(WORK_SCHEMA)  # type: ignore[arg-type]

    def _add_distant_labels(self, posts: pl.DataFrame) -> pl.DataFrame:
        """Add the columns `marked` (distant label) and `identity` (deduplication key) to posts.

        Markers are removed from the texts if `strip_markers` is set.
        """
        may_match = posts["text"].str.contains_any(self.markers.prefilter_strings)
        labels, stripped = [], []
        for text, is_match_possible in zip(posts["text"], may_match, strict=True):
            matches = self.markers.find_all(text) if is_match_possible else []
            labels.append(distant_label(matches))
            stripped.append(self.markers.remove_all(text) if matches else text)
        labeled = posts.with_columns(
            marked=pl.Series(labels, dtype=pl.String),
            stripped=pl.Series(stripped, dtype=pl.String),
        ).with_columns(identity=deduplication_key_expr(pl.col("stripped")))
        strip_markers = self.definition.labels.strip_markers
        return labeled.with_columns(text="stripped") if strip_markers else labeled

    def _assign_splits(self, posts: pl.DataFrame) -> pl.DataFrame:
        """Hash the column `author`, and add the columns sample, period, split and reason."""
        splits = AuthorSplits.from_shares(self.definition.authors, self.definition.seed)
        authors = [splits.hash_author(author) for author in posts["author"]]
        samples = [key64(f"{splits.seed}\nsample\n{post_id}") for post_id in posts["id"]]
        assigned = posts.with_columns(
            author=pl.Series(authors, dtype=pl.UInt64),
            sample=pl.Series(samples, dtype=pl.UInt64),
            period=self._period_expr(),
            split=pl.Series([splits.find_split(author) for author in authors], dtype=pl.String),
        )
        return assigned.with_columns(reason=self._reject_reason_expr())

    def _period_expr(self) -> pl.Expr:
        """Return an expression for the name of each post's period; null outside all periods."""
        period = pl.lit(None, dtype=pl.String)
        for name, interval in self.definition.intervals.intervals_by_name().items():
            inside = pl.col("time").is_between(interval.start, interval.stop, closed="left")
            period = pl.when(inside).then(pl.lit(name)).otherwise(period)
        return period

    def _reject_reason_expr(self) -> pl.Expr:
        """Return an expression for each post's first reject reason; null if none applies."""
        words = pl.col("identity").str.count_matches(r"\S+")
        split_period = pl.col("split").replace_strict(SPLIT_INTERVALS, default=None)
        reasons = {
            "outside_intervals": pl.col("period").is_null(),
            "both_sides": pl.col("marked") == "both",
            "too_few_words": words < self.definition.text.min_words,
            "author_of_another_period": split_period.ne(pl.col("period")).fill_null(value=False),
            "no_marker": pl.col("split").is_in(LABELED_SPLITS)
            & ~pl.col("marked").is_in(POLARITIES),
        }
        return pl.coalesce(pl.when(test).then(pl.lit(name)) for name, test in reasons.items())
