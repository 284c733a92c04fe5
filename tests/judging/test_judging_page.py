"""The judging page in a real browser, with the keyboard alone."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from builder.judging import import_assessments, write_sheet

sync_api = pytest.importorskip("playwright.sync_api")

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)
NUMBER = 30


def query_id(number: int) -> str:
    """A query id."""
    return f"q{number:016x}"


def doc_id(number: int) -> str:
    """A document id."""
    return f"d{number:016x}"


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    """A page with thirty pairs of three queries, all of whose text is hostile."""
    pairs = pl.DataFrame(
        {
            "query_id": [query_id(n % 3) for n in range(NUMBER)],
            "doc_id": [doc_id(n) for n in range(NUMBER)],
        }
    )
    queries = pl.LazyFrame({"query_id": [query_id(n) for n in range(3)], "text": [HOSTILE] * 3})
    documents = pl.LazyFrame(
        {
            "doc_id": pairs["doc_id"],
            "url": ["javascript:alert(1)"] * NUMBER,
            "title": [f"Page {n} {HOSTILE}" for n in range(NUMBER)],
            "text": [HOSTILE * 50] * NUMBER,
        }
    )
    out = tmp_path / "page.html"
    write_sheet(pairs, out, queries=queries, documents=documents)
    return out


@pytest.fixture
def opened(tmp_path: Path, page_file: Path) -> Iterator[Callable[[], Any]]:
    """Opens the page in a browser with one profile; each call closes the browser before."""
    with sync_api.sync_playwright() as playwright:
        contexts: list[Any] = []

        def browse() -> Any:
            while contexts:
                contexts.pop().close()
            context = playwright.chromium.launch_persistent_context(
                str(tmp_path / "profile"),
                executable_path=CHROMIUM,
                headless=True,
                args=FLAGS,
                accept_downloads=True,
                offline=True,
            )
            contexts.append(context)
            page = context.new_page()
            page.problems = []
            page.on("pageerror", lambda error: page.problems.append(str(error)))
            page.on("console", lambda line: page.problems.append(line.text))
            page.goto(page_file.as_uri())
            return page

        yield browse
        while contexts:
            contexts.pop().close()


def progress(page: Any) -> str:
    """The line that says how far one is."""
    return str(page.inner_text("#progress"))


def exported(page: Any, folder: Path) -> Path:
    """What pressing e downloads."""
    with page.expect_download() as download:
        page.keyboard.press("e")
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_thirty_pairs_with_a_break_by_keyboard(opened: Any, tmp_path: Path) -> None:
    page = opened()
    page.keyboard.type("ann")
    page.keyboard.press("Enter")
    for number in range(12):
        page.keyboard.press(str(number % 3))
    assert progress(page) == "Pair 13 of 30, 12 judged, assessor ann"
    assert page.problems == []

    page = opened()
    page.keyboard.press("Enter")  # the name is remembered
    assert progress(page) == "Pair 13 of 30, 12 judged, assessor ann"
    for key in ("ArrowLeft", "u", "n"):
        page.keyboard.press(key)
    assert progress(page) == "Pair 13 of 30, 11 judged, assessor ann"
    half = exported(page, tmp_path)
    assert import_assessments([half], tmp_path / "half.parquet").judgements == 11
    for _ in range(18):
        page.keyboard.press("2")
    assert progress(page) == "Pair 12 of 30, 29 judged, assessor ann"
    page.keyboard.press("1")
    assert page.inner_text("#notice") == "All pairs are judged. Press e to export."
    assert page.problems == []

    report = import_assessments([exported(page, tmp_path)], tmp_path / "judgements.parquet")
    assert (report.judgements, report.assessors) == (30, {"ann": 30})
    grades = pl.read_parquet(tmp_path / "judgements.parquet")["grade"].value_counts().sort("grade")
    # of the first twelve 4 of each grade, the last of which (2) became 1; eighteen more 2
    assert grades.rows() == [(0, 4), (1, 5), (2, 21)]


def test_hostile_text_stays_text(opened: Any) -> None:
    page = opened()
    page.keyboard.type("eve")
    page.keyboard.press("Enter")
    assert page.inner_text("#query") == HOSTILE
    assert page.inner_text("#url") == "javascript:alert(1)"
    assert HOSTILE in page.inner_text("#title")
    assert page.title() == "Relevance judging"
    assert page.locator("img").count() == 0
    assert page.locator("a").count() == 0
    assert page.problems == []


def test_assessor_names_are_valid_and_distinct(opened: Any) -> None:
    page = opened()
    page.keyboard.press("Enter")
    assert page.is_hidden("#work")
    page.keyboard.type("ann")
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    page = opened()
    page.keyboard.type("bob")  # replaces the name that is remembered
    page.keyboard.press("Enter")
    assert progress(page) == "Pair 1 of 30, 0 judged, assessor bob"
