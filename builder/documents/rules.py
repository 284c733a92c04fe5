"""Which pages may enter a snapshot, one rule after the other, the same for every snapshot.

In: pages and what is known about their addresses. Out: for each page the origin, and the first
rule that leaves it out. Lists and verdicts come first, so that a page that must not be published
is left out whether it was shown or not; then every page that was neither shown nor sampled.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from builder.documents.addresses import AddressList
from builder.parameters import DocumentParameters
from builder.text.keys import in_sample, key_of_id

DENIED = "denied"
NOT_IN_SAMPLE = "not_in_sample"


@dataclass(frozen=True)
class PageRules:
    """What decides about a page.

    Args:
        shown: Keys of the documents that kept queries showed.
        params: Share and seed of the sample.
        deny: Pages that are left out.
        allow: Pages that neither the list nor a verdict leaves out.
        verdicts: Keys of the documents that each verdict filter leaves out, by its name.
    """

    shown: pl.Series
    params: DocumentParameters
    deny: AddressList = field(default_factory=AddressList)
    allow: AddressList = field(default_factory=AddressList)
    verdicts: Mapping[str, pl.Series] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The rules in the order in which they are applied."""
        return (DENIED, *self.verdicts, NOT_IN_SAMPLE)

    def apply(self, pages: pl.DataFrame) -> pl.DataFrame:
        """Add `shown`, `sampled` (Boolean) and `reason` (null where the page is kept).

        Args:
            pages: Columns `doc_id` and `url_key`.
        """
        marked = mark_origin(pages, self.shown, self.params)
        spared = self._covered(pages, self.allow)
        key = key_of_id("doc_id")
        reasons = [(DENIED, pl.lit(self._covered(pages, self.deny)) & ~pl.lit(spared))]
        reasons += [
            (name, key.is_in(keys.implode()) & ~pl.lit(spared))
            for name, keys in self.verdicts.items()
        ]
        reasons.append((NOT_IN_SAMPLE, ~pl.col("shown") & ~pl.col("sampled")))
        found = pl.coalesce(
            pl.when(applies).then(pl.lit(name)).otherwise(None) for name, applies in reasons
        )
        return marked.with_columns(found.alias("reason"))

    @staticmethod
    def _covered(pages: pl.DataFrame, addresses: AddressList) -> pl.Series:
        if not addresses:
            return pl.repeat(value=False, n=pages.height, dtype=pl.Boolean, eager=True)
        covered = [addresses.covers(url_key) for url_key in pages["url_key"].to_list()]
        return pl.Series(covered, dtype=pl.Boolean)


def mark_origin(pages: pl.DataFrame, shown: pl.Series, params: DocumentParameters) -> pl.DataFrame:
    """Add whether a page was shown (Boolean `shown`) and is in the sample (Boolean `sampled`).

    Args:
        pages: Column `doc_id`.
        shown: Keys of the documents shown.
        params: Share and seed of the sample.
    """
    return pages.with_columns(
        shown=key_of_id("doc_id").is_in(shown.implode()),
        sampled=in_sample("doc_id", params.sample_share, params.sample_seed),
    )
