"""Damage to a published classification collection is found."""

import hashlib
import json

import polars as pl
import pytest

from builder.collection.checks.finding import Finding
from builder.errors import FormatError, UsageError
from builder.tasks.classification import validate_classification
from tests.tasks.classification.helpers import post, read, tiny


@pytest.fixture
def copied(collection, tmp_path):
    """A copy of the collection version that a test may damage."""

    def copy(change):
        folder = tmp_path / "copy"
        for path in collection.folder.rglob("*"):
            if path.is_file():
                target = folder / path.relative_to(collection.folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(path.read_bytes())
        change(folder)
        return folder

    return copy


REBUILD = "rebuild the version from its definition, or download it again"
TEXT = "so bad day here in the rain"
NEAR = "posts that are near-duplicates of a post in another split"


@pytest.fixture
def small(tmp_path):
    """A version with two posts, which a test may damage."""
    return tiny(tmp_path, [post(1, "so good day :)"), post(2, f"{TEXT} :(")]).folder


def error(check, where, message, examples=(), fix=REBUILD, count=None):
    number = max(len(examples), 1) if count is None else count
    return Finding(check, "error", where, message, number, tuple(examples), fix)


def findings(folder):
    """What is found, apart from hashes that were not updated."""
    return [found for found in validate_classification(folder) if found.check != "LC004"]


def test_files_that_do_not_agree_with_the_manifest(small):
    assert validate_classification(small) == []
    (small / "README.md").unlink()
    (small / "extra.txt").touch()
    (small / "more").mkdir()
    (small / "more" / "a.txt").touch()
    (small / "drift.json").write_text("{}")
    (small / "SHA256SUMS").unlink()
    assert validate_classification(small) == [
        error("LC001", "README.md", "file is listed in the manifest but does not exist"),
        error("LC002", "extra.txt", "file is not listed in the manifest", fix="remove the file"),
        error("LC002", "more/a.txt", "file is not listed in the manifest", fix="remove the file"),
        error("LC003", "drift.json", "SHA-256 differs from the manifest"),
        error("LC004", "SHA256SUMS", "SHA256SUMS and manifest.json disagree"),
    ]
    (small / "posts" / "train.parquet").write_bytes(b"damaged")
    assert [(found.check, found.where) for found in findings(small)][-1] == (
        *("LC003", "posts/train.parquet"),
    )
    (small / "posts" / "train.parquet").unlink()
    assert findings(small)[1] == error(
        "LC001", "posts/train.parquet", "file is listed in the manifest but does not exist"
    )


def test_posts_and_labels_belong_together(small):
    more = [{"id": str(n), "label": "positive", "source": "human"} for n in range(9, 4, -1)]
    changed = [row | {"distant": "positive"} for row in more]
    rewrite(
        small,
        "labels/train.parquet",
        lambda labels: pl.concat([labels.head(1), pl.DataFrame(changed)]).with_columns(
            label=pl.col("label").replace("positive", "neutral").sort()
        ),
    )
    labels = "labels/train.parquet"
    assert findings(small) == [
        error("LC101", labels, "6 rows violate the schema", ["label|regex: 6"]),
        error(
            *("LC102", labels, "posts without a label, or labels without a post"),
            *(["2", "5", "6"], REBUILD, 6),
        ),
    ]


def test_what_two_splits_share_is_named(small):
    """Author 5 is in one split alone, and author 1 wrote two posts of it."""
    time = 1_462_060_800  # 2016-05-01
    rows = [("1", time, 0, "so good day"), ("7", time - 10**9, 1, f"{TEXT} now")]
    rows += [(name, time, 5 - 4 * (name == "8"), f"unlike {name}") for name in ("8", "91", "92")]

    def add(posts):
        return pl.DataFrame(rows, schema=posts.schema, orient="row")

    rewrite(small, "posts/dev.parquet", add)
    labels = [(name, "positive", "human", "negative") for name, *_ in rows]
    schema = pl.read_parquet(small / "labels/dev.parquet").schema
    rewrite(
        small,
        "labels/dev.parquet",
        lambda _: pl.DataFrame(labels, schema=schema, orient="row"),
    )
    assert findings(small) == [
        error(
            "LC204", "posts/dev.parquet", "posts with a time outside the period of the split", ["7"]
        ),
        error("LC201", "posts", "post in more than one split", ["1 (dev, train)"]),
        error(
            *("LC202", "posts", "author in more than one split"),
            ["0 (dev, train)", "1 (dev, train)"],
        ),
        error("LC203", "posts", "text in more than one split", ["so good day (dev, train)"]),
        error("LC205", "posts", NEAR, ["2 (train)"]),
    ]


@pytest.mark.parametrize(
    ("text", "problem", "message"),
    [
        ('{"kind": "web", "made_from": {}}', UsageError, "found another kind of collection"),
        ('{"kind": "classification"}', UsageError, "found another kind of collection"),
        ("{", FormatError, "expected JSON: "),
        ("[1]", FormatError, "expected a JSON object, found list"),
    ],
)
def test_manifests_of_no_collection(tmp_path, text, problem, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(problem, match=message):
        validate_classification(tmp_path)


def checks(folder):
    return {finding.check for finding in validate_classification(folder)}


def rewrite(folder, name, change):
    """Change a table and make the manifest agree with it."""
    path = folder / name
    change(pl.read_parquet(path)).write_parquet(path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"][name]["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


def test_damage_to_files_is_found(copied):
    assert checks(copied(lambda f: (f / "drift.json").unlink())) == {"LC001"}
    assert checks(copied(lambda f: (f / "extra.txt").touch())) == {"LC002"}
    assert "LC003" in checks(copied(lambda f: (f / "README.md").write_text("changed")))
    assert checks(copied(lambda f: (f / "SHA256SUMS").write_text(""))) >= {"LC004"}


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("LC101", lambda posts, _: posts.with_columns(text=pl.lit(""))),
        ("LC102", lambda posts, _: posts.with_columns(id=pl.concat_str(pl.lit("x"), "id"))),
        ("LC201", lambda posts, other: posts.with_columns(id=other["id"].head(posts.height))),
        (
            "LC202",
            lambda posts, other: posts.with_columns(author=other["author"].head(posts.height)),
        ),
        ("LC203", lambda posts, other: posts.with_columns(text=other["text"].head(posts.height))),
        ("LC204", lambda posts, _: posts.with_columns(time=pl.col("time") - 10**9)),
        (
            "LC205",
            lambda posts, other: posts.with_columns(text=other["text"].head(posts.height) + " end"),
        ),
    ],
)
def test_what_crosses_a_split_is_found(collection, copied, check, change):
    other = read(collection, "posts", "unlabelled")
    folder = copied(lambda f: rewrite(f, "posts/dev.parquet", lambda posts: change(posts, other)))
    assert check in checks(folder)


def test_a_finding_has_three_examples_and_the_number_of_all(collection, copied):
    changed = copied(
        lambda f: rewrite(
            f, "posts/dev.parquet", lambda posts: posts.with_columns(time=pl.col("time") - 10**9)
        )
    )
    (finding,) = [found for found in validate_classification(changed) if found.check == "LC204"]
    ids = read(collection, "posts", "dev")["id"].to_list()
    assert finding.where == "posts/dev.parquet"
    assert finding.count == len(ids) > 3
    assert sorted(finding.examples) == sorted(set(finding.examples) & set(ids))
    assert len(finding.examples) == 3


def test_what_is_no_collection(tmp_path):
    with pytest.raises(UsageError, match="manifest"):
        validate_classification(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="another kind"):
        validate_classification(tmp_path)
