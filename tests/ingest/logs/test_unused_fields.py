"""Names in `[log.fields]` that no record has: the log was read differently, without a word."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.clicks import estimate_from_log
from builder.clicks.log import standalone_log_parameters
from builder.ingest.logs.detection import LogFile
from builder.ingest.logs.unused_fields import note_unused_fields
from builder.io.sources import Source
from builder.parameters import LogParameters
from tests.ingest.logs.log_files import ingest

RESULTS = [{"url": "https://a.example/2", "pos": 2}, {"url": "https://a.example/1", "pos": 1}]
RECORD = {"time": 5, "who": "u", "query": "eau", "results": RESULTS, "clicks": [1]}
CLICKED = RECORD | {"clicks": [{"pos": 2, "at": 9}, {"pos": 1, "at": 7}]}
LONG = {"time": 5, "who": "u", "query": "eau", "url": "https://a.example/2", "pos": 2}
NOTE = "none of the first 1,000 records of each file has the field {!r} (log.fields.{})"


def _json(*records: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


def _parquet(*records: dict[str, Any]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(records)), file)
    return file.getvalue()


@pytest.mark.parametrize("write", [_json, _parquet])
@pytest.mark.parametrize(
    ("record", "fields", "unused"),
    [
        (RECORD, {"user": "who", "rank": "pos"}, []),
        (RECORD, {"user": "who", "rank": "position"}, ["rank"]),
        (RECORD, {"user": "who", "rank": "pos", "clicked": "hit"}, ["clicked"]),
        (RECORD, {"user": "who", "rank": "pos", "click_time": "at"}, []),
        (CLICKED, {"user": "who", "rank": "pos", "click_time": "at"}, []),
        (CLICKED, {"user": "who", "rank": "pos", "click_time": "when"}, ["click_time"]),
        (RECORD | {"results": ["https://a.example/1"]}, {"user": "who", "rank": "x"}, []),
        (LONG, {"user": "who", "rank": "pos"}, []),
    ],
)
def test_names_that_no_result_or_click_has(
    tmp_path: Path, write: Any, record: dict[str, Any], fields: dict[str, str], unused: list[str]
) -> None:
    ledger, _ = ingest(tmp_path, {"log": write(record)}, fields=fields)
    assert [note.partition(";")[0] for note in ledger.notes] == [
        NOTE.format(fields[own], own) for own in unused
    ]


def test_names_that_no_object_has(tmp_path: Path) -> None:
    data = _json(LONG) + b"\nnot JSON\n"
    ledger, _ = ingest(tmp_path, {"log": data}, fields={"user": "whose", "rank": "position"})
    assert [note.partition(";")[0] for note in ledger.notes] == [
        NOTE.format("whose", "user"),
        NOTE.format("position", "rank"),
        (
            "1 of 2 records was rejected as not_json: each line must be one JSON object (NaN is "
            "not valid JSON)"
        ),
    ]


def test_a_name_that_one_file_has(tmp_path: Path) -> None:
    files = {"a": _json(RECORD), "b": _json(RECORD | {"session": "s", "time": 6})}
    ledger, _ = ingest(tmp_path, files, fields={"user": "session"})
    assert ledger.notes == []


@pytest.mark.parametrize(("kind", "write"), [("jsonl", _json), ("parquet", _parquet)])
def test_the_first_records_of_each_file_are_searched(
    tmp_path: Path, kind: str, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builder.ingest.logs.unused_fields.SAMPLE_RECORDS", 2)
    records = [RECORD | {"who": "u" if n == 1 else None} for n in range(3)]
    params = LogParameters.model_validate({"fields": {"user": "who", "rank": "pos"}})
    note = "none of the first 2 records of each file has the field 'who' (log.fields.user); "
    for order, notes in (((0, 1), []), ((0, 2, 1), [f"{note}correct or remove the name"])):
        (tmp_path / "log").write_bytes(write(*(records[n] for n in order)))
        file = LogFile(Source(tmp_path / "log", "log"), kind)
        assert list(note_unused_fields([file], params)) == notes


def test_names_are_noted_without_a_collection(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(_json(RECORD))
    params = LogParameters.model_validate({"fields": {"rank": "position"}})
    out = tmp_path / "out.tsv"
    report = estimate_from_log(
        tmp_path / "log", "sdbn", out, log_params=standalone_log_parameters(params)
    )
    assert [note.partition(";")[0] for note in report.log.notes] == [
        NOTE.format("position", "rank")
    ]
