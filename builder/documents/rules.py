"""Rules that exclude pages from a snapshot, applied in a fixed order.

Input: pages with their URLs. Output: whether each page was shown or sampled, and the first rule
that excludes it. URL lists and verdicts (labels of pages, such as spam) come first, so that a page
that must not be published is excluded even if it was shown. Then, pages that were neither shown nor
sampled are excluded.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

from builder.documents.url_lists import UrlList
from builder.parameters import DocumentParameters
from builder.text.keys import id_to_key, in_sample

DENIED = "denied"
NOT_IN_SAMPLE = "not_in_sample"


@dataclass(frozen=True)
class PageRules:
    """Rules that exclude pages from a snapshot.

    Args:
        shown: Keys of the documents shown for selected queries.
        params: Section `[documents]`, with the share and seed of the sample.
        deny: URLs to exclude.
        allow: URLs that are not excluded even if they are in `deny` or have a verdict.
        verdicts: Keys of the documents that each verdict filter excludes, by filter name.
    """

    shown: pl.Series
    params: DocumentParameters
    deny: UrlList = field(default_factory=UrlList)
    allow: UrlList = field(default_factory=UrlList)
    verdicts: Mapping[str, pl.Series] = field(default_factory=dict)

    @property
    def reject_reasons(self) -> tuple[str, ...]:
        """Reject reasons of the rules, in the order in which the rules are applied."""
        return (DENIED, *self.verdicts, NOT_IN_SAMPLE)

    def apply(self, pages: pl.DataFrame) -> pl.DataFrame:
        """Add the columns `shown`, `sampled` and `reason` to pages.

        `reason` is the reject reason of the first rule that excludes the page; null if none does.

        Args:
            pages: Pages with the columns `doc_id` and `url_key`.
        """
        with_origin = add_selection_flags(pages, self.shown, self.params)
        is_allowed = self._is_url_listed(pages, self.allow)
        key = id_to_key("doc_id")
        rules = [(DENIED, pl.lit(self._is_url_listed(pages, self.deny)) & ~pl.lit(is_allowed))]
        rules += [
            (name, key.is_in(keys.implode()) & ~pl.lit(is_allowed))
            for name, keys in self.verdicts.items()
        ]
        rules.append((NOT_IN_SAMPLE, ~pl.col("shown") & ~pl.col("sampled")))
        reason = pl.coalesce(
            pl.when(applies).then(pl.lit(name)).otherwise(None) for name, applies in rules
        )
        return with_origin.with_columns(reason.alias("reason"))

    @staticmethod
    def _is_url_listed(pages: pl.DataFrame, url_list: UrlList) -> pl.Series:
        """Return, as a Boolean series, whether the URL of each page matches a URL list."""
        if not url_list:
            return pl.repeat(value=False, n=pages.height, dtype=pl.Boolean, eager=True)
        is_match = [url_list.matches(url_key) for url_key in pages["url_key"].to_list()]
        return pl.Series(is_match, dtype=pl.Boolean)


def add_selection_flags(
    pages: pl.DataFrame, shown_keys: pl.Series, params: DocumentParameters
) -> pl.DataFrame:
    """Add the Boolean columns `shown` (to users) and `sampled` (in the sample) to pages.

    Args:
        pages: Pages with the column `doc_id`.
        shown_keys: Keys of the documents shown for selected queries.
        params: Section `[documents]`, with the share and seed of the sample.
    """
    return pages.with_columns(
        shown=id_to_key("doc_id").is_in(shown_keys.implode()),
        sampled=in_sample("doc_id", params.sample_share, params.sample_seed),
    )
