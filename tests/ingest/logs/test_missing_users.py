"""Users that are missing are no user; ids that are no text are users all the same."""

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder.ingest.logs.impression import make_impression
from builder.io.sources import Source
from builder.parameters import LogParameters
from tests.ingest.logs.log_files import INTERVAL, ingest, read_impressions

WIDE = "time,user,query,results,clicks\n5,{user},eau,https://a.example/1,1\n"
LONG = "time,user,query,url,clicked\n5,{user},eau,https://a.example/1,1\n"
ROW = {"time": 5, "query": "eau", "results": ["https://a.example/1"], "clicks": [1]}
RESULT = {"time": 5, "query": "eau", "url": "https://a.example/1", "clicked": 1}
DIGESTS = [b"\x00\xff\x10", b"\xfe\xdc\xba", b"ada", None]
HEXADECIMAL = ["00ff10", "fedcba", "ada", None]


def _users(folder: Path, data: bytes) -> list[str | None]:
    path = folder / "log"
    path.write_bytes(data)
    batches = read_impressions(Source(path, "log"), INTERVAL, LogParameters())
    return [user for records in batches for user in records.impressions["user"].to_pylist()]


def _parquet(row: dict[str, Any], users: pa.Array) -> bytes:
    file = io.BytesIO()
    columns = {name: [value] * len(users) for name, value in row.items()}
    pq.write_table(pa.table({**columns, "user": users}), file)
    return file.getvalue()


@pytest.mark.parametrize("form", [WIDE, LONG])
@pytest.mark.parametrize("user", ["", " ", "NULL", "null", "\\N", "None", "NaN", "nan", "NA", "-"])
def test_missing_users_of_text_files(tmp_path: Path, form: str, user: str) -> None:
    for delimiter in ",\t":
        text = form.format(user=user).replace(",", delimiter)
        assert _users(tmp_path, text.encode()) == [None]
    assert _users(tmp_path, form.format(user="Nan").encode()) == ["Nan"]


@pytest.mark.parametrize("row", [ROW, RESULT])
@pytest.mark.parametrize(("user", "found"), [("", None), ("  ", None), ("NA", "NA"), (" a", " a")])
def test_only_blank_users_of_other_files_are_missing(
    tmp_path: Path, row: dict[str, Any], user: str, found: str | None
) -> None:
    line = json.dumps(row | {"user": user}).encode()
    assert _users(tmp_path, line + b"\n") == [found]
    assert _users(tmp_path, _parquet(row, pa.array([user]))) == [found]
    assert make_impression(ROW | {"user": user}, INTERVAL, LogParameters()).user == found


@pytest.mark.parametrize("user", ["", "NA", "-"])
def test_missing_users_are_no_bot(tmp_path: Path, user: str) -> None:
    """They became one user with hundreds of impressions an hour, whom the bot rule dropped."""
    cells = "".join(f"{n},{user},eau,https://a.example/1,1\n" for n in range(300))
    ledger, impressions = ingest(
        tmp_path, {"log.csv": b"time,user,query,results,clicks\n" + cells.encode()}
    )
    assert (ledger.rows_out, impressions["user"].null_count()) == (300, 300)


@pytest.mark.parametrize("row", [ROW, RESULT])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_binary_ids_become_hexadecimal(
    tmp_path: Path, row: dict[str, Any], kind: pa.DataType
) -> None:
    """Ids such as MD5 digests became null: all impressions were anonymous."""
    data = _parquet(row, pa.array(DIGESTS, kind))
    assert _users(tmp_path, data) == HEXADECIMAL


@pytest.mark.parametrize("form", [WIDE, LONG])
@pytest.mark.parametrize(
    ("cells", "users"),
    [
        (("12.0", "", "7.0", "-3.0"), ["12", None, "7", "-3"]),
        (("12", "NaN", "7.0"), ["12", None, "7"]),
        (("12.0", "7.5"), ["12.0", "7.5"]),
        (("12.0", "ada"), ["12.0", "ada"]),
        (("12.0", "07"), ["12.0", "07"]),
        (("12.00", "7.0"), ["12.00", "7.0"]),
        (("",) * 1000 + ("12.0", "7.5"), [None] * 1000 + ["12", "7.5"]),
    ],
)
def test_integer_ids_written_as_floats(
    tmp_path: Path, form: str, cells: tuple[str, ...], users: list[str | None]
) -> None:
    """A missing user turned the user 12 of this part of a log into another user, 12.0."""
    header, row = form.splitlines()
    rows = [row.format(user=cell).replace("5", str(n), 1) for n, cell in enumerate(cells)]
    for delimiter in ",\t":
        text = "\n".join([header, *rows]).replace(",", delimiter)
        assert _users(tmp_path, text.encode()) == users


def test_parts_of_a_log_have_the_same_users(tmp_path: Path) -> None:
    parts = {"a": "12", "b": "12.0"}
    data = {n: WIDE.format(user=user).encode() for n, user in parts.items()}
    data["b"] += b"6,,eau,https://a.example/1,1\n"
    _, impressions = ingest(tmp_path, data, repeats="keep")
    assert impressions["user"].drop_nulls().n_unique() == 1
