"""`python -m tests.golden.compare BEFORE AFTER`: which columns of which tables differ, and how.

In: two folders that `python -m tests.golden --keep` filled, with one or more worlds each. Rows are
matched by the primary key of the table's contract, or by all columns where that is not unique.
"""

import argparse
import sys
from pathlib import Path

import polars as pl

from builder.runtime.stage import SCHEMAS
from tests.golden.tables import outputs, read_output

SHOWN = 3
"""Rows of each column that are printed."""


def main(arguments: list[str]) -> int:
    """Print what differs; 1 where something does."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.compare", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args(arguments)
    lines = []
    for world in sorted(path.name for path in options.before.iterdir()):
        sides = [outputs(folder / world / "out") for folder in (options.before, options.after)]
        for table in sorted(sides[0].keys() | sides[1].keys()):
            before, after = (side.get(table) for side in sides)
            if before is None or after is None:
                lines.append(f"{world}/{table}: only {'after' if before is None else 'before'}")
            else:
                lines += [f"{world}/{table}: {line}" for line in _differences(before, after)]
    sys.stdout.write("\n".join(lines or ["no table differs"]) + "\n")
    return int(bool(lines))


def _differences(before: Path, after: Path) -> list[str]:
    """Rows on one side alone, then each column that differs, with some of its rows."""
    keys = SCHEMAS[before.stem].primary_key()
    one, other = read_output(before), read_output(after)
    if not keys or one.select(keys).is_duplicated().any():
        keys = sorted({*one.columns} & {*other.columns})
    found = []
    for text, frame, against in (("before", one, other), ("after", other, one)):
        alone = frame.join(against, on=keys, how="anti", nulls_equal=True)
        found += [f"{alone.height} rows only {text}: {alone.head(SHOWN).rows()}"] * bool(
            alone.height
        )
    both = one.join(other, on=keys, how="inner", suffix="_after", nulls_equal=True)
    for name in (column for column in one.columns if f"{column}_after" in both.columns):
        changed = both.filter(pl.col(name).ne_missing(pl.col(f"{name}_after")))
        if changed.height:
            rows = changed.select(*keys, name, f"{name}_after").head(SHOWN).rows()
            found.append(f"{changed.height} of {both.height} rows differ in {name}: {rows}")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
