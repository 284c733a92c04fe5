"""Which posts stay: each reason, sampling, near-duplicates, human labels."""

import json
from itertools import combinations

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.errors import DataError
from builder.tasks.classification import build_classification, validate_classification
from builder.tasks.classification.definition import ClassificationDefinition
from builder.tasks.classification.labeling import WORK_SCHEMA
from builder.tasks.classification.selection import reject_near_duplicates, select_posts
from builder.text.keys import key64
from tests.tasks.classification.helpers import (
    bigrams,
    define,
    jaccard,
    post,
    read,
    reasons,
    rejected,
    tiny,
)
from tests.thorough import examples


def test_each_reason(tmp_path):
    build = tiny(
        tmp_path,
        [
            post(1, "one good thing :)"),
            post(2, "one bad thing :("),
            post(3, "both :) of them :("),
            post(4, "no marker at all"),
            post(5, "http://only.address :)"),
            post(6, "too early :)", time="2014-12-31"),
            post(7, "too late :)", time="2022-01-01"),
            post(8, "of another period :)", time="2017-05-01"),
            post(9, "Said twice! :)"),
            post(10, "said TWICE :)"),
            post(11, "said both ways :)"),
            post(12, "said both ways :("),
            post(1, "one good thing told later :)", time="2016-05-02"),
            {"id": "13"},
        ],
    )
    found = reasons(build)
    twice = {found.pop("9", None), found.pop("10", None)}
    assert twice in ({"duplicate_text", None}, {"duplicate_text", "not_sampled"})
    assert found.pop(None) == "no_author"
    kept = {"1", "2"} - found.keys()
    assert "2" in kept
    assert {name: found[name] for name in found if name not in {"1", "2"}} == {
        "3": "both_sides",
        "4": "no_marker",
        "5": "too_few_words",
        "6": "outside_intervals",
        "7": "outside_intervals",
        "8": "author_of_another_period",
        "11": "label_conflict",
        "12": "label_conflict",
    }
    assert "duplicate_id" in set(rejected(build)["reason"])
    malformed = rejected(build).filter(pl.col("reason") == "no_author").row(0, named=True)
    assert (malformed["file"], malformed["line"]) == ("posts.jsonl", 14)


def select(rows, verdicts=(), **sampling):
    """Reject reason, label and source of each candidate, by line.

    A row has id, time, author, split, distant label and text; the line is its position.
    """
    periods = ((2014, 2015), (2015, 2016), (2018, 2019))
    definition = ClassificationDefinition.model_validate(
        {
            "posts": ["posts.jsonl"],
            "collection": {"name": "posts", "version": "0.1.0"},
            "intervals": {
                name: {"start": f"{first}-01-01", "end": f"{last}-01-01"}
                for name, (first, last) in zip(("train", "short", "long"), periods, strict=True)
            },
            "sampling": {"kind": "natural"} | sampling,
        }
    )
    columns = ("id", "time", "author", "split", "marked", "text", "identity")
    work = [
        dict(zip(columns, (*row, row[-1]), strict=True))
        | {"line": line, "file": "f", "sample": 100 - line, "reason": None}
        for line, row in enumerate(rows, 1)
    ]
    schema = {"id": pl.String, "verdict": pl.String, "annotators": pl.UInt32}
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("work", pl.DataFrame(work, schema=WORK_SCHEMA).to_arrow())
        table = pl.DataFrame([(*v, 1) for v in verdicts], schema=schema, orient="row")
        connection.register("verdict", table.to_arrow())
        select_posts(connection, definition)
        found = "SELECT line, reason, label, source FROM candidate ORDER BY line"
        return {line: rest for line, *rest in connection.execute(found).fetchall()}


def selected(rows, **sampling):
    return {line: reason for line, (reason, _, _) in select(rows, **sampling).items()}


def test_of_posts_with_one_id_the_first_in_time_stays():
    rows = [("1", time, 5, "train", "positive", f"text {time}") for time in (30, 10, 20)]
    assert selected(rows) == {1: "duplicate_id", 2: None, 3: "duplicate_id"}
    other = [("1", 10, author, "train", "positive", f"x {author}") for author in (7, 6)]
    assert selected(other) == {1: "duplicate_id", 2: None}


def test_only_posts_of_labeled_splits_are_in_conflict():
    rows = [
        ("1", 1, 5, "train", "positive", "one text"),
        ("2", 1, 6, "long", "negative", "one text"),
        ("3", 1, 7, "unlabelled", "negative", "one text"),
        ("4", 1, 8, "unlabelled", "positive", "two texts"),
        ("5", 1, 4, "unlabelled", "negative", "two texts"),
        ("6", 1, 3, "train", "negative", "three texts"),
        ("7", 1, 2, "unlabelled", "positive", "three texts"),
        ("8", 1, 1, "dev", "positive", "four texts"),
        ("8", 2, 1, "dev", "negative", "four texts"),
        ("9", 1, 9, "dev", "positive", "four texts"),
    ]
    assert selected(rows) == {
        1: "label_conflict",
        2: "label_conflict",
        3: None,
        4: "duplicate_text",
        5: None,
        6: "duplicate_text",
        7: None,
        8: None,
        9: "duplicate_id",
        10: "duplicate_text",
    }


def test_of_equal_and_similar_texts_that_of_the_lower_author_stays():
    """Of one author, the smaller id stays; posts of one split may be similar."""
    text = "a b c d e f g h"
    rows = [
        ("2", 1, 5, "train", "positive", "equal"),
        ("1", 1, 5, "train", "positive", "equal"),
        ("3", 1, 9, "train", "positive", text),
        ("4", 1, 8, "dev", "positive", f"{text} i"),
        ("5", 1, 7, "dev", "positive", f"{text} j"),
        ("6", 1, 6, "long", "positive", "quite another text"),
    ]
    near = "near_duplicate_of_another_split"
    assert selected(rows) == {1: "duplicate_text", 2: None, 3: near, 4: None, 5: None, 6: None}


def test_human_labels_count_in_development_and_test_sets_alone():
    splits = ("train", "dev", "within", "short", "long", "unlabelled")
    rows = [(s, 1, n, s, "positive", f"text {s} {n}") for n, s in enumerate(splits, 1)]
    rows += [("tie", 1, 7, "dev", "negative", "tied"), ("none", 1, 8, "dev", "positive", "meh")]
    rows += [("again", 1, 9, "dev", "positive", "text dev 2")]
    verdicts = [*((s, "negative") for s in splits), ("tie", None), ("none", "neutral")]
    found = select(rows, [*verdicts, ("again", "negative"), ("unknown", "negative")])
    assert found == {
        1: [None, "positive", "distant"],
        **{line: [None, "negative", "human"] for line in (2, 3, 4, 5)},
        6: [None, None, None],
        7: ["annotators_disagree", None, "human"],
        8: ["human_neutral", "neutral", "human"],
        9: ["duplicate_text", "positive", "distant"],
    }


def test_the_posts_of_the_lowest_hashes_are_sampled():
    """The hash falls with the line here. Balance concerns the labels of labeled splits alone."""
    rows = [
        *((f"t{n}", 1, n, "train", "positive", f"train {n}") for n in range(1, 4)),
        *((f"n{n}", 1, n, "train", "negative", f"not {n}") for n in range(4, 8)),
        *((f"u{n}", 1, n, "unlabelled", "none", f"other {n}") for n in range(8, 11)),
        ("t9", 1, 99, "train", "positive", "train 1"),
    ]

    def kept(**sampling):
        found = selected(rows, **sampling)
        assert found.pop(11) == "duplicate_text"
        assert set(found.values()) == {None, "not_sampled"}
        return [line for line, reason in found.items() if reason is None]

    assert kept(train=3) == [5, 6, 7, 8, 9, 10]
    assert kept(train=99, unlabelled=1) == [1, 2, 3, 4, 5, 6, 7, 10]
    assert kept(kind="balanced") == [1, 2, 3, 5, 6, 7, 8, 9, 10]
    assert kept(kind="balanced", train=5, unlabelled=2) == [2, 3, 6, 7, 9, 10]
    assert kept(kind="balanced", train=1) == [8, 9, 10]
    assert set(selected(rows[:3], kind="balanced").values()) == {"not_sampled"}


def test_natural_sampling_and_sizes(tmp_path):
    texts = [f"thing number {'abcdefghij'[i]} :{')' if i < 8 else '('}" for i in range(10)]
    more = '\n[sampling]\nkind = "natural"\ntrain = 6\n'
    build = tiny(tmp_path, [post(i, text) for i, text in enumerate(texts)], more)
    assert read(build, "posts", "train").height == 6
    assert build.ledger.rejected == {"not_sampled": 4}


def test_a_smaller_sample_is_part_of_a_larger_one(tmp_path):
    records = [post(i, f"thing {'abcdefghijklmnopqrst'[i]} :{'()'[i % 2]}") for i in range(20)]
    kept = []
    for size in (4, 10, 20):
        folder = tmp_path / str(size)
        folder.mkdir()
        build = tiny(folder, records, f"\n[sampling]\ntrain = {size}\n")
        kept.append(set(read(build, "posts", "train")["id"]))
    assert [len(ids) for ids in kept] == [4, 10, 20]
    assert kept[0] < kept[1] < kept[2]
    for labels in (range(0, 20, 2), range(1, 20, 2)):
        by_hash = sorted(
            map(str, labels), key=lambda name: key64(f"longeval-builder\nsample\n{name}")
        )
        assert kept[1] & set(by_hash) == set(by_hash[:5])


def test_markers_can_stay_in_the_texts(tmp_path):
    more = "\n[labels]\nstrip_markers = false\n"
    build = tiny(tmp_path, [post(1, "so  good :)"), post(2, "so bad :(")], more)
    assert set(read(build, "posts", "train")["text"]) == {"so  good :)", "so bad :("}
    assert validate_classification(build.folder) == []


def test_an_own_list_of_markers(tmp_path):
    (tmp_path / "mine.tsv").write_text(
        "marker\tkind\tpolarity\tname\n:o\temoticon\tpositive\twow\n:x\temoticon\tnegative\tno\n"
    )
    more = '\n[labels]\nmarkers = "mine.tsv"\n'
    build = tiny(tmp_path, [post(1, "good :o"), post(2, "bad :x"), post(3, "other :)")], more)
    assert dict(read(build, "labels", "train").select("id", "label").iter_rows()) == {
        "1": "positive",
        "2": "negative",
    }


def test_an_own_list_of_markers_is_validated(tmp_path):
    """The built-in marker `:D` is a part of these texts, so they are not duplicates."""
    (tmp_path / "mine.tsv").write_text(
        "marker\tkind\tpolarity\tname\n😀\temoji\tpositive\ta\n😡\temoji\tnegative\tb\n"
    )
    texts = ["so warm :D 😀", "so warm 😀", "so cold 😡", "so wet 😡"]
    more = (
        "\n[authors]\ntrain = 0.5\ndev = 0.5\nwithin = 0\nshort = 0\nlong = 0\nunlabelled = 0\n"
        '\n[labels]\nmarkers = "mine.tsv"\n\n[text]\nnear_duplicate = 1\n'
    )
    records = [post(n, text, author=("ann", "cy")[n % 2]) for n, text in enumerate(texts)]
    (tmp_path / "posts.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")
    build = build_classification(define(tmp_path, more=more), tmp_path / "out")
    splits = dict(build.splits.select("split", "posts").iter_rows())
    assert (splits["train"], splits["dev"]) == (2, 2)
    assert validate_classification(build.folder) == []


def test_human_labels_are_balanced(tmp_path):
    """People find two of the three negative posts positive."""
    texts = ["sun :)", "joy :)", "win :)", "rain :(", "loss :(", "pain :("]
    human = {"0": "positive", "3": "positive", "4": "positive", "5": "negative", "1": "neutral"}
    (tmp_path / "human.tsv").write_text(
        "".join(f"{name}\tann\t{label}\n" for name, label in human.items())
    )
    (tmp_path / "posts.jsonl").write_text(
        "".join(json.dumps(post(n, text)) + "\n" for n, text in enumerate(texts))
    )
    more = (
        "\n[authors]\ntrain = 0\ndev = 1\nwithin = 0\nshort = 0\nlong = 0\nunlabelled = 0\n"
        '\n[labels]\nannotations = ["human.tsv"]\n'
    )
    build = build_classification(define(tmp_path, more=more), tmp_path / "out")
    assert sorted(read(build, "labels", "dev")["label"]) == ["negative", "positive"]
    assert build.ledger.rejected == {"human_neutral": 1, "not_sampled": 3}


def test_retweets_are_duplicates(tmp_path):
    build = tiny(
        tmp_path, [post(1, "so good 😀"), post(2, "RT @me: so good 😀"), post(3, "bad 😡")]
    )
    assert build.ledger.rejected == {"duplicate_text": 1}


def test_files_without_posts_are_an_error(tmp_path):
    with pytest.raises(DataError) as error:
        tiny(tmp_path, [post(1, "sun :)", time=1_462_060_800_000)])
    assert str(error.value) == (
        "expected posts with the fields id, time (Unix seconds or ISO 8601), author and text (not "
        "HTML), as JSON lines or Parquet, found none; rejected: bad_time 1; convert the files, or "
        "correct `posts`"
    )


def test_a_file_without_lines_is_an_error(tmp_path):
    with pytest.raises(DataError, match="found none; rejected: nothing; convert the files, or"):
        tiny(tmp_path, [])


def test_posts_with_every_fault_are_an_error_of_their_files(tmp_path):
    """As long as no post was read, the intervals cannot be at fault."""
    faults = {"id": ["", "a\tb"], "author": [""], "text": ["", "<p>sun :)</p>"], "time": ["soon"]}
    records = [
        post(n, "sun :)") | {field: value}
        for n, (field, value) in enumerate((f, v) for f, vs in faults.items() for v in vs)
    ]
    lines = "\n".join([*map(json.dumps, records), "[1]"])
    (tmp_path / "posts.jsonl").write_text(lines + "\n")
    with pytest.raises(DataError) as error:
        build_classification(define(tmp_path), tmp_path / "out")
    assert (
        "found none; rejected: bad_id 1, bad_time 1, html_text 1, no_author 1, no_id 1, no_text 1, "
        "not_json_object 1; convert the files"
    ) in str(error.value)


def test_human_labels_replace_distant_ones(collection, posts, tmp_path):
    posts.drop("truth").write_ndjson(tmp_path / "posts.jsonl")
    ids = read(collection, "labels", "long")["id"].to_list()[:4]
    truth = read(collection, "labels", "long").head(4)["label"].to_list()
    other = {"positive": "negative", "negative": "positive"}
    train = read(collection, "labels", "train")["id"][0]
    votes = {
        ids[0]: (other[truth[0]], other[truth[0]], truth[0]),
        ids[1]: (truth[1],),
        ids[2]: ("neutral", "neutral"),
        ids[3]: ("positive", "negative"),
        train: ("neutral",),
        "of-no-post": ("positive",),
    }
    lines = [
        f"{name}\tperson{number}\t{label}"
        for name, labels in votes.items()
        for number, label in enumerate(labels)
    ]
    (tmp_path / "human.tsv").write_text("\n".join(lines) + "\n")
    more = '\n[labels]\nannotations = ["human.tsv"]\n'
    build = build_classification(define(tmp_path, more=more), tmp_path / "out")
    rows = {row["id"]: row for row in read(build, "labels", "long").rows(named=True)}
    assert (rows[ids[0]]["label"], rows[ids[0]]["distant"]) == (other[truth[0]], truth[0])
    assert (rows[ids[0]]["source"], rows[ids[1]]["source"]) == ("human", "human")
    assert reasons(build)[ids[2]] == "human_neutral"
    assert reasons(build)[ids[3]] == "annotators_disagree"
    assert train in set(read(build, "labels", "train")["id"])
    assert build.unused_labels == {"train": 1, "rejected": 2, "unknown": 1}
    assert build.agreement.annotators == ("person0", "person1", "person2")
    assert build.splits.filter(pl.col("split") == "long")["human"].item() == 2
    assert validate_classification(build.folder) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (
            "y1\tann\tpositive\nx9\tann\tpositive\nz1\tann\tneutral\n",
            "only labels of unknown posts, such as 'x9'",
        ),
        ("", "no labels"),
    ],
)
def test_human_labels_of_no_post_are_an_error(tmp_path, text, found):
    (tmp_path / "human.tsv").write_text(text)
    more = '\n[labels]\nannotations = ["human.tsv"]\n'
    with pytest.raises(DataError) as error:
        tiny(tmp_path, [post(1, "sun :)"), post(2, "rain :(")], more)
    assert str(error.value) == (
        f"human.tsv: expected labels of posts in the collection, found {found}; correct the ids, "
        "or remove labels.annotations"
    )


CONNECTION = duckdb.connect(config={"threads": 1})
words = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=9).map(" ".join)


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(
        st.tuples(words, st.sampled_from(["train", "long", "short"])), min_size=2, max_size=14
    ),
    st.sampled_from([0.51, 0.6, 0.75, 1.0]),
)
def test_all_near_duplicates_are_found_and_no_others(posts, theta):
    frame = pl.DataFrame(posts, schema=["identity", "split"], orient="row").with_row_index("rank")
    CONNECTION.register("posts", frame.to_arrow())
    CONNECTION.execute(
        "CREATE OR REPLACE TEMP TABLE candidate AS SELECT *, NULL::VARCHAR AS reason FROM posts"
    )
    reject_near_duplicates(CONNECTION, theta)
    rows = CONNECTION.execute("SELECT rank FROM candidate WHERE reason IS NOT NULL").fetchall()
    sets = [bigrams(text) for text, _ in posts]
    expected = {
        j
        for i, j in combinations(range(len(posts)), 2)
        if posts[i][1] != posts[j][1] and jaccard(sets[i], sets[j]) >= theta - 1e-9
    }
    assert {rank for (rank,) in rows} == expected
