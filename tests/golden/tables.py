"""Content hashes of the tables of a build and of single Parquet files.

In: the folder of a collection, with the outputs of its stages below `.work`. Out: a hash for each
table, by `<key>/<stage>/<table>`. A hash does not depend on the order of rows, on row groups, on
paths, or on the machine: floats are rounded to `DIGITS`, since the last digits of a sum or a
logarithm are the processor's and the library's; pseudonyms of users become the number of the user's
first impression, since a pseudonym is a keyed hash and its key may change.
"""

from pathlib import Path

import polars as pl
import polars.selectors as cs

from builder.io.tables import Table
from builder.runtime.content import content_hash
from builder.runtime.limits import ResourceLimits
from builder.runtime.stage import SCHEMAS
from builder.runtime.store import RECORD

DIGITS = 6
"""Significant digits of floats."""
EMPTY = "0-" + "0" * 32


def collection_hashes(root: Path, scratch: Path) -> dict[str, str]:
    """Hash of every table that the stages of a collection have written.

    Args:
        root: Folder of the collection.
        scratch: Existing folder for temporary files.

    Returns:
        `<rows>-<hash>` by `<key>/<stage>/<table>`, where a key is a snapshot, a pair or `all`.
    """
    return {name: table_hash(path, scratch) for name, path in outputs(root).items()}


def outputs(root: Path) -> dict[str, Path]:
    """The tables of a collection, each a Parquet file or a folder of them, sorted by name.

    Published tables are those of the stages, but for the rejects of a snapshot, which are merged.
    A folder without `.work` has a folder for each run of a model, with one table.
    """
    if not (root / ".work").is_dir():
        files = {f"{path.parent.name}/{path.stem}": path for path in root.glob("*/*.parquet")}
        return dict(sorted(files.items()))
    found = {
        f"{path.parent.name}/published/rejects": path
        for path in root.glob("*/snapshots/*/rejects.parquet")
    }
    for record in (root / ".work").glob(f"*/*/{RECORD}"):
        stage, key = record.parts[-3:-1]
        for output in record.parent.glob("*/*"):
            if output.suffix == ".parquet" or next(output.glob("*.parquet"), None):
                found[f"{key}/{stage}/{output.stem}"] = output
    return dict(sorted(found.items()))


def table_hash(path: Path, scratch: Path) -> str:
    """`<rows>-<hash>` of a Parquet file or of a folder of them.

    Raises:
        KeyError: no table has the file's name, without suffix.
    """
    frame = read_output(path)
    if not frame.height:
        return EMPTY
    copy = scratch / "portable.parquet"
    frame.write_parquet(copy)
    return content_hash(Table((copy,), SCHEMAS[path.stem]), ResourceLimits(scratch, threads=1))


def read_output(path: Path) -> pl.DataFrame:
    """A table as it is hashed: with rounded floats, without pseudonyms."""
    parts = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    return _without_pseudonyms(pl.concat([_portable(pl.read_parquet(part)) for part in parts]))


def _portable(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(cs.float().round_sig_figs(DIGITS))


def _without_pseudonyms(frame: pl.DataFrame) -> pl.DataFrame:
    """The number of a user's first impression instead of the pseudonym."""
    if {"impression", "user"} <= set(frame.columns):
        first = pl.col("impression").min().over("user")
        return frame.with_columns(user=pl.when(pl.col("user").is_not_null()).then(first))
    if {"kind", "key", "label"} <= set(frame.columns):
        is_user = pl.col("kind") == "user"
        return frame.with_columns(key=pl.when(~is_user).then(pl.col("key")))
    return frame
