"""Parameters of addresses, the pages of long tables, and what is shown for an error."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from builder.errors import DataError, FormatError, UsageError
from builder.explore import CollectionSource, open_collection_source
from builder.explore.application import HEADERS, _error_response, create_application
from builder.explore.document import format_date
from builder.explore.forms import create_search_field, create_select_field, render_filter_form
from builder.explore.grades import format_grade_evidence, render_grade_matrix
from builder.explore.overview import _counted_rows_url, describe_missing_tables
from builder.explore.page_request import PageRequest, page_url
from builder.explore.statements import Statement, rows_to_values_sql, sql_literal
from builder.explore.tables import Column, code_snippets, render_paged_table, to_csv
from builder.reporting.parts import Cell
from tests.explore.client import PORT, Reader, ask
from tests.explore.literal import write_collection

DASH = "\N{EN DASH}"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CollectionSource]:
    """A collection of one snapshot that has judgements alone."""
    qrels = [
        {"query_id": query, "doc_id": doc, "grade": grade, "source": "manual"}
        for query, doc, grade in (("q1", "d2", 1), ("q1", "d1", 0), ("q2", "d2", 2))
    ]
    folder = tmp_path_factory.mktemp("judged")
    version = write_collection(folder, {}, {"2022-06": {"qrels": qrels}}, snapshots=("2022-06",))
    source = open_collection_source(version)
    source.restrict_access()
    yield source
    source.close()


def _request(**parameters: str) -> PageRequest:
    return PageRequest("/x", parameters)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("0", "'0'"),
        ("100001", "'100001'"),
        ("1234567", "'1234567'"),
        ("-1", "'-1'"),
        ("x" * 41, f"'{'x' * 40}'"),
    ],
)
def test_a_number_in_an_address_has_bounds(value: str, found: str) -> None:
    with pytest.raises(UsageError) as caught:
        _request(page=value).integer_parameter("page")
    assert str(caught.value) == f"page: expected an integer from 1 to 100,000, found {found}"


def test_numbers_in_an_address() -> None:
    values = ["1", "100000", "007", ""]
    found = [_request(page=value).integer_parameter("page") for value in values]
    assert found == [1, 100_000, 7, 1]
    assert _request().integer_parameter("page", 3) == 3


def test_a_text_in_an_address_is_short_and_has_no_control_characters() -> None:
    assert _request(text=f"  {'x' * 200} ").text_parameter("text") == "x" * 200
    assert _request().text_parameter("text") == ""
    for value, message in (
        ("x" * 201, "text: expected at most 200 characters, found 201"),
        ("a\x1fb", "text: expected text without control characters, found 'a\\x1fb'"),
        ("a\x7fb", "text: expected text without control characters, found 'a\\x7fb'"),
    ):
        with pytest.raises(UsageError) as caught:
            _request(text=value).text_parameter("text")
        assert str(caught.value) == message


def test_a_choice_in_an_address_is_one_of_its_options() -> None:
    options = ("first", "second")
    assert _request(sort="second").choice_parameter("sort", options) == "second"
    assert _request(sort="").choice_parameter("sort", options, "first") == "first"
    assert _request().choice_parameter("sort", options) == ""
    assert _request(sort="none").choice_parameter("sort", options, "none") == "none"
    with pytest.raises(UsageError) as caught:
        _request(sort="secnd" + "d" * 40).choice_parameter("sort", options)
    assert str(caught.value).startswith(f"sort: unknown value 'secn{'d' * 36}'; ")


def test_addresses_omit_parameters_without_a_value() -> None:
    assert page_url("/x", a="é", b="", c=None, d=0) == "/x?a=%C3%A9&d=0"
    assert page_url("/x", b="") == "/x"
    request = _request(page="2", sort="text")
    assert request.url_with_parameters(sort="id", page=None) == "/x?sort=id"
    assert request.url_with_parameters() == "/x?page=2&sort=text"


NUMBERS = (Column("Number", "n", "", "up"), Column("Text", "t", "A text", "down"), Column("X", "t"))


def _numbers(source: CollectionSource, count: int, *, is_small: bool, **parameters: str) -> str:
    """A table of numbers, with two orders."""
    table = render_paged_table(
        source,
        _request(**parameters),
        "Numbers",
        NUMBERS,
        Statement(f"SELECT range AS n, 't' || range AS t FROM range({count})"),
        {"up": "n", "down": "n DESC"},
        empty_text="None at all.",
        is_small=is_small,
    )
    return str(table)


def _steps(text: str) -> list[str]:
    """The links below a table."""
    return Reader(text).links[2:]


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize(
    ("parameters", "first", "last", "position", "steps"),
    [
        ({}, "0", "49", "1 to 50 of 101", ["/x?page=2", "/x?page=3"]),
        (
            {"page": "2"},
            "50",
            "99",
            "51 to 100 of 101",
            ["/x", "/x?page=1", "/x?page=3", "/x?page=3"],
        ),
        ({"page": "3"}, "100", "100", "101 to 101 of 101", ["/x", "/x?page=2"]),
        (
            {"sort": "down"},
            "100",
            "51",
            "1 to 50 of 101",
            ["/x?sort=down&page=2", "/x?sort=down&page=3"],
        ),
    ],
)
def test_long_tables_have_pages_of_fifty_rows(
    judged: CollectionSource,
    is_small: bool,
    parameters: dict[str, str],
    first: str,
    last: str,
    position: str,
    steps: list[str],
) -> None:
    text = _numbers(judged, 101, is_small=is_small, **parameters)
    rows = Reader(text).tables[0].rows
    assert (rows[1][0], rows[-1][0]) == (first, last)
    assert f"<span>{position}</span>" in text
    assert _steps(text) == steps
    marked = [sort for sort in ("up", "down") if f'"other"><a href="/x?sort={sort}"' in text]
    assert marked == [parameters.get("sort", "up")]


@pytest.mark.parametrize("is_small", [False, True])
def test_tables_of_one_page_and_of_none(judged: CollectionSource, is_small: bool) -> None:
    fifty = _numbers(judged, 50, is_small=is_small)
    assert "1 to 50 of 50" in fifty
    assert _steps(fifty) == []
    assert "None at all." in _numbers(judged, 0, is_small=is_small)
    for count, page, message in (
        (50, "2", "There are only 1 pages."),
        (101, "4", "There are only 3 pages."),
    ):
        assert message in _numbers(judged, count, is_small=is_small, page=page)


def test_what_a_table_offers_to_copy_has_no_other_columns(judged: CollectionSource) -> None:
    copied = Reader(_numbers(judged, 2, is_small=True)).copies[0]
    assert copied["CSV"] == "n,t\n0,t0\n1,t1\n"
    assert copied["DuckDB"] == (
        "SELECT range AS n, 't' || range AS t FROM range(2)\nORDER BY n\nLIMIT 50 OFFSET 0;"
    )


def test_values_of_cells() -> None:
    def shown(value: Any) -> tuple[str, Any]:
        cell = Column("A", "a").cell({"a": value})
        return str(cell.markup), cell.value

    assert [shown(value) for value in (1234, None, True, "<b>", 0)] == [
        ("1,234", 1234),
        (DASH, None),
        ("True", None),
        ("&lt;b&gt;", None),
        ("0", 0),
    ]
    assert Column("A", lambda row: Cell(row["b"])).cell({"b": "x"}).markup == "x"


def test_rows_as_csv_and_as_sql(judged: CollectionSource) -> None:
    rows = [{"a": True, "b": ["x", "y"], "c": None}, {"a": False, "b": [], "c": 'q"'}]
    assert to_csv(rows) == 'a,b,c\ntrue,x|y,\nfalse,,"q"""\n'
    assert rows_to_values_sql([{"n": 1, "t": "d'eau"}, {"n": None, "t": ""}]) == (
        "SELECT * FROM (VALUES\n  (1, 'd''eau'),\n  (NULL, '')\n) AS shown(n, t)"
    )
    assert rows_to_values_sql([]) == "SELECT NULL WHERE false"
    values = [None, "a'b", ["x"], 0.5, 1e-07, 3, True]
    assert [sql_literal(value) for value in values] == [
        "NULL",
        "'a''b'",
        "['x']",
        "0.5e0",
        "1e-07",
        "3",
        "True",
    ]
    assert code_snippets(judged, [{"n": 1}], None) == [
        (
            "Polars",
            (
                'import duckdb\n\nrows = duckdb.sql("""\nSELECT * FROM (VALUES\n  (1)\n) AS '
                'shown(n)\n""").pl()  # a Polars DataFrame'
            ),
        ),
        ("DuckDB", "SELECT * FROM (VALUES\n  (1)\n) AS shown(n);"),
        ("CSV", "n\n1\n"),
    ]


def test_a_form_keeps_other_parameters_only_if_it_jumps_to_a_section() -> None:
    request = _request(a="1", b="2")
    field = create_search_field("a", "A", "1")
    choice = create_select_field("s", "S", "y", ["x", ("y", "Yes")])
    plain = str(render_filter_form(request, field, choice))
    assert 'action="/x"' in plain
    assert 'type="hidden"' not in plain
    assert '<a href="/x">Clear</a>' in plain
    assert '<option value="x">x</option>' in plain
    assert '<option value="y" selected>Yes</option>' in plain
    jumping = str(render_filter_form(request, field, anchor="part"))
    assert 'action="/x#part"' in jumping
    assert '<input type="hidden" name="b" value="2">' in jumping
    assert jumping.count('type="hidden"') == 1
    assert "Clear" not in jumping + str(render_filter_form(_request(), field))


EVIDENCE = {
    "source": "click",
    "score": 0.5,
    "impressions": 1200,
    "examinations": 20,
    "clicks": 3,
    "last_clicks": 2,
    "score_low": 0.25,
    "score_high": 0.75,
    "stability": 0.9,
    "manual_grade": 1,
    "click_grade": 2,
}


@pytest.mark.parametrize(
    ("changed", "facts"),
    [
        (
            {},
            (
                "Source click, Impressions 1,200, Examinations 20, Clicks 3, Last clicks 2, "
                "Score 0.500, Credible interval 0.250 to 0.750, Stability 90.0 %, "
                "Grade by assessors 1, Grade by clicks 2"
            ),
        ),
        (
            {"score": None, "score_low": None, "stability": None, "manual_grade": None},
            (
                "Source click, Impressions 1,200, Examinations 20, Clicks 3, Last clicks 2, "
                f"Score {DASH}"
            ),
        ),
        (
            {"impressions": 0, "score_low": None, "stability": None, "click_grade": None},
            (
                "Source click, Impressions 0, Examinations 20, Clicks 3, Last clicks 2, "
                f"Score 0.500, Grade by assessors 1, Grade by clicks {DASH}"
            ),
        ),
        (
            {"impressions": None, "score": None, "manual_grade": 0},
            "Source click, Evidence none recorded, Grade by assessors 0, Grade by clicks 2",
        ),
    ],
)
def test_the_evidence_for_a_grade(changed: dict[str, Any], facts: str) -> None:
    found = format_grade_evidence({**EVIDENCE, **changed})
    assert ", ".join(f"{label} {text}" for label, text in found) == facts


@pytest.mark.parametrize(("pages", "is_noted"), [(100, False), (101, True)])
def test_a_hundred_judged_pages_are_shown_the_highest_grades_first(
    judged: CollectionSource, pages: int, is_noted: bool
) -> None:
    def row(doc: str, grade: int, snapshot: str) -> dict[str, Any]:
        own = {"doc_key": doc, "grade": grade, "snapshot": snapshot, "url": None}
        return {**EVIDENCE, **own}

    rows = [row(f"d{n:03}", 0, "2022-06") for n in range(pages - 3)]
    rows += [row("once", 1, "2022-06"), row("best", 2, "2022-06")]
    rows += [row("twice", 1, "2022-05"), row("twice", 0, "2022-06")]
    text = str(render_grade_matrix(judged, rows, {"query": "q1"}))
    shown = [cells[0] for cells in Reader(text).tables[0].rows[1:]]
    assert shown[:4] == ["best", "twice", "once", "d000"]
    assert len(shown) == 100
    assert ("Only the first 100 of 101 pages are shown" in text) == is_noted


@pytest.mark.parametrize(
    ("seconds", "date"),
    [(None, DASH), (0, DASH), (86_399, "1970-01-01"), (86_400, "1970-01-02"), (10**18, DASH)],
)
def test_dates_of_fetches(seconds: int | None, date: str) -> None:
    assert format_date(seconds) == date


def test_a_collection_of_judgements_alone(judged: CollectionSource) -> None:
    app = create_application(judged, PORT)
    assert Reader(ask(app, "/pages").text).tables[0].rows[1:] == [
        ["d1", DASH, DASH, "d1"],
        ["d2", DASH, DASH, "d2"],
    ]
    assert len(Reader(ask(app, "/pages?text=d2").text).tables[0].rows) == 2
    assert ask(app, "/pages?sort=url").status == 400
    for address, text in (
        ("/changes", "The collection has only one snapshot; a comparison needs at least two."),
        ("/systems", "--runs FOLDER (no runs were loaded)."),
        ("/", "This collection has no drift.json, so there are no charts or checks to show."),
        ("/rejects", "No rows were rejected."),
        ("/page/d2", "The collection does not contain the text of this page."),
        ("/page/d2", "The collection does not record a URL for this page."),
        ("/query/q1", "No grades differ between snapshots."),
    ):
        assert text in ask(app, address).text, address
    assert [row[0] for row in Reader(ask(app, "/query/q1").text).tables[1].rows[1:]] == ["d2", "d1"]
    assert describe_missing_tables(judged) == [
        (
            "This collection has no texts of pages, so versions, translations and differences are "
            "not available."
        ),
        (
            "This collection has no click evidence, so grades have no impressions, examinations or "
            "intervals."
        ),
        "This collection has no translations, so pages are shown in one language.",
    ]


def test_one_system_is_not_compared(
    judged: CollectionSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judged, "systems", ("bm25",))
    text = ask(create_application(judged, PORT), "/systems").text
    assert "start `longeval explore` with --runs FOLDER (found bm25)." in text


@pytest.mark.parametrize(
    ("check", "url"),
    [
        ("judged_are_listed", "/queries?snapshot=2022-07&group=judged+only"),
        ("pages_stay", "/changes?from=2022-06&to=2022-07&kind=documents&status=removed"),
        ("floors_stand", "/queries?snapshot=2022-07&sort=least"),
        ("nothing", None),
    ],
)
def test_a_check_leads_to_the_rows_that_it_counts(
    judged: CollectionSource, check: str, url: str | None
) -> None:
    found = _counted_rows_url(judged, {"check": check, "snapshots": ["2022-06", "2022-07"]})
    assert found == url


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (UsageError("sort: unknown"), 400, "sort: unknown"),
        (DataError("no memory"), 500, "no memory"),
        (FormatError("damaged", Path("/c")), 500, "/c: damaged"),
        (KeyError("x"), 500, "An unexpected error occurred; see the terminal for details."),
    ],
)
def test_an_error_is_a_page(error: Exception, status: int, text: str) -> None:
    answer = _error_response(error, "literal 1.0.0")
    shown = bytes(answer.body).decode()
    assert answer.status_code == status
    assert f"Error {status}" in shown
    assert f">{text}</p>" in shown


def test_addresses_without_a_page_say_why(judged: CollectionSource) -> None:
    app = create_application(judged, PORT)
    for address, status, text in (
        ("/x", 404, "The explorer has no page at this URL."),
        (f"/query/{'q' * 201}", 404, "The explorer has no page at this URL."),
        (f"/query/{'q' * 200}", 404, "The collection does not contain a query with this id."),
        ("/page/d9", 404, "The collection does not contain a page with this id."),
        ("/static/x.css", 404, "The explorer has no page at this URL."),
        ("/" + "x" * 2048, 414, "The maximum length of a URL is 2,048 bytes."),
        ("/" + "x" * 2047, 404, "The explorer has no page at this URL."),
        ("/terms?" + "x" * 2043, 414, "The maximum length of a URL is 2,048 bytes."),
    ):
        answer = ask(app, address)
        assert (answer.status, f">{text}</p>" in answer.text) == (status, True), address
    assert ask(app, "/terms?" + "x" * 2042).status == 200
    style = ask(app, "/static/explore.css")
    assert style.headers["cache-control"] == "no-cache"
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    found = ask(app, "/terms").headers
    assert {name: found[name] for name in HEADERS} == dict(HEADERS)


def test_a_host_needs_no_port_if_the_port_is_that_of_http(judged: CollectionSource) -> None:
    at_80, at_81 = (create_application(judged, port) for port in (80, 81))
    hosts = ["localhost", "localhost:80", "localhost:81"]
    assert [ask(at_80, "/terms", host=host).status for host in hosts] == [200, 200, 403]
    assert [ask(at_81, "/terms", host=host).status for host in hosts] == [403, 403, 200]


def test_a_drift_report_without_checks_is_named(tmp_path: Path) -> None:
    version = write_collection(tmp_path, {}, {}, snapshots=("2022-06",))
    (version / "drift.json").write_text('{"pairs": [], "checks": []}')
    source = open_collection_source(version)
    with pytest.raises(FormatError) as caught:
        _ = source.drift_report
    assert str(caught.value) == (
        f"{version}/drift.json: expected the keys snapshots, pairs and checks, found checks, pairs"
    )
    source.close()
