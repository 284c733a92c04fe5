"""Exports of releases of which not every query and document has an English text."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from builder.cli import app
from builder.collection.compare import compare
from builder.collection.export import export
from builder.errors import DataError, UsageError
from tests.collection.releases import imported, opened, write


@pytest.fixture(scope="module")
def version(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of two months: of the second, no document has an English text."""
    page = "<DOC>\n<DOCNO>doc{}</DOCNO>\n<TEXT>\n{}\n</TEXT>\n</DOC>\n"
    release = tmp_path_factory.mktemp("version") / "r"
    for month, english in (("2022-06", page.format(7, "A page.")), ("2022-07", "")):
        french = page.format(7, "Une page.") + page.format(8, "Une autre page.")
        write(release / f"Trec/{month}_fr/a.txt", french)
        if english:
            write(release / f"Trec/{month}_en/a.txt", english)
        write(release / f"{month}_qrels.txt", "1 0 7 1\n")
        write(release / f"French/{month}_queries.txt", "1\teau\n2\tpain\n3\tsel\n")
        write(release / f"English/{month}_queries.txt", "1\twater\n")
    return imported(release, "longeval-web").version


@pytest.mark.parametrize("layout", ["trec", "longeval-web", "longeval-2023", "huggingface"])
def test_omitted_queries_and_documents_are_counted(
    layout: str, version: Path, tmp_path: Path
) -> None:
    """Nothing but `wrote ...` was said."""
    out = tmp_path / layout
    said = CliRunner().invoke(app, ["export", str(version), "--layout", layout, "--out", str(out)])
    assert said.exit_code == 0
    described = json.loads((out / "longeval-export.json").read_text())
    if layout == "huggingface":
        assert described["omitted"] == {}
        assert said.stdout == f"wrote {out}\n"
        return
    assert described["omitted"] == {
        "2022-06": {"en": {"queries": 2, "documents": 1}},
        "2022-07": {"en": {"queries": 2, "documents": 2}},
    }
    assert said.stdout == (
        "omitted from 2022-06 (no text in en): 2 queries, 1 document\n"
        "omitted from 2022-07 (no text in en): 2 queries, 2 documents\n"
        f"wrote {out}\n"
    )


@pytest.mark.parametrize(
    ("layout", "languages"), [("longeval-sci", ()), ("longeval-web", ("en",)), ("trec", ("en",))]
)
def test_an_export_without_documents_is_refused(
    layout: str, languages: tuple[str, ...], version: Path, tmp_path: Path
) -> None:
    """The export had no document file, and its import failed."""
    with pytest.raises(DataError) as error:
        export(version, layout, tmp_path / "export", languages=languages)
    assert str(error.value) == (
        f"{version}: snapshot 2022-07 has 2 documents, but none with a text in en; choose another "
        "--language (this collection has fr, en)"
    )
    assert not (tmp_path / "export").exists()
    export(version, layout, tmp_path / "export", languages=("fr",))
    described = json.loads((tmp_path / "export/longeval-export.json").read_text())
    assert (described["languages"], described["omitted"]) == (["fr"], {})


def test_huggingface_has_all_languages(version: Path, tmp_path: Path) -> None:
    """The tables had English texts although `longeval-export.json` said `fr`."""
    with pytest.raises(UsageError, match=r"exports all languages \(fr, en\); omit --language"):
        export(version, "huggingface", tmp_path / "hub", languages=("fr",))
    assert not (tmp_path / "hub").exists()
    export(version, "huggingface", tmp_path / "hub", languages=("en", "fr"))


def test_the_language_of_a_sci_export_is_known_to_its_import(version: Path, tmp_path: Path) -> None:
    """French texts became an English collection."""
    out = export(version, "longeval-sci", tmp_path / "a/r", languages=("fr",))
    again = imported(out, "longeval-sci")
    assert opened(again).languages == {"fr": ""}
    assert compare(version, again.version).tables == ()


def test_texts_of_two_source_languages_are_not_compared(version: Path, tmp_path: Path) -> None:
    """All judgements were said to be attached to other query texts."""
    write(tmp_path / "a/r/2022-06/queries.txt", "1\twater\n")
    write(tmp_path / "a/r/2022-06/qrels.txt", "1 0 7 1\n")
    english = imported(tmp_path / "a/r", "longeval-sci")
    with pytest.raises(UsageError, match=r"the same source language, found fr in .* and en in "):
        compare(version, english.version)
