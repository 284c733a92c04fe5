"""Damaged inputs by the thousand, on all processors: `make fuzz`, or `make fuzz COUNT=100000`.

`COUNT` of them go to the readers of ingestion, a fifth as many to all others; a two-hundredth as
many definitions are built, and a fiftieth as many logs of 500 random records are compared with the
specification of one record. An input is made of its number, so that one that fails can be made
again.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from tqdm import tqdm

from tests.fuzz import definitions, differential, others, readers

COUNT = 20_000
BLOCKS = 200
"""Pieces into which inputs are divided at most; a process is given one at a time."""


@cache
def originals() -> dict[str, bytes]:
    """The valid files of this process."""
    with tempfile.TemporaryDirectory() as folder:
        return readers.seeds(Path(folder))


def ingest_block(count: int, first: int) -> dict[str, int]:
    """How some inputs of ingestion ended."""
    return readers.try_all(originals(), count, first)


def read_block(count: int, first: int) -> dict[str, int]:
    """How some inputs of other readers ended."""
    return others.try_all(count, first)


def build_block(count: int, first: int) -> dict[str, int]:
    """How some definitions ended."""
    return definitions.try_all(count, first)


def compare_block(count: int, first: int) -> dict[str, int]:
    """What became of the records of some random logs."""
    return differential.try_all(count, first)


def try_blocks(
    pool: ProcessPoolExecutor, block: Callable[[int, int], dict[str, int]], count: int, label: str
) -> dict[str, int]:
    """How all inputs ended; the first failure ends it.

    Raises:
        AssertionError: an input crashed a reader, made it hang, or lost a record.
    """
    block_size = -(-count // BLOCKS)
    sizes = {first: min(block_size, count - first) for first in range(0, count, block_size)}
    ends: Counter[str] = Counter()
    with tqdm(total=count, desc=label, unit=" inputs", disable=None) as bar:
        for size, found in zip(sizes.values(), pool.map(block, sizes.values(), sizes), strict=True):
            ends.update(found)
            bar.update(size)
    return dict(ends)


def main(arguments: list[str]) -> None:
    """Try all readers, and print how inputs ended."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=main.__doc__)
    parser.add_argument("count", type=int, nargs="?", default=COUNT, help="inputs of ingestion")
    count = parser.parse_args(arguments).count
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), context) as pool:
        for label, block, number in (
            ("ingestion", ingest_block, count),
            ("logs against the specification", compare_block, max(1, count // 50)),
            ("other readers", read_block, max(1, count // 5)),
            ("definitions", build_block, max(1, count // 200)),
        ):
            ends = try_blocks(pool, block, number, label)
            print(f"{label}: {number:,} inputs, {json.dumps(ends)}", flush=True)  # noqa: T201 - its report
