"""Checks that test queries are separate from training queries."""

from collections.abc import Iterator

import polars as pl

from builder.collection.checks.context import ValidationContext
from builder.collection.checks.finding import Check, Defect
from builder.queries.leakage import TEST_SPLITS


def _find_misplaced_splits(context: ValidationContext) -> Iterator[Defect]:
    """Report queries whose split does not fit their snapshot.

    In training snapshots, the splits are `train` and `heldout`; in all others, `seen` and `test`.
    """
    training = context.manifest["definition"]["collection"].get("train")
    training = training or context.collection.snapshots[:1]
    for name, queries in context.scan_snapshots("queries"):
        expected = ("train", "heldout") if name in training else ("seen", "test")
        wrong = queries.filter(~pl.col("split").is_in(expected)).select("query_id", "split")
        found = wrong.sort("query_id").collect()
        if found.height:
            message = f"expected the splits {' and '.join(expected)}, found {found['split'][0]}"
            examples = tuple(found["query_id"].head(3))
            yield f"snapshots/{name}/queries", message, found.height, examples


def _find_train_test_leaks(context: ValidationContext) -> Iterator[Defect]:
    """Report test queries if they or one of their variants are also in the train split.

    Queries whose split does not fit their snapshot are reported, too.
    """
    frames = [frame for _, frame in context.scan_snapshots("queries")]
    if not frames or context.is_imported:
        return
    yield from _find_misplaced_splits(context)
    splits = [
        frame.select("query_id", "split", kind=pl.lit(key), key=pl.col(key)).drop_nulls("key")
        for frame in frames
        for key in ("query_id", "variant_set")
    ]
    keys = pl.concat(splits)
    trained = keys.filter(split="train").select("kind", "key").unique()
    tested = keys.filter(pl.col("split").is_in(TEST_SPLITS))
    both = tested.join(trained, on=["kind", "key"]).select("query_id").unique()
    found = both.sort("query_id").collect()["query_id"]
    if len(found):
        message = "queries or their variants are in both train and test splits"
        yield "queries_map", message, len(found), tuple(found.head(3))


CHECKS = (
    Check(
        "LB114",
        "test queries are not in the train split",
        "error",
        "20 to 38 % of held-out queries also in the train split",
        "split by query id, identically in all snapshots",
        _find_train_test_leaks,
    ),
)
