"""URLs and update times of a release: repeated in several months, in other forms, not yet saved."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.imports.ids import read_url_database
from builder.errors import FormatError
from tests.collection.releases import imported, write

PAGE = "<DOC>\n<DOCNO>{}</DOCNO>\n<TEXT>\nUne page.\n</TEXT>\n</DOC>\n"


def test_a_url_of_several_ids_is_exported_once(tmp_path: Path) -> None:
    """Such releases could not be exported: UNIQUE constraint failed."""
    for month, pages in {"2022-06": (3, 5), "2022-07": (2, 4)}.items():
        home = tmp_path / f"r/{month}/French"
        write(home / "Documents/Trec/a.txt", "".join(map(PAGE.format, pages)))
        write(home / "Queries/train.tsv", f"{pages[0]}\teau\n")
        write(home / "Qrels/train.txt", f"{pages[0]} 0 {pages[0]} 1\n")
        urls = {3: "https://a.example/", 5: "https://b.example/", 2: "https://a.example/"}
        listed = [f"{n}\t{urls.get(n, 'https://c.example/')}\n" for n in pages]
        write(home / "urls.txt", "".join(listed))
    version = imported(tmp_path / "r", "longeval-2023").version
    out = tmp_path / "web"
    arguments = ["export", str(version), "--layout", "longeval-web", "--out", str(out)]
    said = CliRunner().invoke(app, arguments)
    assert said.stdout == (
        "omitted URLs (another document has the same URL): 1, for example the URL of document 2; "
        f"these URLs are NULL in French/collection_db.db\nwrote {out}\n"
    )
    with closing(sqlite3.connect(out / "French/collection_db.db")) as connection:
        assert connection.execute("SELECT id, url, date FROM mapping").fetchall() == [
            (2, None, '["2022-07"]'),
            (3, "https://a.example/", '["2022-06"]'),
            (4, "https://c.example/", '["2022-07"]'),
            (5, "https://b.example/", '["2022-06"]'),
        ]


def _create_database(path: Path, times: list[object]) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mapping (id INTEGER, url TEXT, last_updated_at TEXT, date)")
    months = json.dumps([f"2022-{number:02}" for number in range(1, len(times) + 1)])
    row = (1, "https://a.example/", json.dumps(times), months)
    connection.execute("INSERT INTO mapping VALUES (?, ?, ?, ?)", row)
    connection.commit()
    return connection


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        (1_656_000_000, 1_656_000_000),
        (1_656_000_000_999, 1_656_000_000),
        ("1656000000999", 1_656_000_000),
        ("1658000000.0", 1_658_000_000),
        (1_658_000_000.5, 1_658_000_000),
        ("2022-06-03 10:11:12", 1_654_251_072),
        ("2022-06-03T10:11:12+02:00", 1_654_243_872),
        ("NaN", 0),
        ("inf", 0),
        ("yesterday", 0),
        (None, 0),
    ],
)
def test_update_times_in_all_forms(time: object, seconds: int, tmp_path: Path) -> None:
    """Milliseconds became seconds, and decimal numbers in quotation marks 0."""
    _create_database(tmp_path / "collection_db.db", [time]).close()
    (row,) = read_url_database(tmp_path / "collection_db.db", "2022-01")
    assert row == ("1", "https://a.example/", seconds)


def test_a_database_with_a_write_ahead_log_is_refused(tmp_path: Path) -> None:
    """The rows in the log were missing."""
    path = tmp_path / "collection_db.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = wal")
        with closing(_create_database(path, [1])), pytest.raises(FormatError) as error:
            list(read_url_database(path, "2022-01"))
    assert str(error.value) == (
        f"{path}: rows of this database are still in its write-ahead log collection_db.db-wal; add "
        "these rows with \"sqlite3 collection_db.db 'PRAGMA wal_checkpoint(TRUNCATE)'\" and import "
        "again"
    )
    assert len(list(read_url_database(path, "2022-01"))) == 1
