"""Duplicates within a snapshot: groups of pages with the same text, or nearly the same.

In: notes on the pages (see `gather`) and their sketches. Out: for each page of a group the page
that stands first in it. First is a page that was shown before one that was not, then the smallest
id, so that a judged page is never the one that gives way to an unjudged one.

Exact duplicates have the same text. Near-duplicates: in each band, every page that shares a value
is compared with the first that has it, by the estimated Jaccard coefficient of their shingles;
pages connected by pairs of at least the threshold are a group (Broder 1997, section 4). Comparing
with the first alone keeps the pairs linear in the pages, however many share one boilerplate.
"""

from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.sketch import similarity, stored_signatures

PAIRS_PER_BATCH = 65_536

EXACT = """
CREATE TABLE exact_groups AS
SELECT number, first_value(doc_id) OVER same_text AS first
FROM notes
WINDOW same_text AS (PARTITION BY text_hash ORDER BY shown DESC, number)
QUALIFY count(*) OVER (PARTITION BY text_hash) > 1
"""

LINKS = """
SELECT DISTINCT first, number FROM (
    SELECT number, min(number) OVER (PARTITION BY band, value) AS first FROM bands
) WHERE first <> number
ORDER BY first, number
"""

NEAR = """
CREATE TABLE near_groups AS
SELECT number, first_value(doc_id) OVER same_group AS first
FROM components JOIN notes USING (number)
WINDOW same_group AS (PARTITION BY component ORDER BY shown DESC, number)
"""

IN_GROUPS = """
SELECT number, e.first AS duplicate_group, n.first AS near_duplicate_group
FROM exact_groups AS e FULL JOIN near_groups AS n USING (number)
ORDER BY number
"""

GROUPS = {
    "number": pl.UInt64(),
    "duplicate_group": pl.String(),
    "near_duplicate_group": pl.String(),
}
Numbers = npt.NDArray[np.uint64]


class Signed:
    """Signatures of pages by their number.

    Args:
        path: File of the signatures; may be empty.
        numbers: Of the pages, as the file has them.
    """

    def __init__(self, path: Path, numbers: Numbers) -> None:
        self._stored = stored_signatures(path)
        self._order = np.argsort(numbers)
        self._numbers = numbers[self._order]

    def similarity(self, left: Numbers, right: Numbers) -> npt.NDArray[np.float64]:
        """Estimated Jaccard coefficients of pairs of pages."""
        places = (self._order[np.searchsorted(self._numbers, side)] for side in (left, right))
        return similarity(*(self._stored[place] for place in places))


def find_groups(
    connection: duckdb.DuckDBPyConnection, signed: Signed, threshold: float
) -> pl.DataFrame:
    """The duplicates among some pages.

    Args:
        connection: Has the views `notes` (`number`, `doc_id`, `shown`, `text_hash`) and `bands`
            (`number`, `band`, `value`); numbers are in order of id.
        signed: Signatures of all pages that have bands.
        threshold: Estimated Jaccard coefficient from which two pages are near-duplicates.

    Returns:
        `number`, `duplicate_group` and `near_duplicate_group`: the id of the first page of the
        group, or null; pages of no group are left out. Sorted by number.
    """
    connection.execute(EXACT)
    pairs = _near_pairs(connection, signed, threshold)
    components = _components(pairs)
    connection.register("components", components.to_arrow())
    connection.execute(NEAR)
    connection.unregister("components")
    found: pl.DataFrame = connection.sql(IN_GROUPS).pl()
    return found.cast(pl.Schema(GROUPS))


def _near_pairs(connection: duckdb.DuckDBPyConnection, signed: Signed, threshold: float) -> Numbers:
    """Pairs of numbers whose pages are alike; an n x 2 array."""
    alike = []
    for batch in connection.sql(LINKS).to_arrow_reader(PAIRS_PER_BATCH):
        pairs = np.column_stack([batch["first"].to_numpy(), batch["number"].to_numpy()])
        alike.append(pairs[signed.similarity(*pairs.T) >= threshold])
    return np.concatenate(alike) if alike else np.zeros((0, 2), dtype=np.uint64)


def _components(pairs: Numbers) -> pl.DataFrame:
    """`number` and `component` of every page of a pair: the least number it is connected with.

    Labels sink along pairs, and each label takes the label of its own page, until nothing moves.
    """
    numbers, places = np.unique(pairs, return_inverse=True)
    left, right = places.reshape(-1, 2).T
    label = np.arange(len(numbers))
    while True:
        before = label.copy()
        least = np.minimum(label[left], label[right])
        np.minimum.at(label, left, least)
        np.minimum.at(label, right, least)
        label = label[label]
        if np.array_equal(label, before):
            return pl.DataFrame({"number": numbers, "component": numbers[label]})
