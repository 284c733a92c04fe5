"""Classification collections: nothing crosses a split, every row is accounted for."""

import hashlib
import json
import re
from itertools import combinations

import polars as pl
import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.errors import DataError, DefinitionError
from builder.runtime.limits import ResourceLimits
from builder.tasks.classification import (
    build_classification,
    classification_rebuild_reasons,
    validate_classification,
)
from builder.tasks.classification.definition import LABELED_SPLITS, SPLITS
from builder.tasks.classification.labeling import deduplication_key_expr
from builder.tasks.classification.table_schemas import Labels, Posts
from schemas import Rejects
from tests.tasks.classification.helpers import (
    WORLD,
    bigrams,
    define,
    jaccard,
    labels_of,
    post,
    posts_of,
    read,
    rejected,
    tiny,
)
from tests.tasks.classification.posts import PostWorld, simulate_posts


def test_rows_in_are_rows_out_and_rejects(collection, posts):
    kept = posts_of(collection)
    assert collection.ledger.rows_in == posts.height
    assert collection.ledger.rows_out == kept.height
    assert kept.height + rejected(collection)["rows"].sum() == posts.height
    assert set(kept["id"]) | set(rejected(collection)["key"]) == set(posts["id"])
    assert dict(collection.ledger.rejected) == dict(
        rejected(collection).group_by("reason").agg(pl.col("rows").sum()).iter_rows()
    )


def test_no_post_author_or_text_is_in_two_splits(collection, posts):
    kept = posts_of(collection).join(posts.select("id", name="author"), on="id")
    plain = kept.with_columns(identity=deduplication_key_expr(pl.col("text")))
    for column in ("id", "author", "name", "identity"):
        assert plain.group_by(column).agg(pl.col("split").n_unique())["split"].max() == 1, column
    assert plain["identity"].is_unique().all()
    assert plain.select("author", "name").unique().height == plain["name"].n_unique()


def test_no_text_is_nearly_one_of_another_split(collection):
    plain = posts_of(collection).with_columns(identity=deduplication_key_expr(pl.col("text")))
    by_bigram = {}
    sets = {}
    for name, split, text in plain.select("id", "split", "identity").iter_rows():
        sets[name] = (split, bigrams(text))
        for pair in sets[name][1]:
            by_bigram.setdefault(pair, []).append(name)
    pairs = {pair for names in by_bigram.values() for pair in combinations(names, 2)}
    for first, second in pairs:
        if sets[first][0] != sets[second][0]:
            assert jaccard(sets[first][1], sets[second][1]) < 0.6
    assert collection.ledger.rejected["near_duplicate_of_another_split"] > 0


def test_every_post_lies_in_the_period_of_its_split(collection):
    year = pl.from_epoch("time").dt.year()
    years = {
        split: set(read(collection, "posts", split).select(year.alias("year"))["year"])
        for split in SPLITS
    }
    assert years["train"] == years["dev"] == years["within"] == {2015, 2016}
    assert years["short"] == {2017}
    assert years["long"] == {2018, 2019, 2020, 2021}
    assert years["unlabelled"] == set(range(2015, 2022))


def test_labels_are_balanced_and_belong_to_their_posts(collection):
    for split in LABELED_SPLITS:
        labels = read(collection, "labels", split)
        assert labels["id"].to_list() == read(collection, "posts", split)["id"].to_list()
        counts = dict(labels["label"].value_counts().iter_rows())
        assert counts["positive"] == counts["negative"] > 0
        assert set(labels["source"]) == {"distant"}
    assert not (collection.folder / "labels" / "unlabelled.parquet").exists()


def test_texts_have_lost_their_markers_and_posts_with_both_sides_are_dropped(collection, posts):
    texts = posts.join(posts_of(collection).select("id", clean="text"), on="id")
    marked = texts.filter(pl.col("text") != pl.col("clean"))
    assert marked.height > labels_of(collection).height
    for text, clean in marked.select("text", "clean").iter_rows():
        assert text.startswith(clean)
        assert clean.isascii()
        assert ":" not in clean
    assert collection.ledger.rejected["both_sides"] > 0


def test_distant_labels_are_as_good_as_the_markers(collection, posts):
    joined = labels_of(collection).join(posts, on="id")
    accuracy = (joined["label"] == joined["truth"]).mean()
    assert accuracy == pytest.approx(1 - WORLD.wrong, abs=0.03)


def test_drift_grows_with_time(collection):
    splits = collection.drift["splits"]
    against = {split: splits[split]["against_train"] for split in SPLITS}
    assert against["train"]["js_bits"] == 0
    assert against["train"]["vocabulary_jaccard"] == 1
    assert against["within"]["oov_share"] < against["long"]["oov_share"]
    assert splits["train"]["positive_share"] == 0.5
    assert sum(collection.drift["markers"]["t"].values()) > 0


def test_a_published_version_is_valid_and_checkable_without_us(collection):
    assert validate_classification(collection.folder) == []
    for line in (collection.folder / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split("  ")
        assert hashlib.sha256((collection.folder / name).read_bytes()).hexdigest() == digest
    tables = json.loads((collection.folder / "manifest.json").read_text())["tables"]
    assert tables["posts/train.parquet"]["rows"] == read(collection, "posts", "train").height
    assert {path.name for path in collection.folder.parent.glob(".*/*")} == {"lock", ".gitignore"}


def digests(build):
    files = sorted(build.folder.rglob("*.parquet"))
    return {
        path.relative_to(build.folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def test_the_bytes_do_not_depend_on_threads(collection, posts, tmp_path):
    posts.drop("truth").write_ndjson(tmp_path / "posts.jsonl")
    for threads in (1, 4):
        limits = ResourceLimits(scratch=tmp_path, threads=threads, memory=2**30)
        again = build_classification(define(tmp_path), tmp_path / str(threads), limits)
        assert digests(again) == digests(collection)


def test_the_order_and_format_of_the_posts_change_nothing_but_line_numbers(
    collection, posts, tmp_path
):
    shuffled = posts.drop("truth").sample(fraction=1, shuffle=True, seed=1)
    shuffled.head(5000).write_parquet(tmp_path / "a.parquet")
    shuffled.tail(-5000).write_ndjson(tmp_path / "b.jsonl")
    other = build_classification(define(tmp_path, ["a.parquet", "b.jsonl"]), tmp_path / "out")
    before, after = digests(collection), digests(other)
    for name in before.keys() - {"rejects.parquet"}:
        assert before[name] == after[name], name
    assert other.ledger.rejected == collection.ledger.rejected


def test_more_data_moves_no_author(collection, posts, tmp_path):
    names = posts.select("id", name="author")
    posts.drop("truth").write_ndjson(tmp_path / "posts.jsonl")
    later = simulate_posts(PostWorld(posts=6000, authors=2500, seed=7)).with_columns(
        id=pl.concat_str(pl.lit("later"), "id")
    )
    later.drop("truth").write_ndjson(tmp_path / "more.jsonl")
    grown = build_classification(define(tmp_path, ["posts.jsonl", "more.jsonl"]), tmp_path / "out")
    splits = {}
    for build, known in (
        (collection, names),
        (grown, pl.concat([names, later.select("id", name="author")])),
    ):
        rows = posts_of(build).join(known, on="id").select("name", "split").unique()
        splits[build.folder] = dict(rows.iter_rows())
    before, after = splits.values()
    common = before.keys() & after.keys()
    assert len(common) > 500
    assert all(before[name] == after[name] for name in common)


def test_an_unchanged_version_is_not_built_again(tmp_path):
    records = [post(1, "so good :)"), post(2, "so bad :(")]
    first = tiny(tmp_path, records)
    second = tiny(tmp_path, records)
    assert (first.rebuilt, second.rebuilt) == (True, False)
    assert second.ledger == first.ledger
    assert second.splits.equals(first.splits)


def test_authors_are_numbered_from_0(tmp_path):
    records = [post(1, "so good :)"), post(2, "so bad :("), post(3, "nice :)", author="a1")]
    records.append(post(4, "awful :(", author="a1"))
    build = tiny(tmp_path, records)
    authors = dict(read(build, "posts", "train").select("id", "author").iter_rows())
    assert authors["1"] == authors["3"] == authors["4"] != authors["2"]
    assert set(authors.values()) == {0, 1}
    assert build.splits.row(0)[:6] == ("train", 4, 2, 2, 0, 2)
    assert (build.agreement, build.unused_labels) == (None, {})


def test_a_new_version_of_the_stage_is_a_reason_to_build_again(tmp_path, monkeypatch):
    build = tiny(tmp_path, [post(1, "so good :)"), post(2, "so bad :(")])
    monkeypatch.setattr("builder.tasks.classification.build.STAGE_VERSION", "next")
    manifest = json.loads((build.folder / "manifest.json").read_text())
    before = manifest["made_from"]["stage"].removeprefix("classification/")
    definition = next(tmp_path.glob("*.toml"))
    assert classification_rebuild_reasons(definition, tmp_path / "out") == (
        f"stage version {before} -> next",
    )


def test_the_manifest_describes_the_tables(tmp_path):
    build = tiny(tmp_path, [post(1, "so good :)"), post(2, "so bad :("), post(3, "nothing")])
    manifest = json.loads((build.folder / "manifest.json").read_text())
    known = ("format", "kind", "name", "version")
    assert [manifest[name] for name in known] == [1, "classification", "posts", "0.1.0"]
    assert re.fullmatch(
        r"posts 0\.1\.0\|classification\|tables [0-9a-f]{12}", manifest["signature"]
    )
    tables = {
        name: (table["rows"], table["contract"]) for name, table in manifest["tables"].items()
    }
    posts, labels = Posts.signature(), Labels.signature()
    assert tables == {
        **{f"posts/{split}.parquet": (0, posts) for split in SPLITS},
        **{f"labels/{split}.parquet": (0, labels) for split in LABELED_SPLITS},
        "posts/train.parquet": (2, posts),
        "labels/train.parquet": (2, labels),
        "rejects.parquet": (1, Rejects.signature()),
    }
    assert (build.folder / "README.md").read_text().splitlines()[-12:] == [
        "# posts 0.1.0",
        "",
        "Sentiment of timestamped posts over time. The splits share no author and no text;",
        "the test sets lie within, shortly after and long after the training period.",
        "",
        "| split | posts | positive | negative | authors |",
        "|---|---|---|---|---|",
        "| train | 2 | 1 | 1 | 2 |",
        *(f"| {split} | 0 | 0 | 0 | 0 |" for split in SPLITS[1:5]),
        "| unlabelled | 0 | 0 | 0 | 0 |",
    ][-12:]
    assert (
        (build.folder / "README.md")
        .read_text()
        .startswith(
            '---\nlicense_name: "not stated"\nconfigs:\n- config_name: posts\n  data_files:\n'
            "  - split: train\n    path: posts/train.parquet\n  - split: dev\n"
        )
    )


def test_a_draft_is_replaced_and_a_release_is_not(tmp_path):
    records = [post(1, "so good :)"), post(2, "so bad :(")]
    tiny(tmp_path, records)
    assert tiny(tmp_path, [*records, post(3, "no marker")]).rebuilt
    tiny(tmp_path, records, version="1.0.0")
    with pytest.raises(DefinitionError, match="new version"):
        tiny(tmp_path, [*records, post(3, "no marker")], version="1.0.0")


def test_a_release_without_its_manifest_is_not_replaced(tmp_path):
    records = [post(1, "so good :)"), post(2, "so bad :(")]
    folder = tiny(tmp_path, records, version="1.0.0").folder
    (folder / "manifest.json").unlink()
    with pytest.raises(DataError, match=r"is already published, but manifest\.json is missing"):
        tiny(tmp_path, records, version="1.0.0")


def test_a_draft_with_a_damaged_file_is_built_again(tmp_path):
    records = [post(1, "so good :)"), post(2, "so bad :(")]
    build = tiny(tmp_path, records)
    (build.folder / "drift.json").write_text("{}")
    definition = next(tmp_path.glob("*.toml"))
    assert classification_rebuild_reasons(definition, tmp_path / "out") == (
        "published files were changed or deleted",
    )
    again = tiny(tmp_path, records)
    assert again.rebuilt
    assert again.drift == build.drift
    assert not classification_rebuild_reasons(definition, tmp_path / "out")


@pytest.mark.parametrize("name", ["posts/dev.parquet", "SHA256SUMS"])
def test_a_release_with_a_missing_file_is_an_error(tmp_path, name):
    records = [post(1, "so good :)"), post(2, "so bad :(")]
    folder = tiny(tmp_path, records, version="1.0.0").folder
    (folder / name).unlink()
    with pytest.raises(DataError, match=rf"changed or deleted afterwards \({name}\); restore them"):
        tiny(tmp_path, records, version="1.0.0")


def test_a_split_without_posts_is_an_error(tmp_path):
    with pytest.raises(DataError, match=r"none in train; rejected: no_marker 1"):
        tiny(tmp_path, [post(1, "nothing to see")])
    assert not (tmp_path / "out" / "0.1.0").exists()


def test_the_reasons_of_a_build_are_explained(tmp_path, capsys):
    def explained(definition):
        command = ["classification", "build", str(definition), "--out", str(tmp_path / "out")]
        result = CliRunner().invoke(app, [*command, "--explain"])
        assert result.exit_code == 0, result.output
        return result.stdout

    simulate_posts(PostWorld(posts=600, authors=150)).drop("truth").write_ndjson(
        tmp_path / "posts.jsonl"
    )
    definition = define(tmp_path)
    assert explained(definition) == "run   not built yet\n"
    assert not (tmp_path / "out").exists()
    build_classification(definition, tmp_path / "out")
    assert explained(definition) == "skip  up to date\n"
    with (tmp_path / "posts.jsonl").open("a") as file:
        file.write("\n")
    define(tmp_path, more="\n[text]\nnear_duplicate = 0.9\n")
    reasons = "text.near_duplicate 0.6 -> 0.9; input file posts.jsonl changed"
    assert explained(definition) == f"run   {reasons}\n"
