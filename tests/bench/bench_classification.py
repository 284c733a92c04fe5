"""How long a classification collection of a million posts takes, and whether it keeps its promises.

A million simulated posts of 200,000 authors over nine years, in Parquet: build the collection
(labels, splits, all near-duplicates across splits), validate what was published, and compare the
distant labels with the simulated truth.

Run it as `python -m tests.bench.bench_classification`.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import polars as pl

from builder.tasks.classification import build_classification, validate_classification
from builder.tasks.classification.definition import LABELED_SPLITS
from tests.bench.peak import peak_bytes
from tests.tasks.classification.posts import PostWorld, simulate_posts

POSTS = 1_000_000
DEFINITION = """
posts = ["posts.parquet"]

[collection]
name = "bench"
version = "0.1.0"

[intervals]
train = {start = 2016-01-01, end = 2017-01-01}
short = {start = 2017-01-01, end = 2018-01-01}
long = {start = 2018-01-01, end = 2022-01-01}
"""


def run_bench(quick: bool = False) -> list[dict[str, Any]]:
    """Time build and validation; one row per piece of work: name, seconds, and what was found."""
    posts = POSTS // 20 if quick else POSTS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        world = simulate_posts(PostWorld(posts=posts, authors=posts // 5))
        world.drop("truth").write_parquet(folder / "posts.parquet")
        (folder / "definition.toml").write_text(DEFINITION)
        begun = time.perf_counter()
        build = build_classification(folder / "definition.toml", folder / "out")
        built = time.perf_counter()
        findings = validate_classification(build.folder)
        validated = time.perf_counter()
        labels = pl.concat(
            [
                pl.read_parquet(build.folder / "labels" / f"{split}.parquet")
                for split in LABELED_SPLITS
            ]
        ).join(world.select("id", "truth"), on="id")
    peak = peak_bytes() / 2**20
    return [
        {
            "name": f"build {posts} posts",
            "seconds": round(built - begun, 1),
            "posts_kept": build.ledger.rows_out,
            "peak_mib": round(peak),
            "distant_label_accuracy": float((labels["label"] == labels["truth"]).mean()),  # type: ignore[arg-type]
        },
        {
            "name": f"validate {build.ledger.rows_out} posts",
            "seconds": round(validated - built, 1),
            "findings": len(findings),
        },
    ]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run_bench(), indent=1) + "\n")
