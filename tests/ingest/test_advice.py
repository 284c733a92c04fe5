"""Logs and crawls of which many records are rejected say which parameter may mend it."""

import re
from collections import Counter
from pathlib import Path

import orjson
import pytest

from builder.clicks import estimate_from_log
from builder.clicks.log import standalone_log_parameters
from builder.ingest.advice import (
    CRAWL_ADVICE,
    LOG_ADVICE,
    advise_on_rejects,
    advise_on_split_impressions,
    note_empty_files,
    note_files_without_records,
    note_rejected_clicks,
)
from builder.io.sources import Source
from builder.parameters import CrawlParameters, LogParameters

ROOT = Path(__file__).parents[2]
DOCUMENTED = {LogParameters: "logs.md", CrawlParameters: "crawls.md"}
CLICK_ADVICE = (
    "records were rejected as click_not_shown: clicked ranks start at 1; if clicks are flags or "
    "ids, set log.click_form"
)


def test_advice_is_given_from_a_tenth_of_the_records_on() -> None:
    rejected = {"click_not_shown": 11, "bad_list": 10, "empty_query": 60}
    assert list(advise_on_rejects(rejected, 100, LOG_ADVICE)) == [f"11 of 100 {CLICK_ADVICE}"]
    assert list(advise_on_rejects({}, 0, LOG_ADVICE)) == []


def test_flags_that_are_read_as_ranks_are_noted_and_the_advice_helps(tmp_path: Path) -> None:
    """Clicks [0, 1] are flags; read as ranks, 4 of 5 records were dropped with exit code 0."""
    log, out = tmp_path / "log.jsonl", tmp_path / "out.parquet"
    clicks: list[list[int]] = [[0, 1], [1, 0], [0, 0], [0, 0]]
    lines = [{"query": "eau", "results": ["a", "b"], "clicks": flags} for flags in clicks]
    lines.append({"query": "eau", "results": ["a"], "clicks": [1]})
    log.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    report = estimate_from_log(log, "sdbn", out)
    assert report.log.notes == [f"4 of 5 {CLICK_ADVICE}"]
    params = standalone_log_parameters(LogParameters(click_form="flags"))
    with_flags = estimate_from_log(log, "sdbn", out, log_params=params)
    assert (with_flags.clicks, with_flags.log.notes) == (3, [])


def test_ranks_from_0_are_noted_in_a_log_with_few_clicks(tmp_path: Path) -> None:
    """Half of the clicks were lost and the others one rank too high, without a word."""
    lines = [
        {"query": "eau", "results": ["a", "b"], "clicks": [[0], [1]][n % 2] if n < 4 else []}
        for n in range(40)
    ]
    (tmp_path / "log.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    report = estimate_from_log(tmp_path / "log.jsonl", "sdbn", tmp_path / "out.parquet")
    assert report.log.notes == [f"2 of 4 {CLICK_ADVICE.replace('records', 'records with clicks')}"]
    (note,) = note_rejected_clicks({"click_not_shown": 1, "bad_clicks": 2}, 100, 9)
    assert note.startswith("2 of 11 records with clicks were rejected as bad_clicks: ")
    assert list(note_rejected_clicks({"bad_clicks": 11}, 100, 0)) == []
    assert list(note_rejected_clicks({}, 100, 3)) == []
    (note,) = note_rejected_clicks({"bad_clicks": 1}, 100, 3)
    assert note == (
        "1 of 4 records with clicks was rejected as bad_clicks: if clicks are flags or ids, set "
        "log.click_form"
    )


def test_one_rejected_record_was_and_several_were_rejected() -> None:
    advice = "if titles are in a different field, set crawl.fields.title"
    for rejected, records, said in ((1, 1, "1 of 1 record was"), (2, 1000, "")):
        found = list(advise_on_rejects({"bad_title": rejected}, records, CRAWL_ADVICE))
        assert found == ([f"{said} rejected as bad_title: {advice}"] if said else [])
    (note,) = advise_on_rejects({"bad_title": 1500}, 3000, CRAWL_ADVICE)
    assert note == f"1,500 of 3,000 records were rejected as bad_title: {advice}"


@pytest.mark.parametrize(
    ("first_ranks", "sizes", "said"),
    [
        ({}, {}, ""),
        ({1: 2, 2: 1}, {2: 3}, "1 of 3 impressions begin after rank 1"),
        ({1: 3, 2: 1}, {2: 4}, ""),
        ({2: 1, 1: 1}, {2: 2}, "1 of 2 impressions begin after rank 1"),
        ({1: 1, 2: 2, 3: 3}, {1: 6}, ""),
        ({1: 10}, {1: 9, 2: 1}, "9 of 10 impressions have a single result"),
        ({1: 9}, {1: 9}, ""),
        ({1: 10}, {1: 8, 2: 2}, ""),
    ],
)
def test_searches_that_seem_to_be_split_are_noted(
    first_ranks: dict[float, int], sizes: dict[int, int], said: str
) -> None:
    notes = list(advise_on_split_impressions(Counter(first_ranks), Counter(sizes)))
    assert [note.partition(":")[0] for note in notes] == ([said] if said else [])


def test_empty_files_are_named(tmp_path: Path) -> None:
    files = [Source(tmp_path / f"{number:02}", f"logs/{number:02}") for number in range(13)]
    for file in files:
        file.path.touch()
    names = ", ".join(f"logs/{number:02}" for number in range(1, 11))
    files[0].path.write_bytes(b"\n")
    assert list(note_empty_files(files)) == [f"{names}, and 2 more are empty (0 bytes)"]
    assert list(note_empty_files(files[:2])) == ["logs/01 is empty (0 bytes)"]
    assert list(note_empty_files(files[:1])) == []


def test_files_without_a_record_are_named(tmp_path: Path) -> None:
    """An archive of requests and metadata, such as a WAT file, was read without a word."""
    files = [Source(tmp_path / name, name) for name in ("a.wat", "b.warc", "c.warc")]
    for file in files[:2]:
        file.path.write_bytes(b"WARC/1.0")
    files[2].path.touch()
    (note,) = note_files_without_records(files, {1: 3})
    assert note.startswith("no pages were found in a.wat; expected rows or, in WARC files, records")
    assert list(note_files_without_records(files[1:], {0: 3})) == []


def test_every_reason_with_advice_exists_and_the_parameters_that_it_names_do() -> None:
    for section, advice in ((LogParameters, LOG_ADVICE), (CrawlParameters, CRAWL_ADVICE)):
        for reason, remedy in advice.items():
            assert f"`{reason}`" in (ROOT / "docs" / DOCUMENTED[section]).read_text("utf-8")
            named = re.findall(r"(?:log|crawl)\.([a-z_]+)", remedy)
            assert named
            assert set(named) <= set(section.model_fields)
