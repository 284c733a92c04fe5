"""Finds duplicates within a snapshot: groups of pages with identical or nearly identical text.

Input: hashes and sketches (see `sketch`) of the pages. Output: for each page in a group, the id of
the first page of the group. Within a group, pages that were shown to users come before other pages,
and pages are otherwise ordered by id. Since only shown pages are judged, a judged page is never
dropped in favor of an unjudged page.

Exact duplicates have identical text. To find near-duplicates, every page is compared with the first
page that has the same value of a band, for each band. The similarity is the estimated Jaccard
coefficient of the shingle sets. Pages that are connected by pairs at or above the threshold form a
group (Broder 1997, section 4). Since a page is compared only with the first page, the number of
pairs is linear, even if many pages share boilerplate.
"""

from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import polars as pl

from builder.documents.sketch import estimate_jaccard, memory_map_signatures

PAIRS_PER_BATCH = 65_536

EXACT_GROUPS = """
CREATE TABLE exact_groups AS
SELECT number, first_value(doc_id) OVER same_text AS first
FROM hashes
WINDOW same_text AS (PARTITION BY text_hash ORDER BY shown DESC, number)
QUALIFY count(*) OVER (PARTITION BY text_hash) > 1
"""

CANDIDATE_PAIRS = """
SELECT DISTINCT first, number FROM (
    SELECT number, min(number) OVER (PARTITION BY band, value) AS first FROM bands
) WHERE first <> number
ORDER BY first, number
"""

NEAR_GROUPS = """
CREATE TABLE near_groups AS
SELECT number, first_value(doc_id) OVER same_group AS first
FROM components JOIN hashes USING (number)
WINDOW same_group AS (PARTITION BY component ORDER BY shown DESC, number)
"""

GROUP_ROWS = """
SELECT number, e.first AS duplicate_group, n.first AS near_duplicate_group
FROM exact_groups AS e FULL JOIN near_groups AS n USING (number)
ORDER BY number
"""

GROUP_SCHEMA = {
    "number": pl.UInt64(),
    "duplicate_group": pl.String(),
    "near_duplicate_group": pl.String(),
}
Numbers = npt.NDArray[np.uint64]


class SignatureFile:
    """File of page signatures (see `sketch`), from which the similarity of pages is estimated.

    Args:
        path: File of signatures; may be empty.
        page_numbers: Page number of each signature, in the order of the file.
    """

    def __init__(self, path: Path, page_numbers: Numbers) -> None:
        self._signatures = memory_map_signatures(path)
        self._order = np.argsort(page_numbers)
        self._numbers = page_numbers[self._order]

    def estimate_jaccard(self, left: Numbers, right: Numbers) -> npt.NDArray[np.float64]:
        """Estimate the Jaccard coefficient of each pair of pages, float64[n].

        Args:
            left: Number of the first page of each pair, uint64[n].
            right: Number of the second page of each pair, uint64[n].
        """
        indices = (self._order[np.searchsorted(self._numbers, side)] for side in (left, right))
        return estimate_jaccard(*(self._signatures[index] for index in indices))


def find_duplicate_groups(
    connection: duckdb.DuckDBPyConnection, signatures: SignatureFile, threshold: float
) -> pl.DataFrame:
    """Find groups of pages that are exact duplicates or near-duplicates.

    Args:
        connection: DuckDB connection with the views `hashes` (`number`, `doc_id`, `shown`,
            `text_hash`) and `bands` (`number`, `band`, `value`). Page numbers must be in the
            same order as ids.
        signatures: Signatures of all pages that have bands.
        threshold: Minimum estimated Jaccard coefficient of near-duplicates.

    Returns:
        All pages that are in a group, sorted by number: `number`, `duplicate_group` and
        `near_duplicate_group`. Each group column contains the id of the first page of the group, or
        null if the page is not in a group of this kind.
    """
    connection.execute(EXACT_GROUPS)
    pairs = _near_duplicate_pairs(connection, signatures, threshold)
    components = _connected_components(pairs)
    connection.register("components", components.to_arrow())
    connection.execute(NEAR_GROUPS)
    connection.unregister("components")
    groups: pl.DataFrame = connection.sql(GROUP_ROWS).pl()
    return groups.cast(pl.Schema(GROUP_SCHEMA))


def _near_duplicate_pairs(
    connection: duckdb.DuckDBPyConnection, signatures: SignatureFile, threshold: float
) -> Numbers:
    """Return the page numbers of all pairs of near-duplicate pages, uint64[n, 2]."""
    similar = []
    for batch in connection.sql(CANDIDATE_PAIRS).to_arrow_reader(PAIRS_PER_BATCH):
        pairs = np.column_stack([batch["first"].to_numpy(), batch["number"].to_numpy()])
        similar.append(pairs[signatures.estimate_jaccard(*pairs.T) >= threshold])
    return np.concatenate(similar) if similar else np.zeros((0, 2), dtype=np.uint64)


def _connected_components(pairs: Numbers) -> pl.DataFrame:
    """Find the connected components of a graph whose edges are pairs of page numbers.

    Returns one row per page: `number`, and `component`, the smallest page number of its component.

    Labels are propagated along the pairs until no label changes.
    """
    numbers, inverse = np.unique(pairs, return_inverse=True)
    left, right = inverse.reshape(-1, 2).T
    label = np.arange(len(numbers))
    while True:
        previous = label.copy()
        smallest = np.minimum(label[left], label[right])
        np.minimum.at(label, left, smallest)
        np.minimum.at(label, right, smallest)
        label = label[label]
        if np.array_equal(label, previous):
            return pl.DataFrame({"number": numbers, "component": numbers[label]})
