"""Attacks, each on one defence. `docs/security.md` lists them; `test_listed.py` compares."""

import ast
import gzip
import json
import re
import shutil
import sqlite3
import stat
import struct
import zlib
from pathlib import Path

import polars as pl
import pytest
import zstandard

import builder
from builder import BuildReport, SimulationParameters
from builder.cli import main
from builder.cli.output import escape_control_characters, format_table
from builder.collection.card_tables import input_file_table
from builder.collection.compare.changelog import format_changelog
from builder.collection.export import export
from builder.collection.export.markup import escape_markup
from builder.collection.findings import format_github
from builder.collection.imports import import_release
from builder.collection.imports.ids import read_url_database
from builder.collection.imports.import_log import ImportLog
from builder.collection.imports.layouts import find_snapshots
from builder.collection.imports.pages import read_documents
from builder.collection.imports.walk import list_release_files
from builder.collection.validate import validate
from builder.definition.model import Definition
from builder.drift import render_report
from builder.errors import DefinitionError, FormatError, UsageError
from builder.ingest.logs.impression import parse_impression
from builder.ingest.rejects import RejectError
from builder.parameters import LogFields, LogParameters
from builder.queries.matching import match_topics
from builder.queries.personal import detect_personal_data
from builder.runtime.limits import ResourceLimits
from builder.trec import read_run
from builder.trec.bounded import read_decompressed_bytes
from tests.security.tools import (
    ANY,
    ROOT,
    SCRIPT,
    Captured,
    at_most,
    definition,
    forged,
    read_crawl,
    read_log,
)

# Paths


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('name = "2022-06"', 'name = "../2022-06"', "snapshots[0].name"),
        ('name = "small"', 'name = "../../small"', "collection.name"),
        ('version = "0.1.0"', 'version = "../0.1.0"', "collection.version"),
    ],
)
def test_names_in_a_definition_are_no_paths(
    world: Path, tmp_path: Path, before: str, after: str, key: str
) -> None:
    with pytest.raises(DefinitionError, match=re.escape(key)):
        Definition.load(definition(tmp_path, world, before, after))


def test_inputs_are_regular_files(world: Path, tmp_path: Path) -> None:
    path = definition(tmp_path, world, "logs/2022-06", "/dev/zero#")
    path.write_text(path.read_text().replace("/dev/zero#", "/dev/zero"))
    with pytest.raises(DefinitionError, match="no such file"):
        Definition.load(path)


def test_snapshots_of_a_manifest_are_no_paths(built: BuildReport, tmp_path: Path) -> None:
    snapshots = [{"name": "../../../etc", "start": "2022-06-01", "end": "2022-07-01"}]
    defined = {"snapshots": snapshots, "parameters": {}, "collection": {}}
    version = forged(built, tmp_path, {"definition": defined})
    with pytest.raises(FormatError, match=r"definition\.snapshots\.0\.name"):
        export(version, "trec", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "a\\b"])
def test_files_of_a_manifest_stay_in_the_version(
    built: BuildReport, tmp_path: Path, name: str
) -> None:
    version = forged(built, tmp_path, {"files": {name: {"sha256": "0", "bytes": 1}}})
    (finding,) = validate(version)
    assert finding.check == "LB004"
    assert "inside the version folder" in finding.message


def test_months_of_a_release_are_no_paths(tmp_path: Path) -> None:
    home = tmp_path / "r/publish/French"
    (home / "Queries").mkdir(parents=True)
    (home / "Queries/train.tsv").write_text("1\teau\n")
    (home / "etc").mkdir()
    (home / "etc/metadata.json").write_text('{"snapshot": "../../2022-06"}')
    with pytest.raises(UsageError, match="cannot determine the month"):
        find_snapshots(list_release_files(tmp_path / "r"), "longeval-2023")


def test_links_that_lead_out_of_a_release_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "r"
    root.mkdir()
    (tmp_path / "secret_queries.txt").write_text("1\tsecret\n")
    (root / "2022-06_queries.txt").symlink_to(tmp_path / "secret_queries.txt")
    (root / "metadata.json").write_text('{"prior-datasets": ["../../", "../secret", "/etc"]}')
    files = list_release_files(root)
    assert [path.name for path in files.paths] == ["metadata.json"]
    assert [path.name for path in files.external_links] == ["2022-06_queries.txt"]
    assert files.missing_datasets == ["../../", "../secret", "/etc"]
    with pytest.raises(UsageError, match="no snapshot"):
        find_snapshots(files, "longeval-web")


def test_document_ids_of_a_release_are_no_paths(tmp_path: Path) -> None:
    page = "<DOC>\n<DOCNO>../../x</DOCNO>\n<TEXT>\nUn texte.\n</TEXT>\n</DOC>\n"
    root = tmp_path / "r"
    for path, data in (
        ("2022-06_queries.txt", "1\teau\n"),
        ("2022-06_qrels.txt", "1 0 ../../x 1\n"),
        ("Trec/2022-06_fr/a.trec", page),
    ):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(data)
    (tmp_path / "scratch").mkdir()
    report = import_release(
        root, "longeval-web", tmp_path / "out/deep", limits=ResourceLimits(tmp_path / "scratch")
    )
    export(report.version, "trec", tmp_path / "out/deep/trec")
    assert {p.name for p in tmp_path.iterdir()} == {"r", "scratch", "out"}
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"deep"}


def test_work_folders_are_private(world: Path, tmp_path: Path) -> None:
    builder.build(world / "workflow.toml", tmp_path / "c", until="log")
    homes = [
        p for p in (tmp_path / "c/.work/log").rglob("*") if p.is_dir() and list(p.glob("*.parquet"))
    ]
    assert homes
    assert all(stat.S_IMODE(home.stat().st_mode) == 0o700 for home in homes)


# Engines


@pytest.mark.parametrize(
    "name", ["a'; DROP TABLE x; --.jsonl", 'a"b.jsonl', "a$(touch pwned).jsonl"]
)
def test_file_names_are_no_code(tmp_path: Path, name: str) -> None:
    line = b'{"time": 5, "query": "eau", "results": ["https://a.example/"], "clicks": []}\n'
    assert read_log(tmp_path, line, name).rows_out == 1
    assert not (tmp_path / "pwned").exists()


def test_scratch_folders_are_no_code(tmp_path: Path) -> None:
    scratch = tmp_path / "a'; SELECT 1; --"
    scratch.mkdir()
    with ResourceLimits(scratch, 1, 2**29).connect_to_duckdb() as connection:
        assert connection.sql("SELECT 42").fetchall() == [(42,)]


@pytest.mark.parametrize("field", ['q"; DROP TABLE x; --', "q' OR 1=1", "q) UNION SELECT"])
def test_field_names_are_no_code(tmp_path: Path, field: str) -> None:
    rows = {"time": [5], "results": [["https://a.example/"]], field: ["eau"], "clicks": [[]]}
    pl.DataFrame(rows, schema_overrides={"clicks": pl.List(pl.Int64)}).write_parquet(tmp_path / "p")
    data = (tmp_path / "p").read_bytes()
    assert read_log(tmp_path, data, fields=LogFields(query=field)).rows_out == 1


@pytest.mark.parametrize(
    "query", ["'; DROP TABLE queries; --", "%", "_", "\\", "(?i)", "a|b", ".*"]
)
def test_topics_and_queries_are_no_patterns(query: str) -> None:
    topics = pl.DataFrame(
        {
            "topic_id": ["t"],
            "label": [".*"],
            "aliases": [["(eau|vin)"]],
            "language": ["fr"],
            "source": [""],
        }
    )
    assert (
        match_topics(pl.Series([query, "eau"]), topics, "substring").list.len().fill_null(0).sum()
        == 0
    )


def test_a_mapping_is_only_read(tmp_path: Path) -> None:
    path = tmp_path / "collection_db.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mapping (id INTEGER, url TEXT)")
        connection.execute("INSERT INTO mapping VALUES (1, 'https://a.example/'), (2, x'00')")
    before = path.read_bytes()
    assert list(read_url_database(path, "2022-06")) == [("1", "https://a.example/", 0)]
    assert path.read_bytes() == before
    path.write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(FormatError, match="expected a SQLite database"):
        list(read_url_database(path, "2022-06"))


def test_the_program_runs_no_text() -> None:
    forbidden = {"eval", "exec", "compile", "__import__"}
    for path in [*(ROOT / "builder").rglob("*.py"), *(ROOT / "schemas").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in forbidden, path
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name.split(".")[0] for alias in node.names}
                module = (getattr(node, "module", "") or "").split(".")[0]
                assert not {"pickle", "marshal", "shelve", "dill", "yaml"} & {*names, module}, path


def test_processes_get_no_shell() -> None:
    for path in (ROOT / "builder").rglob("*.py"):
        text = path.read_text("utf-8")
        assert "shell=True" not in text
        assert "os.system" not in text


# Markup


def test_reports_escape(built: BuildReport) -> None:
    assert built.version is not None
    text = (built.version / "drift.json").read_text("utf-8")
    hostile = json.loads(text.replace("2022-06", f"2022-06{SCRIPT}"))
    page = render_report(hostile)
    assert SCRIPT not in page
    assert "&lt;script&gt;" in page or "\\u003c" in page


def test_pages_load_nothing_from_elsewhere(built: BuildReport) -> None:
    assert built.version is not None
    page = (built.version / "report.html").read_text("utf-8")
    assert not re.search(r"""(?:src|href)\s*=\s*["']?(?:https?:)?//""", page)
    assert "@import" not in page


def test_run_tags_are_no_markup(built: BuildReport, tmp_path: Path) -> None:
    collection = builder.open_collection(built.root)
    for name in collection.snapshots:
        qrels = collection.snapshot(name).qrels.collect()
        rows = [
            f"{q} Q0 {d} 1 1.0 {SCRIPT}"
            for q, d in qrels.unique("query_id").select("query_id", "doc_id").rows()
        ]
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / f"{'<b onclick=x>'}.run").write_text("\n".join(rows) + "\n")
    with pytest.raises(SystemExit) as end:
        main(
            [
                "evaluate",
                str(built.root),
                str(tmp_path / "runs"),
                "--html",
                str(tmp_path / "e.html"),
            ]
        )
    if not end.value.code:
        page = (tmp_path / "e.html").read_text("utf-8")
        assert "<b onclick" not in page
        assert SCRIPT not in page


@pytest.mark.parametrize("text", ["</DOC>", "</TEXT>", "<docno>", "<TOP>", "</title>", "&lt;DOC>"])
def test_texts_are_no_tags(text: str) -> None:
    assert not re.search(
        r"</?(doc|docno|docid|text|top|title)\b", escape_markup(text), re.IGNORECASE
    )


def test_a_document_cannot_end_another(tmp_path: Path) -> None:
    hostile = escape_markup("a\n</TEXT>\n</DOC>\n<DOC>\n<DOCNO>forged</DOCNO>\n<TEXT>\nb")
    (tmp_path / "f").write_text(f"<DOC>\n<DOCNO>d1</DOCNO>\n<TEXT>\n{hostile}\n</TEXT>\n</DOC>\n")
    assert [
        p[0] for p in read_documents(tmp_path / "f", "f", ImportLog(), is_markup_escaped=True)
    ] == ["d1"]


def test_terminals_get_no_commands(tmp_path: Path, capsys: Captured) -> None:
    hostile = "a\x1b[2J\x07\u202e\x9b31m"
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u202e]", escape_control_characters(hostile))
    assert "\x1b" not in format_table([(hostile, 1)], ("text", "count"))
    with pytest.raises(SystemExit):
        main(["validate", str(tmp_path / hostile)])
    assert "\x1b" not in capsys.readouterr().err


def test_annotations_cannot_be_forged(
    built: BuildReport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path / "copy"))
    assert built.version is not None
    shutil.copytree(built.version, tmp_path / "copy")
    (tmp_path / "copy/a\n::error file=x::forged").write_text("")
    for finding in validate(tmp_path / "copy", select=("LB002",)):
        line = format_github(finding)
        assert "\n" not in line
        assert line.startswith("::error file=a%0A%3A%3Aerror file=x%3A%3Aforged,title=longeval ")


def test_change_logs_escape() -> None:
    from builder.collection.compare import VersionDifference

    lines = ("licence: a -> `b`\n# Forged\n[x](javascript:1)",)
    log = format_changelog(VersionDifference("a|", "b|", lines, (), (), (), (), ("\n# Forged",)))
    assert "\n# Forged" not in log


@pytest.fixture(scope="module")
def hostile(world: Path, built: BuildReport, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version whose definition tries to be markup."""
    folder = tmp_path_factory.mktemp("hostile")
    path = definition(folder, world, 'licence = "', 'licence = "x\\n---\\n# Forged \\"},{\\"x\\":')
    report = builder.build(path, shutil.copytree(built.root, folder / "out"))
    assert report.version is not None
    return report.version


def test_cards_escape(hostile: Path) -> None:
    card = (hostile / "README.md").read_text("utf-8")
    assert "\n# Forged" not in card
    assert card.count("\n---\n") == 1


def test_file_names_are_no_markup_in_a_card() -> None:
    name = "logs/`![](https://x.example/a.png)<img src=x>`|\n# Forged"
    table = input_file_table([{"name": "2022-06", "log": {name: "0" * 64}}])
    row = "| 2022-06 | log | `logs/'![](https://x.example/a.png)<img src=x>'\\| # Forged` | "
    assert table.splitlines()[2:] == [row + "`0000000000000000...` |"]


def test_machine_readable_cards_are_json_whatever_they_say(hostile: Path) -> None:
    card = json.loads((hostile / "croissant.json").read_text("utf-8"))
    assert "x" not in card
    assert "Forged" in card["license"]


# Sizes


def test_a_gzip_bomb_stops(tmp_path: Path) -> None:
    bomb = gzip.compress(b"x" * 2**27, 9)
    with at_most(30):
        assert read_log(tmp_path, bomb).rejected["decompression_bomb"] == 1


def test_a_zstd_bomb_stops(tmp_path: Path) -> None:
    bomb = zstandard.ZstdCompressor(level=3).compress(b"\0" * 5 * 2**24)
    with at_most(30):
        assert read_log(tmp_path, bomb).rejected["decompression_bomb"] == 1


def test_a_bomb_in_a_run_stops(tmp_path: Path) -> None:
    (tmp_path / "r.gz").write_bytes(gzip.compress(b"q Q0 d 1 1 t\n" * 2**22))
    with at_most(30), pytest.raises(FormatError, match="at most"):
        read_decompressed_bytes(tmp_path / "r.gz", max_bytes=2**20)


def test_a_bomb_in_a_release_stops(tmp_path: Path) -> None:
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"<DOC>" * 2**24, 9))
    log = ImportLog()
    with at_most(30):
        assert list(read_documents(tmp_path / "b.gz", "b", log, is_markup_escaped=False)) == []
    assert log.records_read >= 1


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"query":['])
def test_deep_json_is_a_reject(tmp_path: Path, opening: bytes) -> None:
    with at_most(30):
        ledger = read_log(tmp_path, opening * 100_000 + b"\n")
    assert (ledger.rows_in, ledger.rows_out) == (1, 0)


def test_deep_json_in_a_crawl_is_a_reject(tmp_path: Path) -> None:
    with at_most(30):
        ledger = read_crawl(tmp_path, b'{"url":' + b"[" * 100_000 + b"\n")
    assert (ledger.rows_in, ledger.rows_out) == (1, 0)


def test_deep_json_in_a_release_is_a_reject(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'[{"id":' + b"[" * 100_000)
    with at_most(30):
        assert list(read_documents(tmp_path / "f", "f", ImportLog(), is_markup_escaped=False)) == []


def test_a_deep_definition_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text("a = " + "[" * 100_000)
    with at_most(30), pytest.raises(DefinitionError, match="not valid TOML"):
        Definition.load(tmp_path / "w.toml")


@pytest.mark.parametrize("text", ["[", "{}", "[]", '{"definition": 1}', "[" * 100_000, "\xff"])
def test_a_manifest_is_not_believed(tmp_path: Path, text: str) -> None:
    version = tmp_path / "version"
    version.mkdir()
    (version / "manifest.json").write_bytes(text.encode("latin-1"))
    (finding,) = validate(version)
    assert (finding.check, finding.severity, finding.where) == ("LB004", "error", "manifest.json")
    with pytest.raises(FormatError, match="manifest"):
        export(version, "trec", tmp_path / "out")


@pytest.mark.parametrize("number", ["1" + "0" * 5000, "1e999999999", "-1", "1" * 400 + ".5"])
def test_huge_numbers_are_rejects(number: str) -> None:
    line = f'{{"time": {number}, "query": "eau", "results": ["x"], "clicks": []}}'.encode()
    with pytest.raises(RejectError, match=r"not_json|bad_time|outside_interval"):
        parse_impression(line, ANY, LogParameters())


def test_scores_that_are_no_numbers_are_errors(tmp_path: Path) -> None:
    (tmp_path / "r.run").write_text("q Q0 d 1 nan t\n")
    with pytest.raises(FormatError, match="line 1"):
        read_run(tmp_path / "r.run")


@pytest.mark.parametrize(
    "text",
    ["0" * 100_000, "06 " * 30_000, "a@" * 50_000, "FR76 " * 20_000, "1." * 50_000, ":" * 100_000],
)
def test_patterns_are_linear(text: str) -> None:
    with at_most(20):
        detect_personal_data(pl.Series([text]))


def test_a_chunk_that_lies_about_its_size_is_a_reject(tmp_path: Path) -> None:
    body = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: text/html\r\n"
    body += b"\r\nFFFFFFFF\r\nx"
    head = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://a.example/\r\n"
    head += (
        b"WARC-Date: 2022-06-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    record = head + b"Content-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body + b"\r\n\r\n"
    with at_most(30):
        try:
            ledger = read_crawl(tmp_path, record)
        except FormatError:
            return
    assert ledger.rows_in == ledger.rows_out + sum(ledger.rejected.values())


def test_a_png_that_is_called_a_log_has_no_impression(tmp_path: Path) -> None:
    chunk = struct.pack(">I", 0) + b"IEND" + struct.pack(">I", zlib.crc32(b"IEND"))
    ledger = read_log(tmp_path, b"\x89PNG\r\n\x1a\n" + chunk)
    assert ledger.rows_out == 0 < ledger.rows_in


# People


def test_user_names_are_nowhere_after_ingestion(tmp_path: Path) -> None:
    params = SimulationParameters(snapshots=1, documents=60, queries=8, impressions=400, seed=3)
    builder.simulate(tmp_path / "world", params)
    (log,) = (tmp_path / "world/logs").iterdir()
    named, count = re.subn(
        rb'"user": ?"', b"\\g<0>secret-person-", gzip.decompress(log.read_bytes())
    )
    assert count > 300
    log.write_bytes(gzip.compress(named))
    builder.build(tmp_path / "world/workflow.toml", tmp_path / "out")
    for path in (p for p in (tmp_path / "out").rglob("*") if p.is_file()):
        assert b"secret-person" not in path.read_bytes(), path
        if path.suffix == ".parquet":
            for column in pl.read_parquet(path).get_columns():
                if column.dtype == pl.String:
                    assert not column.str.contains("secret-person").any(), path


def test_personal_data_is_not_in_messages(tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "q.txt").write_text("1\tjean.dupont@example.org\n2\teau\n")
    with pytest.raises(SystemExit):
        main(["queries", "audit", str(tmp_path / "q.txt")])
    shown = capsys.readouterr()
    assert "personal_email" in shown.out
    assert "jean.dupont" not in shown.out + shown.err


def test_environment_is_not_published(built: BuildReport) -> None:
    assert built.version is not None
    home = str(Path.home())
    for name in ("manifest.json", "README.md", "report.html", "croissant.json", "drift.json"):
        text = (built.version / name).read_text("utf-8")
        assert home not in text or len(home) < 3
        assert str(built.root) not in text
