"""Small classification collections, and what is in them."""

import json
from itertools import pairwise

import polars as pl

from builder.tasks.classification import build_classification
from builder.tasks.classification.definition import LABELED_SPLITS, SPLITS
from tests.tasks.classification.posts import PostWorld

WORLD = PostWorld(posts=12_000, authors=2500, repeated=0.05, edited=0.05)
DEFINITION = """
posts = {posts}

[collection]
name = "posts"
version = "{version}"

[intervals]
train = {{start = 2015-01-01, end = 2017-01-01}}
short = {{start = 2017-01-01, end = 2018-01-01}}
long = {{start = 2018-01-01, end = 2022-01-01}}
"""


def define(folder, posts=("posts.jsonl",), version="0.1.0", more=""):
    path = folder / "definition.toml"
    text = DEFINITION.format(posts=json.dumps(list(posts)), version=version)
    path.write_text(text + more)
    return path


def read(build, kind, split):
    return pl.read_parquet(build.folder / kind / f"{split}.parquet")


def posts_of(build):
    frames = [read(build, "posts", split).with_columns(split=pl.lit(split)) for split in SPLITS]
    return pl.concat(frames)


def labels_of(build):
    return pl.concat([read(build, "labels", split) for split in LABELED_SPLITS])


def rejected(build):
    return pl.read_parquet(build.folder / "rejects.parquet")


def reasons(build):
    return dict(rejected(build).select("key", "reason").iter_rows())


def tiny(tmp_path, records, more="", **options):
    lines = [json.dumps(record) for record in records]
    (tmp_path / "posts.jsonl").write_text("\n".join(lines) + "\n")
    everywhere = (
        "\n[authors]\ntrain = 1\ndev = 0\nwithin = 0\nshort = 0\nlong = 0\nunlabelled = 0\n"
    )
    return build_classification(
        define(tmp_path, more=everywhere + more, **options), tmp_path / "out"
    )


def post(number, text, **more):
    return {"id": str(number), "time": "2016-05-01", "author": f"a{number}", "text": text} | more


def bigrams(text):
    words = ["^", *text.split(" "), "$"]
    return set(pairwise(words))


def jaccard(first, second):
    return len(first & second) / len(first | second)
