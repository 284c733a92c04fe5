"""Damage to a published classification collection is found."""

import hashlib
import json

import polars as pl
import pytest

from builder.errors import UsageError
from builder.tasks.classification import validate_classification
from tests.tasks.classification.helpers import read


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
