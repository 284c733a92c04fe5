"""Kinds of damage to a good version, and the check that must find each."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from builder.io.tables import TableWriter, table_at
from builder.runtime.publisher import MANIFEST, SUMS, canonical_json, describe_files, sha256
from builder.runtime.stage import SCHEMAS
from builder.text.keys import doc_id, key64

Mutation = Callable[[Path], None]
FIRST = "snapshots/2022-06"
LAST = "snapshots/2022-07"


def edit(
    folder: Path, table: str, change: Callable[[pl.DataFrame], pl.DataFrame], name: str = ""
) -> None:
    """Rewrite a table with other rows, in the order in which they come."""
    home, _, short = table.rpartition("/")
    contract = SCHEMAS[name or short]
    paths = table_at(folder / home, short, contract).paths
    rows = change(pl.read_parquet(list(paths)))
    for path in paths[1:]:
        path.unlink()
    with TableWriter(paths[0], contract) as writer:
        writer.write(rows.to_arrow(compat_level=pl.CompatLevel.oldest()))


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Rewrite the manifest."""
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    change(manifest)
    (folder / MANIFEST).write_text(canonical_json(manifest), "utf-8")


def seal(folder: Path) -> None:
    """Make the hashes of manifest and sums those of the files, as a careful forger would."""
    (folder / SUMS).unlink()
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    (folder / MANIFEST).unlink()
    manifest["files"] = describe_files(folder)
    (folder / MANIFEST).write_text(canonical_json(manifest), "utf-8")
    sums = {name: entry["sha256"] for name, entry in manifest["files"].items()}
    sums[MANIFEST] = sha256(folder / MANIFEST)
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    (folder / SUMS).write_text("".join(lines), "utf-8")


def where(row: int, **values: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Other values in one row."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        here = pl.int_range(pl.len()) == row
        return rows.with_columns(
            pl.when(here)
            .then(pl.lit(value))
            .otherwise(pl.col(name))
            .cast(rows[name].dtype)
            .alias(name)
            for name, value in values.items()
        )

    return change


def every(**values: Any) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """Other values in all rows."""
    return lambda rows: rows.with_columns(
        pl.lit(value).cast(rows[name].dtype).alias(name) for name, value in values.items()
    )


def in_table(
    table: str, change: Callable[[pl.DataFrame], pl.DataFrame], name: str = ""
) -> Mutation:
    """Damage to the rows of a table, sealed."""

    def damage(folder: Path) -> None:
        edit(folder, table, change, name)
        seal(folder)

    return damage


def in_manifest(change: Callable[[dict[str, Any]], None]) -> Mutation:
    """Damage to the manifest, sealed."""

    def damage(folder: Path) -> None:
        edit_manifest(folder, change)
        seal(folder)

    return damage


def in_bytes(file: str, change: Callable[[bytes], bytes], *, sealed: bool = False) -> Mutation:
    """Damage to the bytes of a file."""

    def damage(folder: Path) -> None:
        path = folder / file
        data = change(path.read_bytes())
        path.unlink()
        path.write_bytes(data)
        if sealed:
            seal(folder)

    return damage


def flip(place: float, bit: int = 3) -> Callable[[bytes], bytes]:
    """One bit of a file, at a share of its length."""

    def change(data: bytes) -> bytes:
        at = int(place * (len(data) - 1))
        return data[:at] + bytes([data[at] ^ (1 << bit)]) + data[at + 1 :]

    return change


def _swapped(column: str) -> Callable[[pl.DataFrame], pl.DataFrame]:
    """The ids of the first two rows exchanged, the rows in order again."""

    def change(rows: pl.DataFrame) -> pl.DataFrame:
        ids = rows[column].to_list()
        ids[0], ids[1] = ids[1], ids[0]
        return rows.with_columns(pl.Series(column, ids)).sort(column)

    return change


def _other_grade(rows: pl.DataFrame) -> pl.DataFrame:
    return where(0, grade=(int(rows["grade"][0]) + 1) % 3)(rows)


def _without_judgements_of_one(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.filter(pl.col("query_id") != rows["query_id"][0])


def _gathering(rows: pl.DataFrame) -> pl.DataFrame:
    """One query with several hundred judgements."""
    first = rows.head(1)
    ids = sorted(doc_id(key64(f"https://new.example/{n}")) for n in range(800))
    more = pl.concat([first] * len(ids)).with_columns(pl.Series("doc_id", ids))
    return pl.concat([rows, more]).unique(["query_id", "doc_id"]).sort("query_id", "doc_id")


def _without_column(folder: Path) -> None:
    path = folder / FIRST / "qrels.parquet"
    rows = pl.read_parquet(path).drop("stability")
    path.unlink()
    rows.write_parquet(path)
    seal(folder)


def _other_type(folder: Path) -> None:
    path = folder / FIRST / "qrels.parquet"
    rows = pl.read_parquet(path).with_columns(pl.col("grade").cast(pl.Int64))
    path.unlink()
    rows.write_parquet(path)
    seal(folder)


def _removed_table(folder: Path) -> None:
    (folder / LAST / "coverage.parquet").unlink()
    edit_manifest(folder, lambda m: m["tables"].pop(f"{LAST}/coverage"))
    seal(folder)


def _renamed(folder: Path) -> None:
    (folder / "topics.parquet").rename(folder / "topics2.parquet")


def _another_split(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        split=pl.when(pl.col("split") == "seen").then(pl.lit("test")).otherwise(pl.col("split"))
    )


def _overlap(manifest: dict[str, Any]) -> None:
    manifest["definition"]["snapshots"][1]["start"] = "2022-06-15"


def _claim_english(manifest: dict[str, Any]) -> None:
    manifest["definition"]["collection"]["languages"] = ["fr", "en"]


def _other_parameters(manifest: dict[str, Any]) -> None:
    manifest["units"]["select 2022-07"]["parameters"]["min_users"] = 99


def _construction(data: bytes) -> bytes:
    drift = json.loads(data)
    pair = next(check for check in drift["checks"] if len(check["snapshots"]) == 2)
    pair["verdict"] = "construction"
    return json.dumps(drift).encode()


def _substring(folder: Path) -> None:
    edit_manifest(
        folder, lambda m: m["definition"]["parameters"]["select"].update(matching="substring")
    )
    edit(folder, "topics", every(label="zz", aliases=[]))
    seal(folder)


def _trec(data: bytes) -> bytes:
    return data.replace(b"<TEXT>\n", b"<TEXT>\n</DOC>\n<DOC>\n", 1)


def _swap_first_fields(data: bytes) -> bytes:
    """Swap the first fields of the first two lines."""
    first, second, *more = (line.split(b"\t") for line in data.splitlines())
    lines = [[second[0], *first[1:]], [first[0], *second[1:]], *more]
    return b"".join(b"\t".join(line) + b"\n" for line in lines)


def _trec_file(change: Callable[[bytes], bytes]) -> Mutation:
    return in_bytes("trec/2022-06/fr/documents/part-00000.trec", change, sealed=True)


def _english(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(text_en="En: " + pl.col("text"))


def _english_then(
    change: Callable[[pl.DataFrame], pl.DataFrame],
) -> Callable[[pl.DataFrame], pl.DataFrame]:
    return lambda rows: change(_english(rows))


def _one_untranslated(rows: pl.DataFrame) -> pl.DataFrame:
    return where(3, text_en=rows["text"][3], language="fr")(_english(rows))


def _longer_map(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(snapshots=pl.lit(["2022-06", "2022-07", "2022-08"]))


def _count(manifest: dict[str, Any]) -> None:
    manifest["tables"][f"{FIRST}/queries"]["rows"] += 1


def _judged(rows: pl.DataFrame, judged: pl.Series) -> pl.DataFrame:
    return rows.filter(pl.col("doc_id") != judged[0])


def _lost_document(folder: Path) -> None:
    judged = pl.read_parquet(folder / FIRST / "qrels.parquet")["doc_id"]
    edit(folder, f"{FIRST}/documents", lambda rows: _judged(rows, judged))
    seal(folder)


def _sealed(change: Mutation) -> Mutation:
    """Damage to the files of a version, sealed."""

    def damage(folder: Path) -> None:
        change(folder)
        seal(folder)

    return damage


def _bilingual_without_one_text(folder: Path) -> None:
    edit_manifest(folder, _claim_english)
    for snapshot in (FIRST, LAST):
        edit(folder, f"{snapshot}/queries", _english)
        edit(folder, f"{snapshot}/documents", _english)
    edit(folder, f"{LAST}/documents", where(0, text_en=None))
    seal(folder)


MUTATIONS: dict[str, tuple[str, Mutation]] = {
    "a bit of a table": ("LB003", in_bytes(f"{FIRST}/qrels.parquet", flip(0.4))),
    "a bit of the documents": (
        "LB003",
        in_bytes(f"{FIRST}/documents/part-00000.parquet", flip(0.5)),
    ),
    "a bit of the card": ("LB003", in_bytes("README.md", flip(0.3))),
    "an edited report": ("LB003", in_bytes("report.html", lambda data: data + b"<!-- -->")),
    "mixed line ends in an export": (
        "LB003",
        in_bytes("trec/2022-06/qrels.txt", lambda data: data.replace(b"\n", b"\r\n", 3)),
    ),
    "a truncated table": ("LB101", in_bytes(f"{FIRST}/qrels.parquet", lambda data: data[:-100])),
    "an empty table file": ("LB101", in_bytes("topics.parquet", lambda _: b"")),
    "text under the name of Parquet": (
        "LB101",
        in_bytes("topics.parquet", lambda _: b"a,b\n1,2\n"),
    ),
    "a removed file": ("LB001", lambda folder: (folder / "report.html").unlink()),
    "a removed folder": ("LB001", lambda folder: shutil.rmtree(folder / "changes")),
    "a renamed table": ("LB001", _renamed),
    "an added file": (
        "LB002",
        lambda folder: (folder / FIRST / "notes.txt").write_text("x") and None,
    ),
    "an edited count": ("LB004", lambda folder: edit_manifest(folder, _count)),
    "an edited sum": ("LB004", in_bytes(SUMS, lambda data: data.replace(b"a", b"b", 1))),
    "a removed sums file": ("LB004", lambda folder: (folder / SUMS).unlink()),
    "a column less": ("LB101", _without_column),
    "a column of another type": ("LB101", _other_type),
    "a table less": ("LB101", _removed_table),
    "a grade out of range": ("LB102", in_table(f"{FIRST}/qrels", where(0, grade=7))),
    "a malformed id": ("LB102", in_table(f"{FIRST}/documents", where(0, doc_id="d0001"))),
    "an emptied French text": ("LB102", in_table(f"{FIRST}/documents", where(2, text=""))),
    "a probability above 1": ("LB102", in_table(f"{FIRST}/qrels", where(1, score=1.5))),
    "an unknown split": ("LB102", in_table(f"{FIRST}/queries", where(1, split="dev"))),
    "duplicated documents": (
        "LB103",
        in_table(f"{FIRST}/documents", lambda rows: pl.concat([rows.head(5), rows]).sort("doc_id")),
    ),
    "duplicated judgements": (
        "LB103",
        in_table(f"{FIRST}/qrels", lambda rows: pl.concat([rows, rows.tail(4)])),
    ),
    "another order": ("LB104", in_table(f"{FIRST}/qrels", lambda rows: rows.reverse())),
    "dropped rows": ("LB105", in_table(f"{FIRST}/click_estimates", lambda rows: rows.head(20))),
    "a dropped table's rows": ("LB105", in_table(f"{FIRST}/coverage", lambda rows: rows.head(0))),
    "an edited count, sealed": ("LB105", in_manifest(_count)),
    "impressions of 0": ("LB106", in_table(f"{FIRST}/queries", where(0, impressions=0))),
    "a fetch time of 0": ("LB106", in_table(f"{FIRST}/documents", where(0, fetched_at=0))),
    "no topics": ("LB106", in_table(f"{FIRST}/queries", every(topics=[]))),
    "labels without a source": ("LB106", in_table(f"{FIRST}/qrels", where(0, source="release"))),
    "swapped document ids": ("LB107", in_table(f"{FIRST}/documents", _swapped("doc_id"))),
    "another address": (
        "LB107",
        in_table(f"{FIRST}/documents", where(0, url_key="https://other.example/")),
    ),
    "swapped query ids": ("LB108", in_table(f"{FIRST}/queries", _swapped("query_id"))),
    "another query text": ("LB108", in_table(f"{FIRST}/queries", where(0, text="autre chose"))),
    "a judged document less": ("LB111", _lost_document),
    "a judged query less": ("LB112", in_table(f"{FIRST}/queries", lambda rows: rows.tail(-1))),
    "a query without judgements": (
        "LB113",
        in_table(f"{FIRST}/qrels", _without_judgements_of_one),
    ),
    "queries moved between splits": ("LB114", in_table(f"{LAST}/queries", _another_split)),
    "a wrong number of judgements": ("LB115", in_table(f"{FIRST}/queries", where(0, judged=99))),
    "a changed grade": ("LB116", in_table(f"{FIRST}/qrels", _other_grade)),
    "a map with a document less": (
        "LB117",
        in_table("documents_map", lambda rows: rows.tail(-1)),
    ),
    "a map with other snapshots": ("LB117", in_table("queries_map", _longer_map)),
    "a query of one user": ("LB119", in_table(f"{FIRST}/queries", where(0, users=1))),
    "a query of too few impressions": (
        "LB119",
        in_table(f"{LAST}/queries", where(1, impressions=4)),
    ),
    "changes with a document less": (
        "LB120",
        in_table("changes/documents", lambda rows: rows.tail(-1), "document_changes"),
    ),
    "changes of a query that nobody published": (
        "LB120",
        in_table("changes/queries", where(0, query_id="q0000000000000000"), "query_changes"),
    ),
    "changes with a judgement less": (
        "LB120",
        in_table("changes/qrels", lambda rows: rows.head(-1), "qrel_changes"),
    ),
    "intervals that meet": ("LB118", in_manifest(_overlap)),
    "leaked quotes": (
        "LB204",
        in_table(f"{FIRST}/queries", lambda rows: where(0, text=f'"{rows["text"][0]}"')(rows)),
    ),
    "double spaces": (
        "LB204",
        in_table(f"{FIRST}/queries", lambda rows: where(0, text=f"{rows['text'][0]}  ")(rows)),
    ),
    "an over-long query": ("LB204", in_table(f"{FIRST}/queries", where(0, text="mot " * 900))),
    "a query that gathers judgements": ("LB211", in_table(f"{FIRST}/qrels", _gathering)),
    "a change of construction": ("LB212", in_bytes("drift.json", _construction, sealed=True)),
    "checks of snapshots that are no list of checks": (
        "LB212",
        in_bytes("drift.json", lambda _: b'{"checks": "x"}', sealed=True),
    ),
    "a drift report that is no JSON": (
        "LB212",
        in_bytes("drift.json", lambda _: b"{", sealed=True),
    ),
    "topics inside words": ("LB213", _substring),
    "other parameters in a snapshot": ("LB214", in_manifest(_other_parameters)),
    "boilerplate": (
        "LB215",
        in_table(
            f"{FIRST}/documents",
            lambda rows: rows.with_columns(text_hash=pl.col("text_hash").first()),
        ),
    ),
    "an emptied English text": (
        "LB216",
        in_table(f"{FIRST}/documents", _english_then(where(4, text_en=" "))),
    ),
    "an untranslated text": ("LB217", in_table(f"{FIRST}/documents", _one_untranslated)),
    "a runaway translation": (
        "LB218",
        in_table(f"{FIRST}/documents", _english_then(where(5, text_en="The " + "leg " * 108))),
    ),
    "texts that are HTML": (
        "LB226",
        in_table(f"{FIRST}/documents", every(text="<div><p>Un.</p><p>Deux.</p></div>" * 2)),
    ),
    "a tag in an export": ("LB219", _trec_file(_trec)),
    "a changed grade in an export": (
        "LB219",
        in_bytes(
            "trec/2022-06/qrels.txt", lambda data: data.replace(b" 0\n", b" 2\n", 1), sealed=True
        ),
    ),
    "a topic less in an export": (
        "LB219",
        in_bytes("trec/2022-07/fr/topics.tsv", lambda data: data.partition(b"\n")[2], sealed=True),
    ),
    "an export of another document": (
        "LB219",
        _trec_file(lambda data: data.replace(b"<DOCNO>d", b"<DOCNO>e", 1)),
    ),
    "a changed grade in a numbered export": (
        "LB219",
        in_bytes(
            "trec/2022-06/qrels.numbers.txt",
            lambda data: data.replace(b" 0\n", b" 2\n", 1),
            sealed=True,
        ),
    ),
    "query numbers that are swapped": (
        "LB219",
        in_bytes("trec/2022-06/query_numbers.tsv", _swap_first_fields, sealed=True),
    ),
    "a topic of another text": (
        "LB219",
        in_bytes(
            "trec/2022-07/fr/topics.trec",
            lambda data: data.replace(b"Topic: ", b"Topic: x", 1),
            sealed=True,
        ),
    ),
    "labels that flip": (
        "LB220",
        in_table("changes/qrels", every(grade_from=0, grade_to=2), "qrel_changes"),
    ),
    "an e-mail address": (
        "LB221",
        in_table(f"{FIRST}/queries", where(0, text="jean.dupont@example.org")),
    ),
    "a search operator": (
        "LB222",
        in_table(f"{FIRST}/queries", where(0, text="eau site:example.org")),
    ),
    "relevance that nobody clicked": (
        "LB227",
        in_table(f"{FIRST}/qrels", every(source="click", grade=1, clicks=0, last_clicks=0)),
    ),
    "a snapshot without judgements": (
        "LB224",
        in_table(f"{LAST}/qrels", lambda rows: rows.head(0)),
    ),
    "a snapshot without anything relevant": (
        "LB224",
        in_table(f"{LAST}/qrels", every(grade=0)),
    ),
    "a language that nobody made": ("LB225", in_manifest(_claim_english)),
    "queries that are one in English": (
        "LB223",
        in_table(f"{FIRST}/queries", every(text_en="water")),
    ),
    "other rows of the same number": ("LB105", in_table(f"{FIRST}/coverage", every(shown=10**6))),
    "changes of documents that were edited": (
        "LB105",
        in_table("changes/documents", every(text_changed=True), "document_changes"),
    ),
    "other parameters in the manifest": (
        "LB004",
        in_manifest(lambda m: m["definition"]["parameters"]["qrels"].update(cuts=[0.5, 0.6])),
    ),
    "another version in the manifest": (
        "LB004",
        in_manifest(lambda m: m.update(version="0.3.0")),
    ),
    "no report, sealed": ("LB001", _sealed(lambda folder: (folder / "report.html").unlink())),
    "notes, sealed": (
        "LB002",
        _sealed(lambda folder: (folder / "notes.txt").write_text("x") and None),
    ),
    "a snapshot that is not defined": (
        "LB002",
        _sealed(
            lambda folder: shutil.copytree(folder / LAST, folder / "snapshots/2022-08") and None
        ),
    ),
    "texts of other documents": (
        "LB109",
        in_table(f"{FIRST}/documents", lambda rows: rows.with_columns(pl.col("text").reverse())),
    ),
    "a variant of a training query as a test query": (
        "LB114",
        in_table(f"{LAST}/queries", every(split="test")),
    ),
    "test queries in the training snapshot": (
        "LB114",
        in_table(f"{FIRST}/queries", every(split="test")),
    ),
    "snapshots out of order": (
        "LB118",
        in_manifest(lambda m: m["definition"]["snapshots"].reverse()),
    ),
    "an interval in words": (
        "LB118",
        in_manifest(lambda m: m["definition"]["snapshots"][0].update(start="June 2022")),
    ),
    "changes with other grades": (
        "LB120",
        in_table("changes/qrels", every(grade_from=2, grade_to=2), "qrel_changes"),
    ),
    "pages of a later crawl": ("LB121", in_table(f"{FIRST}/documents", every(fetched_at=1 << 31))),
    "a topic less": ("LB122", in_table("topics", lambda rows: rows.head(1))),
    "clicks of other pairs": (
        "LB124",
        in_table(f"{FIRST}/qrels", lambda rows: rows.with_columns(pl.col("clicks").reverse())),
    ),
    "counts of another card": (
        "LB123",
        in_bytes(
            "README.md", lambda data: data.replace(b"| 2022-06 | 2", b"| 2022-09 | 2"), sealed=True
        ),
    ),
    "hashes of other files": (
        "LB123",
        in_bytes(
            "croissant.json",
            lambda data: data.replace(b'"sha256": "', b'"sha256": "0'),
            sealed=True,
        ),
    ),
    "drift of another month": (
        "LB123",
        in_bytes("drift.json", lambda data: data.replace(b"2022-07", b"2022-08"), sealed=True),
    ),
    "a report of other numbers": (
        "LB123",
        in_bytes("report.html", lambda data: data.replace(b"2022", b"2032"), sealed=True),
    ),
    "rejects that nobody counted": (
        "LB123",
        in_table(f"{FIRST}/rejects", lambda rows: rows.tail(-1)),
    ),
    "rows lost in a step": (
        "LB123",
        in_manifest(lambda m: m["units"]["log 2022-06"]["ledger"].update(rows_in=1)),
    ),
    "a judgement twice in an export": (
        "LB219",
        in_bytes(
            "trec/2022-06/qrels.txt",
            lambda data: data + data.partition(b"\n")[0] + b"\n",
            sealed=True,
        ),
    ),
    "CRLF in an export, sealed": (
        "LB219",
        in_bytes("trec/2022-06/qrels.txt", lambda data: data.replace(b"\n", b"\r\n"), sealed=True),
    ),
    "URLs of one document": (
        "LB219",
        in_bytes("trec/2022-06/urls.tsv", lambda data: data.splitlines(True)[0], sealed=True),
    ),
    "an export without texts": (
        "LB219",
        _trec_file(lambda data: re.sub(rb"(?s)<TEXT>.*?</TEXT>", b"<TEXT>\n</TEXT>", data)),
    ),
    "no exports, sealed": ("LB219", _sealed(lambda folder: shutil.rmtree(folder / "trec"))),
    "queries that are not translated": (
        "LB217",
        in_table(f"{FIRST}/queries", lambda rows: rows.with_columns(text_en="text")),
    ),
    "misread UTF-8": (
        "LB228",
        in_table(f"{FIRST}/documents", every(text="Ã©tÃ© Ã  NoÃ«l")),
    ),
    "free text in the card": (
        "LB123",
        in_bytes("README.md", lambda data: data + b"Ask Ann for the password.\n", sealed=True),
    ),
    "another citation in the card": (
        "LB123",
        in_bytes("README.md", lambda d: d.replace(b"Not stated.", b"Ann (2026)"), sealed=True),
    ),
    "another licence in croissant.json": (
        "LB123",
        in_bytes(
            "croissant.json", lambda d: d.replace(b'"license": "', b'"license": "CC '), sealed=True
        ),
    ),
    "other tools in the manifest": ("LB004", in_manifest(lambda m: m["tools"].update(duckdb="1"))),
    "other inputs in the manifest": (
        "LB004",
        in_manifest(lambda m: m["units"]["log 2022-06"]["inputs"].update(files={})),
    ),
    "another selection in the manifest": (
        "LB123",
        in_manifest(lambda m: m["selection"]["2022-06"][0].update(left_out=1)),
    ),
    "an English text less": (
        "LB225",
        _bilingual_without_one_text,
    ),
}
