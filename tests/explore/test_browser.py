"""The explorer in a real browser: every journey, at every width, in light and dark."""

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

import builder
from builder import SimulationParameters
from builder.explore import CollectionSource, open_collection_source
from builder.explore.application import create_application
from builder.explore.serve import bind_socket
from tests.security.explorer import hostile_copy, hostile_runs

sync_api = pytest.importorskip("playwright.sync_api")
uvicorn = pytest.importorskip("uvicorn")

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
WIDTHS = (390, 768, 1100, 1600)
CONTRAST = (Path(__file__).parent / "contrast.js").read_text("utf-8")


@contextmanager
def served(make: Callable[[int], ASGIApp]) -> Iterator[str]:
    """An application on a free port, in a thread."""
    with bind_socket(0) as bound:
        port = bound.getsockname()[1]
        config = uvicorn.Config(make(port), log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{port}"
        server.should_exit = server.force_exit = True
        thread.join(10)


@pytest.fixture(scope="module")
def site(source: CollectionSource) -> Iterator[str]:
    """The collection in two languages, with runs."""
    with served(lambda port: create_application(source, port)) as address:
        yield address


@contextmanager
def opened(path: Path, runs: Path | None = None) -> Iterator[str]:
    """Another collection."""
    from builder.explore.runs import load_runs

    source = open_collection_source(path)
    if runs is not None:
        load_runs(source, runs)
    source.restrict_access()
    with served(lambda port: create_application(source, port)) as address:
        yield address
    source.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium."""
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=FLAGS)
        yield launched
        launched.close()


@contextmanager
def page_of(browser: Any, width: int = 1100, theme: str = "light") -> Iterator[Any]:
    """A window that collects problems: errors, messages, requests to elsewhere."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.problems = []
    page.on("pageerror", lambda error: page.problems.append(str(error)))
    page.on("console", lambda line: page.problems.append(line.text))

    def outside(request: Any) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "data:")):
            page.problems.append(request.url)

    page.on("request", outside)
    yield page
    context.close()


def addresses(path: Path) -> list[str]:
    """One address of each journey."""
    collection = builder.open_collection(path)
    queries = collection.table("queries_map").collect()
    changes = collection.table("document_changes").collect()
    updated = changes.filter(status="updated")["doc_id"].to_list()
    query = f"/query/{queries['query_id'][0]}"
    lists = ["/", "/queries", "/pages", "/changes", "/changes?kind=queries", "/changes?kind=qrels"]
    pages = [f"/page/{key}" for key in updated[:1]]
    return [*lists, "/systems", "/rejects", "/terms", query, *pages]


def check(page: Any, address: str) -> None:
    """What holds of every page."""
    page.goto(address)
    overflow = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow == 0, address
    assert page.problems == [], address
    assert page.evaluate(CONTRAST) == [], address
    unlabelled = page.evaluate(
        """[...document.querySelectorAll("input:not([type=hidden]), select, button, a")].filter(
            (e) => !(e.labels?.length || e.textContent.trim() || e.ariaLabel)).length"""
    )
    assert unlabelled == 0, address
    assert page.locator("table:not(:has(caption))").count() == 0, address


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_fits(browser: Any, site: str, explored: Path, width: int, theme: str) -> None:
    with page_of(browser, width, theme) as page:
        for address in addresses(explored):
            check(page, site + address)


def test_a_real_crawl(browser: Any, shared: Path, tmp_path: Path) -> None:
    crawls = sorted((shared / "crawl").glob("*.jsonl.gz"))
    builder.simulate_over_crawls(
        tmp_path / "world", crawls, SimulationParameters(queries=30, impressions=3000)
    )
    version = builder.build(tmp_path / "world/workflow.toml", tmp_path / "out").root
    with opened(version) as site:
        for width, theme in ((390, "light"), (1100, "dark")):
            with page_of(browser, width, theme) as page:
                for address in addresses(version):
                    check(page, site + address)


def test_an_imported_release(browser: Any, release: Path) -> None:
    with opened(release) as site, page_of(browser, 390) as page:
        for address in addresses(release):
            check(page, site + address)
        page.goto(site + "/")
        assert "no texts of pages" in page.inner_text("main")


def test_a_hostile_collection_stays_text(browser: Any, explored: Path, tmp_path: Path) -> None:
    version = hostile_copy(builder.open_collection(explored).path, tmp_path)
    runs = hostile_runs(explored, tmp_path / "runs")
    with opened(version, runs) as site, page_of(browser, 390, "dark") as page:
        for address in addresses(explored):
            page.goto(site + address)
            assert page.locator("img").count() == 0
            assert page.problems == [], address
            assert page.evaluate("document.title") != "owned"
            assert page.evaluate("document.documentElement.scrollWidth") == 390, address


def test_from_search_to_the_reason_of_a_flip(browser: Any, site: str, explored: Path) -> None:
    changes = builder.open_collection(explored).table("qrel_changes").collect()
    assert changes.height
    with page_of(browser) as page:
        page.goto(site + "/queries")
        page.select_option("select[name=sort]", "flips")
        page.click(".filters button")
        assert "sort=flips" in page.url
        page.click(".listing tbody th a >> nth=0")
        assert page.locator("h1").count() == 1
        assert page.locator("#moves .listing tbody tr").count() > 0
        page.click("#moves .listing tbody th a >> nth=0")
        assert page.inner_text("#judged h2") == "Judgements"
        page.go_back()
        assert page.locator("#grades").count() == 1
        assert page.problems == []


def test_evidence_by_keyboard_and_by_tap(browser: Any, site: str, explored: Path) -> None:
    query = next(a for a in addresses(explored) if a.startswith("/query/"))
    with page_of(browser, 390) as page:
        page.goto(site + query)
        grade = page.locator("button.grade").first
        assert "Examinations" in grade.get_attribute("title")
        grade.focus()
        page.keyboard.press("Enter")
        shown = page.locator(".evidence:popover-open")
        assert shown.count() == 1
        assert "Examinations" in shown.inner_text()
        box = shown.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        page.keyboard.press("Escape")
        assert page.locator(".evidence:popover-open").count() == 0
        grade.click()
        page.click(".evidence:popover-open button")
        assert page.locator(".evidence:popover-open").count() == 0


def test_tables_are_copied_by_a_button(browser: Any, site: str) -> None:
    with page_of(browser) as page:
        page.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page.goto(site + "/queries?sort=text")
        page.click(".copies summary")
        assert page.locator(".copier:visible").count() == 3
        page.locator(".copier").nth(2).click()
        page.wait_for_function("document.querySelectorAll('.copier')[2].textContent === 'Copied'")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("query_id,text,text_en")
        assert copied == page.locator(".copies pre").nth(2).text_content()


def test_versions_are_compared(browser: Any, site: str, explored: Path) -> None:
    address = next(a for a in addresses(explored) if a.startswith("/page/"))
    with page_of(browser) as page:
        page.goto(site + address)
        names = page.locator("#difference select[name=from] option").all_inner_texts()
        page.select_option("#difference select[name=from]", names[0])
        page.select_option("#difference select[name=to]", names[-1])
        page.click("#difference button")
        assert f"from={names[0]}" in page.url
        assert page.locator("#difference ins").count() > 0
        page.select_option("#difference select[name=language]", "english")
        page.click("#difference button")
        assert f"from={names[0]}" in page.url
        assert page.locator("#difference .difference").get_attribute("lang") == "en"
        assert page.locator("#translation .listing tbody tr").count() > 0


def test_the_keyboard_skips_to_the_content_and_sees_its_focus(browser: Any, site: str) -> None:
    with page_of(browser) as page:
        page.goto(site + "/queries")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "[document.activeElement.name, getComputedStyle(document.activeElement).outlineStyle]"
        )
        assert focused == ["text", "solid"]


def test_pages_print(browser: Any, site: str, explored: Path) -> None:
    with page_of(browser) as page:
        page.emulate_media(media="print")
        for address in addresses(explored):
            page.goto(site + address)
            assert page.locator(".filters:visible, .below:visible, nav:visible").count() == 0
            assert page.locator("h1:visible").count() == 1
        assert page.pdf()[:5] == b"%PDF-"


def test_it_works_without_scripts(browser: Any, site: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(site + "/queries?sort=text")
    page.click(".listing thead a >> text=Judged")
    assert "sort=judged" in page.url
    assert page.locator(".copier:visible, #theme:visible").count() == 0
    context.close()
