"""Posts as they are handed in, and the decisions on single posts."""

import gc
import gzip
import json
import warnings
from datetime import UTC, date, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.errors import DefinitionError, FormatError, UsageError
from builder.io.sources import Source
from builder.tasks.classification.definition import (
    SPLITS,
    AuthorsSection,
    load_definition,
)
from builder.tasks.classification.inputs import InputFiles
from builder.tasks.classification.labeling import (
    WORK_SCHEMA,
    AuthorSplits,
    PostLabeler,
    deduplication_key_expr,
)
from builder.tasks.classification.markers import read_markers
from builder.tasks.classification.posts import (
    POST_SCHEMA,
    PostBlock,
    parse_unix_seconds,
    read_posts,
)
from builder.text.keys import key64

GOOD = {"id": "1", "time": 1_500_000_000, "author": "a", "text": "hello"}


def read(path):
    blocks = list(read_posts(Source(path, path.name)))
    malformed = [entry for block in blocks for entry in block.malformed]
    return pl.concat([block.posts for block in blocks]), malformed


@pytest.mark.parametrize("name", ["posts.jsonl", "posts.jsonl.gz"])
def test_json_lines(tmp_path, name):
    records = [GOOD, GOOD | {"id": 2, "time": "2017-07-14T02:40:00Z"}, GOOD | {"text": "é\u2028"}]
    text = "\n\n".join(json.dumps(record) for record in records) + "\r\n"
    data = text.encode()
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    posts, malformed = read(tmp_path / name)
    assert posts["id"].to_list() == ["1", "2", "1"]
    assert posts["time"].to_list() == [1_500_000_000] * 3
    assert posts["line"].to_list() == [1, 3, 5]
    assert posts["text"][2] == "é\u2028"
    assert malformed == []


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ("{", "not_json_object"),
        ("[1]", "not_json_object"),
        (json.dumps(GOOD | {"id": ""}), "no_id"),
        (json.dumps(GOOD | {"id": True}), "no_id"),
        (json.dumps(GOOD | {"id": "a\tb"}), "bad_id"),
        (json.dumps(GOOD | {"id": "a\nb"}), "bad_id"),
        (json.dumps(GOOD | {"author": None}), "no_author"),
        (json.dumps(GOOD | {"text": ["x"]}), "no_text"),
        (json.dumps(GOOD | {"text": "<p>so happy :)</p>"}), "html_text"),
        (json.dumps(GOOD | {"text": "<P>so\nhappy</P>\n"}), "html_text"),
        (json.dumps(GOOD | {"time": "yesterday"}), "bad_time"),
        (json.dumps(GOOD | {"time": None}), "bad_time"),
        (json.dumps(GOOD | {"time": 1e30}), "bad_time"),
    ],
)
def test_records_that_are_no_posts(tmp_path, record, reason):
    path = tmp_path / "posts.jsonl"
    path.write_text(f"{json.dumps(GOOD)}\n{record}\n")
    posts, malformed = read(path)
    assert posts.height == 1
    assert malformed == [(2, reason)]


def test_characters_that_platforms_escape_are_restored(tmp_path):
    texts = ["I &lt;3 AT&amp;T", "&amp;lt; &copy=1 &nbsp;", "&quot;no&quot; it&#39;s"]
    lines = [json.dumps(GOOD | {"text": text}) for text in texts]
    path = tmp_path / "posts.jsonl"
    path.write_text("\n".join(lines) + "\n")
    expected = ["I <3 AT&T", "&lt; &copy=1 &nbsp;", '"no" it\'s']
    assert read(path)[0]["text"].to_list() == expected


def test_records_are_read_in_blocks(tmp_path):
    path = tmp_path / "posts.jsonl"
    records = [GOOD, {}, GOOD | {"id": "2"}, GOOD | {"id": "3"}, [1]]
    path.write_text("\n".join(map(json.dumps, records)))
    blocks = list(read_posts(Source(path, path.name), records_per_block=2))
    assert [block.posts["id"].to_list() for block in blocks] == [["1"], ["2", "3"], []]
    assert [block.malformed for block in blocks] == [
        [(2, "no_id")],
        [],
        [(5, "not_json_object")],
    ]


def test_parquet(tmp_path):
    path = tmp_path / "posts.parquet"
    moments = [datetime(2017, 7, 14, 2, 40, tzinfo=UTC).replace(tzinfo=None), None]
    frame = pl.DataFrame({"id": [1, 2], "time": moments, "author": ["a", "b"], "text": ["x", "y"]})
    frame.write_parquet(path)
    posts, malformed = read(path)
    assert posts["time"].to_list() == [1_500_000_000]
    assert malformed == [(2, "bad_time")]
    frame.drop("author").write_parquet(path)
    with pytest.raises(FormatError, match="missing"):
        read(path)
    path.write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FormatError, match="Parquet"):
        read(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot open file"):
        read(tmp_path / "absent.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(json.dumps(GOOD).encode() + b"\n\xe9\n")
    with pytest.raises(FormatError, match="line 2"):
        read(tmp_path / "latin.jsonl")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (1.9, 1),
        (-1.5, -2),
        ("1970-01-01", 0),
        ("1970-01-01T01:00:00+01:00", 0),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC).replace(tzinfo=None), 1),
        (date(1970, 1, 2), 86_400),
        ("1420070400", 1_420_070_400),
        (20150101, 1_420_070_400),
        ("2015-01-01 00:00:00 UTC", 1_420_070_400),
        ("1420070400000", None),
        (1_420_070_400_000, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        ("", None),
        ([], None),
    ],
)
def test_times(value, expected):
    assert parse_unix_seconds(value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Great  DAY!!", "great day"),
        ("RT @Some_One: great day https://t.co/x1", "great day"),
        ("@ann@mas.to @bob.bsky.social. great day", "great day"),
        ("on RT great day", "on rt great day"),
        ("see www.example.org/x now", "see now"),
        ("Été 2016, 3 jours", "ete 0 0 jours"),
        ("covid19", "covid19"),
        ("!!!", ""),
    ],
)
def test_identity(text, expected):
    assert pl.select(deduplication_key_expr(pl.lit(text))).item() == expected


def test_shares_of_authors_are_kept():
    splits = AuthorSplits.from_shares(AuthorsSection(), "seed")
    names = [splits.find_split(splits.hash_author(f"author {number}")) for number in range(20_000)]
    for split in SPLITS:
        share = getattr(AuthorsSection(), split)
        assert names.count(split) / 20_000 == pytest.approx(share, abs=0.012)


def test_a_split_without_share_has_no_author():
    shares = AuthorsSection(train=0.5, dev=0, within=0.2, short=0.2, long=0.1, unlabelled=0)
    splits = AuthorSplits.from_shares(shares, "seed")
    names = {splits.find_split(splits.hash_author(f"author {number}")) for number in range(2000)}
    assert names == {"train", "within", "short", "long"}
    assert splits.find_split(0) == "train"
    assert splits.find_split(2**64 - 1) in names | {"unlabelled"}
    # a sum of shares that was rounded down leaves the largest hashes to the last split
    low = AuthorSplits("seed", (1, 2, 3, 4, 5, 6))
    assert [low.find_split(value) for value in (0, 1, 5, 6, 2**64 - 1)] == [
        *("train", SPLITS[1], SPLITS[5], SPLITS[5], SPLITS[5])
    ]


@given(st.text(min_size=1), st.text())
def test_the_split_of_an_author_depends_on_name_and_seed_alone(author, seed):
    one, other = (AuthorSplits.from_shares(AuthorsSection(), seed) for _ in range(2))
    assert one.find_split(one.hash_author(author)) == other.find_split(other.hash_author(author))


def test_another_seed_moves_authors():
    one, other = (AuthorSplits.from_shares(AuthorsSection(), seed) for seed in ("one", "other"))
    names = [f"author {number}" for number in range(200)]
    assert [one.find_split(one.hash_author(n)) for n in names] != [
        other.find_split(other.hash_author(n)) for n in names
    ]


DEFINITION = """
posts = ["*.jsonl"]

[collection]
name = "posts"
version = "0.1.0"

[intervals]
train = {start = 2016-01-01, end = 2017-01-01}
short = {start = 2017-01-01, end = 2018-01-01}
long = {start = 2018-01-01, end = 2019-01-01}
"""


def load(tmp_path, text):
    path = tmp_path / "definition.toml"
    path.write_text(text)
    return load_definition(path)


def test_definition(tmp_path):
    definition = load(tmp_path, DEFINITION)
    assert definition.intervals.intervals_by_name()["t"].start == 1_451_606_400
    assert definition.labels.strip_markers
    assert definition.seed == "longeval-builder"
    assert definition.intervals.short_days == 365
    assert definition.authors.model_dump() == {
        "train": 0.35,
        "dev": 0.05,
        "within": 0.1,
        "short": 0.15,
        "long": 0.15,
        "unlabelled": 0.2,
    }
    assert definition.sampling.model_dump() == {
        "kind": "balanced",
        "train": None,
        "dev": None,
        "within": None,
        "short": None,
        "long": None,
        "unlabelled": None,
    }
    assert definition.text.model_dump() == {"near_duplicate": 0.6, "min_words": 1}


@pytest.mark.parametrize(
    ("version", "is_draft"),
    [("0.1.0", True), ("1.0.0", False), ("10.2.3", False), ("1.0.0-rc.1", True), ("0.9.0-a", True)],
)
def test_a_draft_has_a_version_below_1_or_a_suffix(tmp_path, version, is_draft):
    definition = load(tmp_path, DEFINITION.replace("0.1.0", version))
    assert definition.collection.is_draft is is_draft


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[intervals]", "[sampling]\ntrain = 1\n[intervals]"),
        ("[intervals]", "[text]\nmin_words = 1\nnear_duplicate = 1\n[intervals]"),
        ("end = 2018-01-01}", "end = 2018-01-01T00:00:00}"),
        ("end = 2019-01-01}", "end = 2019-01-01}\nshort_days = 365"),
        ("end = 2018-01-01}", "end = 2017-01-02}\nshort_days = 1"),
    ],
)
def test_values_at_their_limits_are_allowed(tmp_path, old, new):
    assert load(tmp_path, DEFINITION.replace(old, new, 1)).posts == ("*.jsonl",)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("posts = [", "post = [", "post: unknown key"),
        ('version = "0.1.0"', "", r"collection\.version: required key is missing"),
        ('version = "0.1.0"', 'version = "one"', r"collection\.version"),
        ("end = 2017-01-01}", "end = 2016-01-01}", "train: end must be after start"),
        ("short = {start = 2017-01-01", "short = {start = 2016-12-31", "`short` must lie within"),
        ("end = 2018-01-01}", "end = 2018-01-02}", "`short` must lie within"),
        ("long = {start = 2018-01-01", "long = {start = 2017-12-31", "`long` must start"),
        ("[intervals]", "[text]\nnear_duplicate = 0.5\n[intervals]", "near_duplicate"),
        ("end = 2018-01-01}", "end = 2018-01-01T00:00:01}", "`short` must lie within the 365 days"),
        ("end = 2018-01-01}", "end = 2017-01-01}", "short: end must be after start"),
        ("end = 2019-01-01}", "end = 2018-01-01}", "long: end must be after start"),
        ("end = 2019-01-01}", "end = 2019-01-01}\nshort_days = 0", "short_days"),
        ("end = 2019-01-01}", "end = 2019-01-01}\nshort_days = 366", "at least 366 days after"),
        ('["*.jsonl"]', "[]", "posts"),
        ("[intervals]", "[text]\nnear_duplicate = 1.5\n[intervals]", "near_duplicate"),
        ("[intervals]", "[text]\nmin_words = 0\n[intervals]", "min_words"),
        ("[intervals]", "[authors]\ntrain = 1.35\nlong = -0.85\n[intervals]", r"authors\.train"),
        ("[intervals]", "[authors]\ntrain = -0.35\nlong = 0.85\n[intervals]", r"authors\.train"),
        (
            "[intervals]",
            "[authors]\ntrain = 0.1\n[intervals]",
            "expected shares of authors that sum to 1, found 0.75",
        ),
        ("[intervals]", "[authors]\ntrain = 0.9\n[intervals]", "sum to 1"),
        ("[intervals]", "[sampling]\ntrain = 0\n[intervals]", r"sampling\.train"),
        ("[intervals]", "[intervals", "not valid TOML"),
    ],
)
def test_wrong_definitions_are_named(tmp_path, old, new, message):
    with pytest.raises(DefinitionError, match=message):
        load(tmp_path, DEFINITION.replace(old, new, 1))


def files(path, posts='["posts"]', more=""):
    """The input files of a definition, or the message of the error."""
    definition = load(path.parent, DEFINITION.replace('["*.jsonl"]', posts) + more)
    try:
        return InputFiles.from_definition(definition, path)
    except DefinitionError as error:
        return str(error)


EVERYWHERE = """
[authors]
train = 1
dev = 0
within = 0
short = 0
long = 0
unlabelled = 0

[text]
min_words = 2
"""


@pytest.mark.parametrize("strip", ["true", "false"])
def test_each_record_gets_a_split_or_the_first_reason_that_applies(tmp_path, strip):
    """The periods are 2016, 2017 and 2018; the author belongs to the training set."""
    starts = [int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in range(2016, 2020)]
    texts = {
        "1": (starts[0], "Good day :)"),
        "2": (starts[1] - 1, "http://a.example :( bad 7"),
        "3": (starts[1], "nothing of note"),
        "4": (starts[3], ":) :("),
        "5": (starts[3] - 1, ":) :("),
        "6": (starts[2], "day :)"),
        "7": (starts[0], "nothing of note"),
        "8": (starts[0] - 1, "too early :)"),
    }
    rows = [(int(name), name, time, "ann", text) for name, (time, text) in texts.items()]
    block = PostBlock(pl.DataFrame(rows, schema=POST_SCHEMA, orient="row"), [(9, "no_id")])
    definition = load(tmp_path, DEFINITION + EVERYWHERE + f"[labels]\nstrip_markers = {strip}\n")
    frame = PostLabeler(definition, read_markers()).label_posts(block, "a.jsonl")
    assert frame.schema == WORK_SCHEMA
    stripped = ["Good day", "http://a.example bad 7"]
    kept = stripped if strip == "true" else [text for _, text in texts.values()][:2]
    assert frame.drop("author", "sample", "time").rows() == [
        ("a.jsonl", 1, "1", "t", "positive", "train", None, kept[0], "good day"),
        ("a.jsonl", 2, "2", "t", "negative", "train", None, kept[1], "bad 0"),
        ("a.jsonl", 3, "3", "short", "none", None, "author_of_another_period", None, None),
        ("a.jsonl", 4, "4", None, "both", None, "outside_intervals", None, None),
        ("a.jsonl", 5, "5", "long", "both", None, "both_sides", None, None),
        ("a.jsonl", 6, "6", "long", "positive", None, "too_few_words", None, None),
        ("a.jsonl", 7, "7", "t", "none", None, "no_marker", None, None),
        ("a.jsonl", 8, "8", None, "positive", None, "outside_intervals", None, None),
        ("a.jsonl", 9, None, None, None, None, "no_id", None, None),
    ]
    assert frame["author"].drop_nulls().to_list() == [key64("longeval-builder\nauthor\nann")] * 8
    assert frame["sample"][0] == key64("longeval-builder\nsample\n1")


def test_the_unlabeled_corpus_takes_posts_of_every_period_without_a_marker(tmp_path):
    text = EVERYWHERE.replace("train = 1", "train = 0").replace("unlabelled = 0", "unlabelled = 1")
    rows = [
        (n, str(n), int(datetime(2014 + n, 6, 1, tzinfo=UTC).timestamp()), "ann", f"one {n} {mark}")
        for n, mark in enumerate(("", ":)", "", ":) :(", ""), 1)
    ]
    block = PostBlock(pl.DataFrame(rows, schema=POST_SCHEMA, orient="row"))
    labeler = PostLabeler(load(tmp_path, DEFINITION + text), read_markers())
    frame = labeler.label_posts(block, "a.jsonl")
    assert frame.select("period", "split", "reason").rows() == [
        (None, None, "outside_intervals"),
        ("t", "unlabelled", None),
        ("short", "unlabelled", None),
        ("long", None, "both_sides"),
        (None, None, "outside_intervals"),
    ]


def test_files_of_a_definition(tmp_path):
    file = tmp_path / "definition.toml"
    (tmp_path / "posts").mkdir()
    (tmp_path / "linked").mkdir()
    for name in ("posts/b.jsonl", "posts/a.jsonl", "posts/._a.jsonl", "posts/a.jsonl~"):
        (tmp_path / name).touch()
    (tmp_path / "linked" / "c.jsonl").touch()
    (tmp_path / "posts" / "d").symlink_to(tmp_path / "linked")
    names = ["posts/a.jsonl", "posts/b.jsonl", "posts/d/c.jsonl"]
    for patterns in ('["posts"]', '["posts/**/*", "posts/b.jsonl"]'):
        assert [source.name for source in files(file, patterns).posts] == names
    absolute = f'["{tmp_path}/posts/*.jsonl"]'
    assert [source.name for source in files(file, absolute).posts] == names[:2]
    assert (
        files(file, '["posts", "c.jsonl"]') == f"{file}: posts[1]: no such file: {tmp_path}/c.jsonl"
    )
    markers = '\n[labels]\nmarkers = "posts/*.jsonl"\n'
    assert files(file, more=markers) == (
        f"{file}: labels.markers: expected one marker list, found posts/a.jsonl, posts/b.jsonl"
    )
    (tmp_path / "posts" / "b.jsonl.gz").touch()
    assert files(file) == (
        f"{file}: posts: expected each file once, found posts/b.jsonl and posts/b.jsonl.gz, which "
        "are probably the same file, plain and compressed; list one of them, or move the other to "
        "another folder"
    )
    (tmp_path / "posts" / "b.jsonl.gz").unlink()
    (tmp_path / "posts" / "e.jsonl").symlink_to(tmp_path / "gone.jsonl")
    assert files(file) == (
        f"{file}: posts[0]: posts/e.jsonl is a link to a file that does not exist; restore the "
        "file or remove the link"
    )
    with pytest.raises(DefinitionError, match="definition file not found"):
        load_definition(tmp_path / "absent.toml")


def test_no_handle_is_left_open(tmp_path):
    (tmp_path / "posts.jsonl").write_text('{"id": "1", "time": 0, "author": "a", "text": "t"}\n')
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        list(read_posts(Source(tmp_path / "posts.jsonl", "posts.jsonl")))
        gc.collect()
    assert [w for w in said if issubclass(w.category, ResourceWarning)] == []
