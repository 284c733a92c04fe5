"""A click model on a log alone: formats, raw strings, rejects, and equality of both engines."""

import gzip
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.clicks import ModelReport, encoding, estimate_from_log
from builder.clicks.log import REJECTED, STANDALONE, open_log, standalone_log_parameters
from builder.clicks.log_conversion import row_count_if_readable_in_place
from builder.clicks.log_summary import LogSummary
from builder.clicks.priors import BetaPrior, Priors
from builder.errors import DataError, FormatError, UsageError
from builder.parameters import CLICK_MODELS, ClickParameters, LogParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from schemas import PairStatistics
from tests.clicks.log_files import RECORDS, lines, random_records, written
from tests.thorough import examples

COLUMNS = [
    "query", "url", "impressions", "examinations", "clicks", "last_clicks",
    "attractiveness", "satisfaction", "relevance",
]  # fmt: skip
UNIFORM = ClickParameters(prior="beta")
EXPECTED = [
    ("ete", "http://b", 1, 1, 0, 0, 1 / 3, 1 / 2, 1 / 6),
    ("ete", "http://c", 1, 1, 0, 0, 1 / 3, 1 / 2, 1 / 6),
    ("Été", "http://B/", 1, 1, 0, 0, 1 / 3, 1 / 2, 1 / 6),
    ("Été", "http://b", 2, 2, 2, 2, 3 / 4, 3 / 4, 9 / 16),
    ("Été", "http://c", 1, 0, 0, 0, None, None, None),
]


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.json.zst", "a.parquet"])
def test_estimates_of_raw_strings(tmp_path: Path, name: str) -> None:
    log, out = written(tmp_path, RECORDS, name), tmp_path / "new" / "folder" / "out.parquet"
    report = estimate_from_log(log, "sdbn", out, params=UNIFORM)
    found = pl.read_parquet(out)
    assert found.columns == COLUMNS
    assert found.rows() == EXPECTED
    PairStatistics.validate(found)
    assert report == ModelReport(
        log=LogSummary(str(log), records=3),
        pairs=5,
        never_examined=1,
        clicks=2,
        priors=Priors(BetaPrior(1, 1), BetaPrior(1, 1)),
    )


def test_pairs_of_skipped_pages_are_not_written(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    params = ClickParameters(prior="beta", no_click="skip")
    for model in ("sdbn", "cascade"):
        report = estimate_from_log(written(tmp_path, RECORDS), model, out, params=params)
        assert pl.read_parquet(out).select(COLUMNS[:6]).rows() == [row[:6] for row in EXPECTED[2:]]
        assert (report.pairs, report.never_examined, report.clicks) == (3, 1, 2)
        assert (report.priors is None) == (model == "cascade")


STRINGS, CODES = pa.list_(pa.string()), pa.dictionary(pa.int8(), pa.string())


@pytest.mark.parametrize(
    ("columns", "rows"),
    [
        ({"query": pa.string(), "results": STRINGS, "clicks": pa.list_(pa.int64())}, 2),
        ({"query": CODES, "results": pa.large_list(CODES), "clicks": pa.list_(pa.uint16())}, 2),
        ({"query": pa.large_string(), "results": STRINGS, "clicks": pa.list_(pa.int8())}, 2),
        ({"user": pa.string(), "query": pa.string(), "results": STRINGS, "clicks": STRINGS}, None),
        (
            {
                "user": pa.large_string(),
                "query": CODES,
                "results": STRINGS,
                "clicks": pa.list_(pa.int8()),
            },
            2,
        ),
        (
            {"user": pa.int64(), "query": CODES, "results": STRINGS, "clicks": pa.list_(pa.int8())},
            None,
        ),
        ({"query": pa.int64(), "results": STRINGS, "clicks": pa.list_(pa.int64())}, None),
        ({"query": pa.string(), "results": pa.string(), "clicks": pa.list_(pa.int64())}, None),
        (
            {"query": CODES, "results": pa.list_(pa.int64()), "clicks": pa.list_(pa.int64())},
            None,
        ),
        ({"query": pa.string(), "results": STRINGS, "clicks": pa.int64()}, None),
        ({"query": pa.string(), "results": STRINGS, "clicks": pa.list_(pa.float64())}, None),
        ({"query": pa.string(), "results": STRINGS}, None),
        ({}, None),
    ],
)
def test_parquet_is_read_in_place_if_its_columns_fit(
    tmp_path: Path, columns: dict[str, pa.DataType], rows: int | None
) -> None:
    path = tmp_path / "log.parquet"
    columns = {"other": pa.int64(), **columns}
    arrays = [pa.nulls(2, pa.string() if kind == CODES else kind) for kind in columns.values()]
    cast = [array.cast(kind) for array, kind in zip(arrays, columns.values(), strict=True)]
    pq.write_table(pa.table(cast, names=list(columns)), path)
    assert row_count_if_readable_in_place(path) == rows


def test_lines_are_not_read_in_place(tmp_path: Path) -> None:
    assert row_count_if_readable_in_place(written(tmp_path, RECORDS)) is None


@pytest.mark.parametrize(
    ("query", "params", "is_converted"),
    [
        ("eau douce", STANDALONE, False),
        ("", STANDALONE, False),
        (None, STANDALONE, False),
        ("eau  douce", STANDALONE, True),
        ("w" * 65_536, STANDALONE, False),
        ("w" * 65_537, STANDALONE, True),
        ("eau", STANDALONE.model_copy(update={"max_results": 9}), True),
    ],
)
def test_parquet_is_converted_only_if_it_must_be(
    tmp_path: Path, query: str | None, params: LogParameters, is_converted: bool
) -> None:
    """A query that is too long is rejected by the conversion."""
    log = written(tmp_path, [{**RECORDS[0], "query": q} for q in (query, "x")], "log.parquet")
    with duckdb.connect() as connection:
        summary = open_log(connection, log, ResourceLimits(tmp_path), NoProgress(), params)
        used = connection.execute("SELECT count(*) FROM used_impressions").fetchall()
    assert (tmp_path / "decoded.parquet").exists() == is_converted
    assert summary.records == 2
    assert used == [(1 if not query or len(query) > 65_536 else 2,)]


def test_pages_have_at_most_65535_results(tmp_path: Path) -> None:
    log, out = tmp_path / "log.parquet", tmp_path / "out.parquet"
    rows = [("short", ["a"] * 65_535, [65_535]), ("long", ["a"] * 65_536, [1])]
    names = {"query": pl.String, "results": pl.List(pl.String), "clicks": pl.List(pl.Int64)}
    pl.DataFrame(rows, names, orient="row").write_parquet(log)
    report = estimate_from_log(log, "sdbn", out, params=UNIFORM)
    assert report.log.rejected == {"too_many_results": 1}
    columns = ("query", "impressions", "clicks", "last_clicks")
    assert pl.read_parquet(out).select(columns).rows() == [("short", 65_535, 1, 1)]


def test_a_log_alone_has_the_largest_limits_unless_others_are_set() -> None:
    limits = ("max_query_chars", "max_results", "max_line_bytes")
    alone = standalone_log_parameters(LogParameters())
    assert [getattr(alone, name) for name in limits] == [65_536, 65_535, 16_777_216]
    given = standalone_log_parameters(LogParameters(max_results=9, format="csv"))
    assert [getattr(given, name) for name in limits] == [65_536, 9, 16_777_216]
    assert given.format == "csv"


def test_summaries_keep_three_examples_of_a_reason() -> None:
    summary = LogSummary("log.jsonl", records=9)
    for number in (2, 3, 5, 8):
        summary.add_reject("not_json", number)
    summary.add_reject("bad_query", 9)
    assert summary == LogSummary(
        "log.jsonl",
        records=9,
        rejected=Counter({"not_json": 4, "bad_query": 1}),
        examples={"not_json": [2, 3, 5], "bad_query": [9]},
    )
    assert summary.impressions == 4


@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_rejected_clicks_are_noted_beside_pages_with_clicks(tmp_path: Path, name: str) -> None:
    """Two of twelve pages with clicks: too few of the 32 pages for advice on all rejects."""
    page = {"query": "eau", "results": ["a", "b"]}
    clicks = [[3]] * 2 + [[1]] * 10 + [[]] * 20
    log = written(tmp_path, [page | {"clicks": ranks} for ranks in clicks], name)
    report = estimate_from_log(log, "sdbn", tmp_path / "out.parquet")
    (note,) = report.log.notes
    assert note == (
        "2 of 12 records with clicks were rejected as click_not_shown: clicked ranks start at 1; "
        "if clicks are flags or ids, set log.click_form"
    )


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
def test_ids_that_are_numbers(tmp_path: Path, name: str) -> None:
    numbers = [{"query": "eau", "results": [12, 7, 9], "clicks": [rank]} for rank in (1, 2)]
    texts = [record | {"results": ["12", "7", "9"]} for record in numbers]
    found = []
    for folder, records in (("numbers", numbers), ("texts", texts)):
        (tmp_path / folder).mkdir()
        out = tmp_path / f"{folder}.parquet"
        estimate_from_log(written(tmp_path / folder, records, name), "sdbn", out)
        found.append(pl.read_parquet(out))
    assert found[0].equals(found[1])
    assert found[0]["url"].to_list() == ["12", "7", "9"]


def written_otherwise(tmp_path: Path, form: str) -> Path:
    """The log of `RECORDS` in another format."""
    path = tmp_path / f"log.{form}"
    objects = [
        {
            **record,
            "results": [{"url": url} for url in record["results"]],
            "clicks": [{"rank": rank, "time": 9} for rank in record["clicks"]],
        }
        for record in RECORDS
    ]
    if form == "jsonl":
        path.write_bytes(lines(objects))
    elif form == "parquet":
        pl.DataFrame(objects).write_parquet(path)
    elif form == "csv":
        cells = [
            f"{r['query']};{' '.join(r['results'])};{' '.join(map(str, r['clicks']))}"
            for r in RECORDS
        ]
        path.write_text("query;results;clicks\n" + "\n".join(cells), "utf-8")
    elif form == "tsv":
        rows = [
            f"{r['time']}\t{r['query']}\t{url}\t{rank}\t{int(rank in r['clicks'])}\n"
            for r in RECORDS
            for rank, url in enumerate(r["results"], 1)
        ]
        path.write_text("time\tquery\turl\trank\tclicked\n" + "".join(rows), "utf-8")
    return path


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv", "tsv"])
def test_every_format_gives_the_same(tmp_path: Path, form: str) -> None:
    out = tmp_path / "out.parquet"
    report = estimate_from_log(written_otherwise(tmp_path, form), "sdbn", out, params=UNIFORM)
    assert pl.read_parquet(out).rows() == EXPECTED
    assert (report.log.records, report.log.impressions) == (3, 3)


def test_the_actions_of_a_challenge(tmp_path: Path) -> None:
    log, out = tmp_path / "train", tmp_path / "out.tsv"
    log.write_bytes(b"0\t0\tQ\t17\t0\t101\t102\n0\t5\tC\t102\n1\t0\tQ\t17\t0\t102\n")
    estimate_from_log(log, "sdbn", out, params=UNIFORM)
    rows = pl.read_csv(out, separator="\t").select(COLUMNS[:6]).rows()
    one, two = (f"https://yandex.invalid/{n}" for n in (101, 102))
    assert rows == [(17, one, 1, 1, 0, 0), (17, two, 2, 2, 1, 1)]


def test_tsv_has_the_same_rows(tmp_path: Path) -> None:
    records = [{**RECORDS[0], "query": ' a "quote" ', "results": ["http://B/\t", "http://b"]}]
    out = tmp_path / "out.tsv"
    estimate_from_log(written(tmp_path, records), "sdbn", out, params=UNIFORM)
    found = pl.read_csv(out, separator="\t")
    assert found.columns == COLUMNS
    assert found.row(0) == ('a "quote"', "http://B/\t", 1, 1, 0, 0, 1 / 3, 1 / 2, 1 / 6)
    estimate_from_log(written(tmp_path, RECORDS), "sdbn", out, params=UNIFORM)
    assert out.read_text("utf-8").splitlines()[5] == "Été\thttp://c\t1\t0\t0\t0\t\t\t"


def test_clicks_as_objects_are_ordered_by_their_time(tmp_path: Path) -> None:
    clicks = [
        {"url": "http://c", "time": "2022-06-01T10:00:09Z"},
        {"rank": 1, "time": "2022-06-01T10:00:05Z"},
        {"rank": 2, "time": 1654077612.5},
    ]
    records = [{"query": "q", "results": ["http://a", "http://b", "http://c"], "clicks": clicks}]
    out = tmp_path / "out.parquet"
    params = ClickParameters(prior="beta", last="time")
    estimate_from_log(written(tmp_path, records), "sdbn", out, params=params)
    assert pl.read_parquet(out)["last_clicks"].to_list() == [0, 1, 0]


BAD: list[tuple[Any, str]] = [
    ([1, 2], "not_an_object"),
    ({"query": 5.5, "results": ["u"], "clicks": []}, "bad_query"),
    ({"query": "", "results": ["u"], "clicks": []}, "empty_query"),
    ({"query": "q", "results": [], "clicks": []}, "no_results"),
    ({"query": "q", "results": ["u", ""], "clicks": []}, "bad_results"),
    ({"query": "q", "results": ["u"], "clicks": 1}, "bad_clicks"),
    ({"query": "q", "results": ["u"], "clicks": ["1"]}, "bad_clicks"),
    ({"query": "q", "results": ["u"], "clicks": [True]}, "bad_clicks"),
    ({"query": "q", "results": ["u"], "clicks": [0]}, "click_not_shown"),
    ({"query": "q", "results": ["u"], "clicks": [2]}, "click_not_shown"),
    ({"query": "q", "results": ["u"], "clicks": [{"url": "http://v"}]}, "click_not_shown"),
    ({"query": "q", "results": ["u"], "clicks": [{"rank": 1, "time": "noon"}]}, "bad_time"),
    ({"query": "q", "user": [], "results": ["u"], "clicks": [1]}, "bad_user"),
]


@pytest.mark.parametrize(("record", "reason"), BAD)
def test_bad_lines_are_rejected_by_rule_and_line(tmp_path: Path, record: Any, reason: str) -> None:
    log = written(tmp_path, [RECORDS[0], record, RECORDS[1], record])
    report = estimate_from_log(log, "sdbn", tmp_path / "out.parquet", params=UNIFORM)
    assert report.log.rejected == {reason: 2}
    assert report.log.examples == {reason: [2, 4]}
    assert (report.log.records, report.log.impressions) == (4, 2)


@pytest.mark.parametrize("separator", [" ", ",", "|", ";"])
@pytest.mark.parametrize("name", ["log.jsonl", "log.parquet"])
def test_joined_results_are_no_result(tmp_path: Path, name: str, separator: str) -> None:
    joined = {**RECORDS[0], "results": [separator.join(RECORDS[0]["results"])], "clicks": [1]}
    report = estimate_from_log(
        written(tmp_path, [*RECORDS, joined], name), "sdbn", tmp_path / "o.parquet", params=UNIFORM
    )
    assert report.log.rejected == {"bad_list": 1}
    assert pl.read_parquet(tmp_path / "o.parquet").rows() == EXPECTED


@pytest.mark.parametrize("option", [{"votes": "user"}, {"pages": "joined"}])
def test_options_that_need_users(tmp_path: Path, option: dict[str, Any]) -> None:
    params = ClickParameters(**option)
    for users, notes in (
        (["u", None], []),
        (
            [None, None],
            [
                (
                    'votes = "user" and pages = "joined" have no effect, because no impression has '
                    "a user id; set log.fields.user to the field with the user id"
                )
            ],
        ),
    ):
        log = written(tmp_path, [{**RECORDS[0], "user": user} for user in users])
        report = estimate_from_log(log, "sdbn", tmp_path / "o.tsv", params=params)
        assert report.log.notes == notes


def test_broken_lines_do_not_stop_the_rest(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes(b"\xef\xbb\xbf" + lines(RECORDS[:1]) + b"{\n\n\xff\xfe\n" + lines(RECORDS[1:]))
    report = estimate_from_log(log, "sdbn", tmp_path / "out.parquet", params=UNIFORM)
    assert report.log.rejected == {"not_json": 1, "not_utf8": 1, "blank_line": 1}
    assert report.log.examples == {"not_json": [2], "not_utf8": [4], "blank_line": [3]}
    assert pl.read_parquet(tmp_path / "out.parquet").rows() == EXPECTED


def test_truncated_files_keep_what_came_before(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl.gz"
    log.write_bytes(gzip.compress(lines(RECORDS * 400))[:-20])
    report = estimate_from_log(log, "sdbn", tmp_path / "out.parquet")
    assert report.log.rejected["file_truncated"] == 1


def test_a_log_without_any_impression_is_an_error(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl.gz", tmp_path / "out.parquet"
    log.write_bytes(gzip.compress(lines(RECORDS))[:12])
    with pytest.raises(DataError, match=r"found none in .* record \(file_truncated 1\)"):
        estimate_from_log(log, "sdbn", out)
    assert not out.exists()


@pytest.mark.parametrize("name", ["a.jsonl", "a.parquet"])
@pytest.mark.parametrize("user", ["", "  ", None])
def test_blank_users_are_missing(tmp_path: Path, name: str, user: str | None) -> None:
    """In Parquet, the impressions of all blank users counted as one vote."""
    shown = {"user": user, "query": "eau", "results": ["http://a", "http://b"]}
    records = [shown | {"clicks": clicks} for clicks in ([1], [2], [2])]
    out = tmp_path / "out.parquet"
    frame = pl.DataFrame(records, schema_overrides={"user": pl.String})
    log = written(tmp_path, records, name)
    if log.suffix == ".parquet":
        frame.write_parquet(log)
    report = estimate_from_log(log, "sdbn", out, params=ClickParameters(votes="user"))
    assert pl.read_parquet(out).select("impressions", "clicks").rows() == [(3, 1), (3, 2)]
    assert len(report.log.notes) == 1


@pytest.mark.parametrize("votes", ["impression", "user"])
@pytest.mark.parametrize("no_click", ["all_examined", "skip"])
def test_bad_parquet_rows_are_rejected_by_rule(tmp_path: Path, votes: Any, no_click: Any) -> None:
    good = [{"query": r["query"], "results": r["results"], "clicks": r["clicks"]} for r in RECORDS]
    bad = [
        {"query": None, "results": ["u"], "clicks": []},
        {"query": "", "results": ["u"], "clicks": []},
        {"query": "q", "results": ["u", None], "clicks": []},
        {"query": "q", "results": [], "clicks": []},
        {"query": "q", "results": ["u"], "clicks": [None]},
        {"query": "q", "results": ["u"], "clicks": [2]},
        {"query": "q", "results": ["u"], "clicks": [0]},
    ]
    log = written(tmp_path, good + bad, "log.parquet")
    params = ClickParameters(prior="beta", votes=votes, no_click=no_click)
    report = estimate_from_log(log, "sdbn", tmp_path / "out.parquet", params=params)
    assert report.log.impressions == 3
    assert report.log.rejected == {
        "bad_query": 1, "empty_query": 1, "bad_results": 1, "no_results": 1, "bad_clicks": 1,
        "click_not_shown": 2,
    }  # fmt: skip


@pytest.mark.parametrize("prior", ["beta", "empirical_bayes"])
@pytest.mark.parametrize("no_click", ["all_examined", "skip"])
def test_array_and_sql_sdbn_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prior: Any, no_click: Any
) -> None:
    log = written(tmp_path, random_records(300))
    params = ClickParameters(prior=prior, no_click=no_click)
    estimate_from_log(log, "sdbn", tmp_path / "database.parquet", params=params)
    monkeypatch.setitem(CLICK_MODELS, "arrays", CLICK_MODELS["sdbn"])
    estimate_from_log(log, "arrays", tmp_path / "arrays.parquet", params=params)
    one, other = (pl.read_parquet(tmp_path / f"{name}.parquet") for name in ("database", "arrays"))
    assert one.equals(other)


@pytest.mark.parametrize("model", sorted(CLICK_MODELS))
def test_all_models_write_all_pairs(tmp_path: Path, model: str) -> None:
    report = estimate_from_log(written(tmp_path, RECORDS), model, tmp_path / "out.parquet")
    found = pl.read_parquet(tmp_path / "out.parquet")
    assert found.columns == COLUMNS
    assert found.select(COLUMNS[:6]).rows() == [row[:6] for row in EXPECTED]
    assert report.pairs == 5
    assert found["relevance"].null_count() == (
        5 if model == "rank-ctr" else found["attractiveness"].null_count()
    )


@pytest.mark.parametrize("threads", [1, 2])
def test_output_does_not_depend_on_threads(tmp_path: Path, threads: int) -> None:
    log = written(tmp_path, random_records(2000))
    for name in ("sdbn", "dbn"):
        outs = []
        for number in (threads, 3):
            scratch = tmp_path / f"scratch-{name}-{number}"
            scratch.mkdir(exist_ok=True)
            out = tmp_path / f"{name}-{number}.parquet"
            estimate_from_log(log, name, out, limits=ResourceLimits(scratch, number, 2**29))
            outs.append(out.read_bytes())
        assert outs[0] == outs[1]


def test_invalid_arguments(tmp_path: Path) -> None:
    log, out = written(tmp_path, RECORDS), tmp_path / "out.parquet"
    with pytest.raises(UsageError, match="unknown click model 'sdnb'; did you mean 'sdbn'"):
        estimate_from_log(log, "sdnb", out)
    with pytest.raises(UsageError, match=r"\.parquet or \.tsv"):
        estimate_from_log(log, "sdbn", tmp_path / "out.csv")
    with pytest.raises(UsageError, match="file not found"):
        estimate_from_log(tmp_path / "none.jsonl", "sdbn", out)
    (tmp_path / "log.txt").write_bytes(b"no log")
    with pytest.raises(DataError, match="expected impressions, found none in 1 record "):
        estimate_from_log(tmp_path / "log.txt", "sdbn", out)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(FormatError, match="expected a Parquet file"):
        estimate_from_log(tmp_path / "bad.parquet", "sdbn", out)
    pl.DataFrame({"query": ["q"], "results": [1]}).write_parquet(tmp_path / "long.parquet")
    with pytest.raises(DataError, match=r"found none in .* record \(bad_results 1\)"):
        estimate_from_log(tmp_path / "long.parquet", "sdbn", out)
    pl.DataFrame({"query": ["q"], "links": ["u"]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(FormatError, match=r"the columns query, results .*; missing: "):
        estimate_from_log(tmp_path / "other.parquet", "sdbn", out)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FormatError, match="expected a header with query and either results or url"):
        estimate_from_log(tmp_path / "other.csv", "sdbn", out)
    assert not out.exists()


def test_arrays_beyond_the_memory_limit_are_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two results on two pages; half of the memory is available."""
    monkeypatch.setattr(encoding, "BYTES_PER_RESULT", 2**30)
    pages = [{"query": query, "results": ["a"], "clicks": []} for query in ("eau", "eaux")]
    log, out = written(tmp_path, pages), tmp_path / "out.parquet"
    message = (
        "^2 results on distinct result pages need about 2048 MiB of memory, but only 512 MiB are "
        "available; increase --memory to 4097 MiB, or use the model sdbn, which keeps no result "
        "pages in memory$"
    )
    limits = ResourceLimits(tmp_path, memory=2**30)
    with pytest.raises(UsageError, match=message):
        estimate_from_log(log, "dbn", out, limits=limits)
    monkeypatch.setattr(encoding, "BYTES_PER_RESULT", 2**28)
    assert estimate_from_log(log, "dbn", out, limits=limits).pairs == 2


def test_a_failed_run_leaves_the_old_output(tmp_path: Path) -> None:
    out = tmp_path / "out.parquet"
    out.write_bytes(b"old")
    with pytest.raises(UsageError):
        estimate_from_log(tmp_path / "none.jsonl", "sdbn", out)
    assert out.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


@pytest.mark.parametrize("model", ["sdbn", "pbm"])
@pytest.mark.parametrize("form", [".jsonl", ".parquet"])
def test_a_log_without_records_is_refused(tmp_path: Path, model: str, form: str) -> None:
    log, out = tmp_path / f"log{form}", tmp_path / "out.parquet"
    if form == ".parquet":
        pl.DataFrame(schema={"query": pl.String, "results": pl.List(pl.String)}).write_parquet(log)
    else:
        log.write_bytes(b"")
    message = (
        f"^{re.escape(str(log))}: expected at least one impression as JSON lines, Parquet, CSV or "
        "TSV, found no records; export the log again$"
    )
    with pytest.raises(DataError, match=message):
        estimate_from_log(log, model, out)
    assert not out.exists()


QUERIES = [
    "eau",
    "\u00e9t\u00e9",
    "e\u0301te\u0301",
    " eau",
    "eau  douce",
    "eau\u00a0douce",
    "",
    " ",
    None,
]
RESULTS = [["a", "b"], ["a"], ["http://a http://b"], ["a", None], ["a", ""], [], None]
CLICKS = [[1], [2, 1], [], [3], [0], [None], None]


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(*map(st.sampled_from, (QUERIES, RESULTS, CLICKS))), max_size=12))
def test_parquet_read_in_place_equals_converted(
    records: list[tuple[str | None, list[str | None] | None, list[int | None] | None]],
) -> None:
    schema = {"query": pl.String, "results": pl.List(pl.String), "clicks": pl.List(pl.Int64)}
    found = []
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        pl.DataFrame(records, schema, orient="row").write_parquet(log)
        converting = STANDALONE.model_copy(update={"max_query_chars": 1000})
        for params in (STANDALONE, converting):
            with duckdb.connect() as connection:
                summary = open_log(
                    connection, log, ResourceLimits(Path(folder)), NoProgress(), params
                )
                rows = connection.sql(
                    "SELECT query, results, clicks FROM used_impressions ORDER BY impression"
                ).fetchall()
                if summary.impressions != len(rows):
                    summary.rejected.update(dict(connection.execute(REJECTED).fetchall()))
            found.append((summary.records, rows, dict(summary.rejected)))
    assert found[0] == found[1]
