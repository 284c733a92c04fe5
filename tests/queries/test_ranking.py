import gzip
from math import exp, log, log1p, sqrt
from pathlib import Path

import polars as pl
import pytest

from builder.errors import DataError, FormatError, UsageError
from builder.io.sources import Source
from builder.queries import (
    STABILITIES,
    note_missing_months,
    parse_topics,
    rank_topics,
    read_monthly_counts,
    to_topic_table,
    write_topics,
)
from builder.queries.topics import HEADER

DAMAGED = {
    "not.parquet": b"PAR1 not",
    "empty.csv": b"",
    "cut.csv": gzip.compress(b"label,month,count\na,2022-01,5\n" * 9, mtime=0)[:-9],
    "latin.csv": b"label,month,count\n\xe9,2022-01,5\n",
    "nul.csv": b"label,month,count\na\x00,2022-01\n",
}
COUNTS = pl.DataFrame(
    [("flat", f"2022-0{m}", 100.0) for m in range(1, 5)]
    + [("wave", "2022-01", 10.0), ("wave", "2022-02", 30.0), ("wave", "2022-04", 20.0)]
    + [("never", "2022-02", 0.0)],
    schema={"label": pl.String, "month": pl.String, "count": pl.Float64},
    orient="row",
)
FLAT = COUNTS.filter(pl.col("label") == "flat")


def test_measures_by_hand() -> None:
    """wave: 10, 30, 0, 20 (March has no row): m = 15, d = sqrt(125), median 15, least 0."""
    ranked = rank_topics(COUNTS)
    rows = {row["label"]: row for row in ranked.to_dicts()}
    assert ranked["label"].to_list() == ["flat", "wave", "never"]
    assert ranked["rank"].to_list() == [1, 2, 3]
    flat, wave = rows["flat"], rows["wave"]
    assert [flat[name] for name in ("score", "popularity", *STABILITIES)] == pytest.approx([1] * 7)
    assert wave["mean"] == 15
    assert wave["popularity"] == pytest.approx(log1p(15) / log1p(100))
    assert wave["cv"] == pytest.approx(1 / (1 + sqrt(125) / 15))
    shares = [10 / 60, 30 / 60, 20 / 60]
    assert wave["evenness"] == pytest.approx(-sum(q * log(q) for q in shares) / log(4))
    assert wave["floor"] == 0
    steps = sorted([log(31 / 11), log(31 / 1), log(21 / 1)])
    assert wave["volatility"] == pytest.approx(exp(-steps[1]))
    y = [log1p(c) for c in (10, 30, 0, 20)]
    slope = sum(x * v for x, v in zip((-1.5, -0.5, 0.5, 1.5), y, strict=True)) / 5
    assert wave["slope"] == pytest.approx(slope)
    assert wave["trend"] == pytest.approx(exp(-abs(12 * slope)))
    assert wave["score"] == pytest.approx(wave["popularity"] * wave["cv"])
    assert wave["months"] == 4
    never = {name: rows["never"][name] for name in ("score", "mean", "popularity", *STABILITIES)}
    assert never == dict.fromkeys(never, 0.0) | {"volatility": 1.0, "trend": 1.0}


def test_counts_below_1_have_a_stability() -> None:
    """Counts per thousand page views, for example."""
    months = [f"2022-0{m}" for m in range(1, 4)]
    counts = pl.DataFrame(
        {
            "label": ["flat"] * 3 + ["half"] * 3,
            "month": months * 2,
            "count": [0.25] * 3 + [0.25, 0.25, 0.125],
        }
    )
    flat, half = rank_topics(counts).to_dicts()
    measures = ("popularity", *STABILITIES, "slope")
    assert [flat[name] for name in measures] == pytest.approx([1, 1, 1, 1, 1, 1, 0])
    assert (half["label"], half["floor"]) == ("half", 0.5)
    assert half["evenness"] == pytest.approx((0.8 * log(2.5) + 0.2 * log(5)) / log(3))


def test_equal_scores_are_ordered_by_label() -> None:
    counts = pl.concat([FLAT.with_columns(label=pl.lit(name)) for name in ("b", "c", "a")])
    ranked = rank_topics(counts)
    assert ranked.select("rank", "label").rows() == [(1, "a"), (2, "b"), (3, "c")]


def test_another_stability_makes_another_score() -> None:
    wave = rank_topics(COUNTS, "evenness").filter(pl.col("label") == "wave").to_dicts()[0]
    assert wave["score"] == pytest.approx(wave["popularity"] * wave["evenness"])


def test_growth_of_the_source_is_no_trend() -> None:
    grown = pl.DataFrame(
        {
            "label": ["a"] * 3,
            "month": ["2022-11", "2022-12", "2023-01"],
            "count": [10.0, 20.0, 40.0],
            "total": [100.0, 200.0, 400.0],
        }
    )
    with_total = rank_topics(grown).to_dicts()[0]
    assert with_total["cv"] == pytest.approx(1)
    assert with_total["mean"] == pytest.approx(0.1 * 700 / 3)
    assert rank_topics(grown.drop("total"))["cv"][0] < 0.8


def test_ranked_topics_make_a_topic_table(room) -> None:
    frame = to_topic_table(rank_topics(COUNTS).head(2), "fr")
    assert frame.rows() == [
        (
            "t0001",
            "flat",
            "",
            "fr",
            "rank 1, score 1.0 = popularity 1.0 x cv 1.0, mean count 100.0 over 4 months",
        ),
        (
            "t0002",
            "wave",
            "",
            "fr",
            "rank 2, score 0.344 = popularity 0.601 x cv 0.573, mean count 15.0 over 4 months",
        ),
    ]
    third = COUNTS.with_columns(pl.col("count") / 3)
    assert to_topic_table(rank_topics(third).head(1), "fr")["source"].item() == (
        "rank 1, score 1.0 = popularity 1.0 x cv 1.0, mean count 33.3 over 4 months"
    )
    text = "\n".join(["\t".join(HEADER), *("\t".join(row) for row in frame.rows())]) + "\n"
    topics, _ = parse_topics(room.file("topics.tsv", text))
    assert topics["label"].to_list() == ["flat", "wave"]


@pytest.mark.parametrize("suffix", ["tsv", "csv", "parquet", "csv.gz"])
def test_counts_are_read_from_each_format(room, suffix: str) -> None:
    path = room.folder / f"counts.{suffix}"
    if suffix == "parquet":
        COUNTS.write_parquet(path)
    else:
        text = COUNTS.write_csv(separator="\t" if suffix == "tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if suffix == "csv.gz" else text)
    assert read_monthly_counts(path).equals(COUNTS)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("label\tmonth\tcount\na\t2022-01\t5\na\t2022-13\t5\n", 3),
        ("label\tmonth\tcount\na\t2022-01\tmany\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t1\n\t2022-01\t7\n", 3),
        ("label\tmonth\tcount\n \u00a0\t2022-01\t7\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t-1\n", 2),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\t4\n", 2),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\tinf\n", 2),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\t9\nb\t2022-01\t5\t8\n", 3),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\t8\nb\t2022-01\t5\t9\n", 3),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\t\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t1000000000000001\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t-0.5\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t5\t\n", 2),
        ("label\tmonth\tcount\tcount\tcount\na\t2022-01\t5\t5\t5\n", 1),
        ("label\tmonth\tcount\tline\na\t2022-01\t5\t5\n", 1),
        ("label\tmonth\tcount\ttotal\na\t2022-01\t5\t9\nb\t2022-02\t0\t0\n", 3),
        ("label\tmonth\tcount\na\t2022-01\tNaN\n", 2),
        ("label\tmonth\tcount\na\t2022-01\t1e16\n", 2),
        ('label\tmonth\tcount\n"a\nb"\t2022-01\t5\n\na\t2022-02\n', 5),
        ('label\tmonth\tcount\n"a"b\t2022-01\t5\n', 2),
        ("label\tmonth\tcount\tcount\na\t2022-01\t5\t5\n", 1),
    ],
)
def test_a_faulty_row_is_an_error_with_its_line(room, text: str, line: int) -> None:
    source = room.file("counts.tsv", text)
    with pytest.raises(FormatError) as error:
        read_monthly_counts(source.path)
    assert error.value.line == line


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "label\tmonth\tcount\na\t2022-01\t-1\nb\t2022-01\t1\nc\t22\t1\nd\t2022-01\t\n",
            (
                "line 2: expected a label, a month YYYY-MM and a count from 0 to 1e+15 in every "
                "row, found 3 invalid rows"
            ),
        ),
        (
            "label\tmonth\tcount\ttotal\na\t2022-01\t5\t4\n",
            (
                "line 2: expected a label, a month YYYY-MM and a count from 0 to 1e+15, and a "
                "total between the count and 1e+15, in every row, found 1 invalid rows"
            ),
        ),
        (
            "label\tmonth\tcount\ttotal\na\t2022-01\t5\t9\nb\t2022-01\t5\t8\nc\t2022-01\t5\t7\n",
            (
                "line 3: total: expected the same total, greater than 0, in all rows of a month, "
                "found 8 and 9 in 2022-01"
            ),
        ),
        (
            "label\tmonth\tcount\ttotal\na\t2022-01\t5\t8\nb\t2022-01\t5\t9\n",
            (
                "line 3: total: expected the same total, greater than 0, in all rows of a month, "
                "found 9 and 8 in 2022-01"
            ),
        ),
        (
            "label\tmonth\tcount\ttotal\na\t2022-01\t0\t0\n",
            (
                "line 2: total: expected the same total, greater than 0, in all rows of a month, "
                "found 0 in 2022-01"
            ),
        ),
        ("label\tmonth\tcount\na\t2022-01\n", "line 2: expected 3 cells, found 2"),
        (
            "label\tmonth\tline\nx\n",
            "line 2: expected 3 cells, found 1",
        ),
        (
            "label\tline\n",
            "line 1: expected distinct column names other than 'line', found ['label', 'line']",
        ),
    ],
)
def test_an_error_of_counts_says_what_was_found(room, text: str, message: str) -> None:
    source = room.file("counts.tsv", text)
    with pytest.raises(FormatError) as error:
        read_monthly_counts(source.path)
    assert str(error.value) == f"{source.path}, {message}"


def test_the_largest_count_is_read_and_a_faulty_row_of_parquet_has_a_number(room) -> None:
    path = room.folder / "counts.parquet"
    counts = COUNTS.head(3).with_columns(count=pl.Series([1e15, 0.0, -0.5]))
    counts.head(2).write_parquet(path)
    assert read_monthly_counts(path)["count"].to_list() == [1e15, 0.0]
    counts.write_parquet(path)
    with pytest.raises(FormatError, match=r"counts\.parquet, line 3: expected a label"):
        read_monthly_counts(path)


def test_labels_with_spaces_around_them_are_one_candidate(room) -> None:
    rows = [f"{label},2022-0{m},{n}\n" for m in (1, 2, 3) for label, n in (("eau", 5), (" eau", 7))]
    source = room.file("counts.csv", "label,month,count\n" + "".join(rows))
    ranked = rank_topics(read_monthly_counts(source.path))
    assert ranked.select("label", "mean").rows() == [("eau", 12.0)]


def test_months_without_a_row_are_noted() -> None:
    months = ["2021-12", "2022-01", "2022-04"]
    counts = pl.DataFrame({"label": ["eau"] * 3, "month": months, "count": [1.0] * 3})
    note = (
        "months without a row, whose counts are taken as 0: {}; if their counts are missing from "
        "the file, add them, since counts of 0 lower the mean and the stability of all topics"
    )
    assert list(note_missing_months(counts)) == [note.format("2 (2022-02, 2022-03)")]
    assert list(note_missing_months(COUNTS)) == []
    years = counts.with_columns(month=pl.Series(["2021-01", "2022-02", "2022-04"]))
    (found,) = note_missing_months(years)
    listed = ", ".join(f"2021-{month:02d}" for month in range(2, 13))
    assert found == note.format(f"13 ({listed}, 2022-01, and 1 more)")


def test_what_cannot_be_ranked_is_an_error(room) -> None:
    with pytest.raises(DataError, match="at least 3 months, found 2"):
        rank_topics(COUNTS.filter(pl.col("month") < "2022-03"))
    with pytest.raises(DataError, match="at least one count above 0"):
        rank_topics(COUNTS.with_columns(count=pl.lit(0.0)))
    with pytest.raises(FormatError, match="missing: count, month"):
        read_monthly_counts(room.file("x.tsv", "label\nx\n").path)
    with pytest.raises(UsageError, match=r"\.parquet, \.tsv or \.csv"):
        read_monthly_counts(room.file("x.txt", "").path)
    with pytest.raises(UsageError, match="found none"):
        read_monthly_counts(room.folder / "absent.parquet")
    for name, data in DAMAGED.items():
        (room.folder / name).write_bytes(data)
        with pytest.raises(FormatError):
            read_monthly_counts(room.folder / name)
    odd = pl.DataFrame({"label": [["a"]], "month": ["2022-01"], "count": [{"n": 1}]})
    odd.write_parquet(room.folder / "odd.parquet")
    with pytest.raises(FormatError, match="text and numbers"):
        read_monthly_counts(room.folder / "odd.parquet")


@pytest.mark.parametrize(
    ("label", "error"),
    [
        (
            "NA",
            "topics.tsv, line 2: label: expected a word or phrase, found 'NA', which represents",
        ),
        ("a\tb", "topics.tsv, line 2: expected a closing quote before the next tab or line break"),
        ("!!!", "topics.tsv, line 2: "),
    ],
)
def test_a_candidate_that_cannot_be_a_topic_is_an_error(
    tmp_path: Path, label: str, error: str
) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("as before")
    ranked = rank_topics(FLAT.with_columns(label=pl.lit(label))).head(1)
    with pytest.raises(
        DataError, match="was not written, because a candidate cannot be a topic: "
    ) as found:
        write_topics(ranked, path, "fr")
    assert error in str(found.value)
    assert path.read_text() == "as before"
    assert [file.name for file in tmp_path.iterdir()] == ["topics.tsv"]


def test_a_candidate_with_a_quote_becomes_a_topic(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    ranked = rank_topics(FLAT.with_columns(label=pl.lit('"eau'))).head(1)
    write_topics(ranked, path, "fr")
    topics, _ = parse_topics(Source(path, "topics.tsv"))
    assert topics["label"].to_list() == ['"eau']
