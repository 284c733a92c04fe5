"""Impressions whose results were told by their text, before anything else was known of them.

In: impressions with the number of their page, of which some were seen before. Out: the keys of
their results, but for those of new pages, each of which is looked up once for all its impressions.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from builder.ingest.lists import Rows, lengths, lists_of
from builder.ingest.seen import Halves
from builder.sorting import Flags, Keys


class Pages(NamedTuple):
    """The result pages of some lines.

    Args:
        keys: Of the documents of pages that were seen before, lists of uint64.
        urls: The addresses of others, lists of strings; empty where they cannot be told.
        halves: The hashes of their texts.
        numbers: The page of each line: its place in `keys`, or behind these in `urls`.
    """

    keys: pa.ListArray
    urls: pa.ListArray
    halves: Halves
    numbers: Rows

    @property
    def shown(self) -> Rows:
        """How many results the page of each line has."""
        return np.concatenate([lengths(self.keys), lengths(self.urls)])[self.numbers]


class Paged(NamedTuple):
    """Impressions in the columns of `LOGGED`, without `results`.

    Args:
        batch: The impressions.
        sizes: How many results each has.
        keys: Of all their results; any where the page is new.
        new: Addresses of the new pages that they show, lists of strings.
        halves: The hashes of the texts of these.
        places: Where in `keys` results of new pages are.
        which: Which of the addresses of `new` each of these is.
    """

    batch: pa.RecordBatch
    sizes: Rows
    keys: Keys
    new: pa.ListArray
    halves: Halves
    places: Rows
    which: Rows

    def results(self, keys: Keys) -> pa.ListArray:
        """The keys of results, given those of all addresses of `new`."""
        self.keys[self.places] = keys[self.which]
        return lists_of(self.sizes, pa.array(self.keys))

    def told(self, keys: Keys) -> tuple[Halves, pa.ListArray]:
        """The new pages all of whose addresses have a key, as `KnownPages.remember` takes them."""
        lists = lists_of(lengths(self.new), pa.array(keys))
        whole: Flags = np.ones(len(lists), dtype=bool)
        whole[np.repeat(np.arange(len(lists)), lengths(lists))[keys == 0]] = False
        return self.halves.take(whole), lists.filter(pa.array(whole))


def with_pages(batch: pa.RecordBatch, pages: Pages) -> Paged:
    """Impressions of a batch whose column `results` has the numbers of their pages."""
    numbers = batch["results"].to_numpy()
    sizes = pages._replace(numbers=numbers).shown
    is_known = np.repeat(numbers < len(pages.keys), sizes)
    known = numbers[numbers < len(pages.keys)]
    keys = np.zeros(int(sizes.sum()), dtype=np.uint64)
    keys[is_known] = pages.keys.take(pa.array(known)).values.to_numpy()
    others = numbers[numbers >= len(pages.keys)] - len(pages.keys)
    used, others = np.unique(others, return_inverse=True)
    urls = pages.urls.take(pa.array(used))
    return Paged(
        batch.drop_columns(["results"]),
        sizes,
        keys,
        urls,
        pages.halves.take(used),
        np.flatnonzero(~is_known),
        _items(lengths(urls), others),
    )


def _items(sizes: Rows, chosen: Rows) -> Rows:
    """The places of the items of chosen lists, of lists that follow each other."""
    starts, counts = np.cumsum(sizes) - sizes, sizes[chosen]
    within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.asarray(np.repeat(starts[chosen], counts) + within)
