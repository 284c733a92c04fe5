"""How texts are read in batches."""

import polars as pl

from builder.alignment.texts import split_by_size


def test_batches_end_where_the_sum_of_sizes_passes_a_multiple_of_the_limit() -> None:
    """Sums of 3, 7, 12 and 14 lie in the first, second and third multiple of 6."""
    rows = pl.DataFrame({"size": [3, 4, 5, 2]})
    batches = [batch["size"].to_list() for batch in split_by_size(rows, "size", limit=6)]
    assert batches == [[3], [4], [5, 2]]
    assert list(split_by_size(rows.clear(), "size")) == []
