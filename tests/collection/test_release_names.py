"""What the names of files and folders of a release say: month, language, split and variant."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from builder.collection.imports.files import (
    SnapshotFiles,
    infer_split_from_path,
    parse_date_in_name,
    read_metadata_month,
    read_metadata_value,
    relative_path,
    unknown_month_error,
    words_in_name,
)
from builder.collection.imports.layouts import detect_source_language
from builder.collection.imports.variants import OTHER_VARIANT, detect_qrels_variant
from builder.errors import UsageError
from tests.collection.release_files import ROOT, found
from tests.collection.releases import write


@pytest.mark.parametrize(
    ("variants", "chosen", "read", "skipped"),
    [
        (("raw", "dctr", "llm", ""), None, ("dctr", ""), ("llm", "raw")),
        (("raw", "dctr", "llm", ""), "llm", ("llm", ""), ("dctr", "raw")),
        (("raw", "llm"), None, ("raw",), ("llm",)),
        (("llm",), None, ("llm",), ()),
    ],
)
def test_one_variant_of_the_judgements_is_read(
    variants: tuple[str, ...],
    chosen: str | None,
    read: tuple[str, ...],
    skipped: tuple[str, ...],
) -> None:
    names = {v: f"2024-11/qrels-{v}.txt" if v else "2024-11/qrels.txt" for v in variants}
    snapshot = found("longeval-sci", ["2024-11/queries.txt", *names.values()], chosen)["2024-11"]
    assert snapshot["qrels"] == [names[v] for v in read]
    assert snapshot.get("skipped", {}) == {names[v]: OTHER_VARIANT for v in skipped}


@pytest.mark.parametrize(
    ("name", "variant"),
    [
        ("qrels-snapshot-2-raw.txt", "raw"),
        ("Task1_QRELS-LLM", "llm"),
        ("qrels-dctr", "dctr"),
        ("qrels-rawest.txt", None),
        ("queries-raw.txt", None),
        ("notes-raw.txt", None),
        ("qrels.txt", None),
    ],
)
def test_the_variant_in_a_file_name(name: str, variant: str | None) -> None:
    assert detect_qrels_variant(Path(name)) == variant


@pytest.mark.parametrize(
    ("metadata", "month"),
    [
        ('{"snapshot": "2022-06", "timestamp": "2022-07"}', "2022-06"),
        ('{"snapshot": "s1", "timestamp": "2022-07-15"}', "2022-07-15"),
        ('{"snapshot": "s1", "timestamp": "2022-13"}', ""),
        ('{"snapshot": "2022-06-1"}', ""),
        ('{"snapshot": ""}', None),
        ('{"name": "2022-06"}', None),
        ('["2022-06"]', None),
        ("no JSON", None),
        (None, None),
    ],
)
def test_the_month_in_metadata(metadata: str | None, month: str | None, tmp_path: Path) -> None:
    if metadata is not None:
        write(tmp_path / "metadata.json", metadata)
    assert read_metadata_month(tmp_path / "metadata.json") == month


def test_a_value_in_metadata_keeps_its_type(tmp_path: Path) -> None:
    write(tmp_path / "metadata.json", '{"prior-datasets": ["a/"], "number": 0}')
    values = [
        read_metadata_value(tmp_path / "metadata.json", key)
        for key in ("prior-datasets", "number", "none")
    ]
    assert values == [["a/"], 0, None]


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("2022-06", "2022-06"),
        ("collection_2023_01_15.txt", "2023-01-15"),
        ("2022-06_and_2022_06", "2022-06"),
        ("12022-06", None),
        ("2022-061", None),
        ("2022-13", None),
        ("2022-00", None),
        ("2022-12-31", "2022-12-31"),
        ("publish", None),
    ],
)
def test_the_date_in_a_name(name: str, date: str | None) -> None:
    assert parse_date_in_name(Path(name)) == date


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("TestCollection_07", {"test", "collection"}),
        ("longeval-TEST-data", {"longeval", "test", "data"}),
        ("queries2024test", {"queries", "test"}),
        ("2022-06", set()),
    ],
)
def test_the_words_in_a_name(name: str, words: set[str]) -> None:
    assert words_in_name(name) == words


@pytest.mark.parametrize(
    ("parts", "split"),
    [
        (("Testing", "2022-06_queries.txt"), "test"),
        (("tests", "train", "a.txt"), "train"),
        (("training", "tests", "a.txt"), "test"),
        (("test_and_train", "a.txt"), "test"),
        (("release",), "train"),
        ((), "train"),
    ],
)
def test_the_innermost_name_decides_the_split(parts: tuple[str, ...], split: str) -> None:
    assert infer_split_from_path(parts) == split


def test_paths_beside_a_release_begin_with_two_dots() -> None:
    assert relative_path(Path("/a/b/c/d.txt"), Path("/a/b")) == "c/d.txt"
    assert relative_path(Path("/a/e/d.txt"), Path("/a/b")) == "../e/d.txt"


def test_what_to_do_about_an_unknown_month() -> None:
    error = unknown_month_error(Path("/r/lag"), "lag", "2024-11", "its metadata.json")
    assert str(error) == (
        "/r/lag: cannot determine the month; rename 'lag' to include a month such as 2024-11, or "
        "set 'snapshot' in its metadata.json"
    )


def test_the_files_of_a_snapshot_are_listed_once_and_in_order() -> None:
    snapshot = SnapshotFiles("2022-06")
    assert snapshot.paths == []
    snapshot.queries = [(Path("f"), "fr", "train"), (Path("a"), "en", "train")]
    snapshot.qrels = [Path("e"), Path("f")]
    snapshot.documents = {"fr": [Path("d")], "en": [Path("b")]}
    snapshot.url_databases = [Path("g")]
    snapshot.query_texts = [(Path("c"), "fr")]
    assert [path.name for path in snapshot.paths] == ["a", "b", "c", "d", "e", "f", "g"]
    snapshot.url_list = Path("aa")
    assert [path.name for path in snapshot.paths] == ["a", "aa", "b", "c", "d", "e", "f", "g"]


def _snapshot(
    documents: Sequence[str] = (), queries: Sequence[str] = (), texts: Sequence[str] = ()
) -> SnapshotFiles:
    return SnapshotFiles(
        "2022-06",
        documents={language: [Path(language)] for language in documents},
        queries=[(Path(language), language, "train") for language in queries],
        query_texts=[(Path(language), language) for language in texts],
    )


@pytest.mark.parametrize(
    ("snapshots", "language"),
    [
        ([_snapshot()], "fr"),
        ([_snapshot(documents=["en"], queries=["fr"], texts=["fr"])], "en"),
        ([_snapshot(documents=["en"]), _snapshot(documents=["fr"])], "fr"),
        ([_snapshot(queries=["en"])], "en"),
        ([_snapshot(queries=["en"]), _snapshot(texts=["fr"])], "fr"),
        ([_snapshot(texts=["en"])], "en"),
        ([_snapshot(documents=["de", "nl"])], "de"),
    ],
)
def test_the_source_language_is_that_of_the_documents(
    snapshots: list[SnapshotFiles], language: str
) -> None:
    assert detect_source_language(snapshots) == language


@pytest.mark.parametrize(
    ("queries", "kept"), [(("fr", "en"), ["en"]), (("fr",), ["fr"]), (("en",), ["en"])]
)
def test_french_queries_of_english_documents_are_read_if_there_are_no_others(
    queries: tuple[str, ...], kept: list[str]
) -> None:
    folders = {"fr": "French", "en": "English"}
    names = [f"{folders[language]}/2022-06_queries.txt" for language in queries]
    snapshot = found("longeval-web", ["Trec/2022-06_en/a.trec", *names])["2022-06"]
    assert [language for _, language, _ in snapshot["queries"]] == kept
    skipped = {"French/2022-06_queries.txt": "the collection is English"}
    assert snapshot.get("skipped", {}) == (skipped if len(queries) > 1 else {})


@pytest.mark.parametrize(
    ("layout", "names", "hint"),
    [
        ("longeval-web", ("readme.txt",), ""),
        ("longeval-2023", ("2022-06_queries.txt", "a.zip"), "the release has layout longeval-web"),
        ("longeval-web", ("publish/French/Queries/a.tsv",), "the release has layout longeval-2023"),
        ("longeval-web", ("lag/queries.txt", "2024-11/queries.txt"), None),
        (
            "longeval-sci",
            ("d.zip", "b/c.tar.gz", "a.tgz", "e.zip"),
            "unpack a.tgz, b/c.tar.gz, d.zip first",
        ),
    ],
)
def test_what_is_said_where_no_snapshot_is_found(
    layout: str, names: tuple[str, ...], hint: str | None
) -> None:
    expected = {
        "longeval-2023": "French/Queries/*.tsv and French/Qrels/*.txt",
        "longeval-sci": "documents/*.jsonl, queries.txt and qrels.txt",
        "longeval-web": "queries/<YYYY-MM>_queries.txt and qrels/<YYYY-MM>_fr/*.txt",
    }[layout]
    with pytest.raises(UsageError) as error:
        found(layout, names)
    message = f"{ROOT}: no snapshot found in layout {layout}; expected {expected}"
    if hint and "layout" in hint:
        hint = f"{hint}: use --layout {hint.rpartition(' ')[2]}"
    assert str(error.value) == (f"{message}; {hint}" if hint else message)


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(UsageError) as error:
        found("longeval-2024", ["2022-06_queries.txt"])
    assert str(error.value) == "unknown layout 'longeval-2024'; did you mean 'longeval-2023'?"


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        (["2024-11/qrels.txt"], "this release has no qrels variants"),
        (["2024-11/qrels-llm.txt", "2024-11/qrels-raw.txt"], "expected one of llm, raw"),
        (["2024-11/qrels-dctr.txt"], "did you mean 'dctr'?"),
    ],
)
def test_a_variant_that_no_file_has_is_refused(names: list[str], hint: str) -> None:
    with pytest.raises(UsageError) as error:
        found("longeval-sci", ["2024-11/queries.txt", *names], "dtcr")
    assert str(error.value) == f"--qrels: no qrels variant 'dtcr' in this release; {hint}"
