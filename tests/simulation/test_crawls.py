"""Simulated crawls and definitions, and simulations over crawls of other pages."""

from pathlib import Path

import pytest

from builder import SimulationParameters
from builder.runtime.limits import ResourceLimits
from builder.simulation import needs, over_crawls, write_crawl
from builder.simulation.calendar import Month
from builder.simulation.definition import write_definition, write_topics
from builder.simulation.over_crawls import TitledPage


def test_pages_are_fetched_in_ranges_and_some_of_them_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(write_crawl, "PAGES_PER_TASK", 2)
    params = SimulationParameters(documents=5, refetched=1.0)
    month, told = Month(2022, 6), list[int]()
    found = list(
        write_crawl._generate_fetched_pages(params, 0, month, told.append, ResourceLimits(tmp_path))
    )
    assert told == [2, 2, 1]
    assert [fetch.page for fetch in found] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    for earlier, later in zip(found[::2], found[1::2], strict=True):
        assert later.time - earlier.time == 3600
        assert earlier.text == f"{later.text}\nPage en travaux."
        assert earlier.url == later.url
        assert 86_400 <= later.time - month.start < 21 * 86_400


FETCH = write_crawl.FetchedPage(7, "https://a.example/", 1_654_086_400, "L'eau & co", "A <b>\n- c")


def test_records_of_a_crawl() -> None:
    assert write_crawl._to_json_record(FETCH) == {
        "url": "https://a.example/",
        "timestamp": 1_654_086_400,
        "title": "L'eau & co",
        "text": "A <b>\n- c",
    }
    assert write_crawl._to_qwant_record(FETCH) == {
        "url": "https://a.example/",
        "content": "L'eau & co\nA <b>\n- c",
        "created_at": 1_654_000_000,
        "last_updated_at": 1_654_086_400,
    }
    html = write_crawl._to_html(FETCH).decode()
    assert "<title>L&#x27;eau &amp; co</title>" in html
    assert "</h1>\n<p>A &lt;b&gt;</p>\n<li>c</li>\n</article>" in html
    head, http, body, end = (
        write_crawl._create_warc_record(FETCH, "404 Not Found", b"abc").decode().split("\r\n\r\n")
    )
    assert head.splitlines()[:4] == [
        "WARC/1.1",
        "WARC-Type: response",
        "WARC-Target-URI: https://a.example/",
        "WARC-Date: 2022-06-01T12:26:40Z",
    ]
    assert head.splitlines()[4].split(":")[:3] == ["WARC-Record-ID", " <urn", "uuid"]
    assert [len(part) for part in head.splitlines()[4].split(":")[3].split("-")] == [8, 4, 4, 4, 13]
    assert head.splitlines()[5:] == [
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(http) + 4 + 3}",
    ]
    assert http.splitlines() == [
        "HTTP/1.1 404 Not Found",
        "Content-Type: text/html; charset=utf-8",
        "Content-Length: 3",
    ]
    assert (body, end) == ("abc", "")


def test_a_definition_and_topics(tmp_path: Path) -> None:
    months = [(Month(2022, 12), "logs/a", 'c"\\')]
    write_definition(tmp_path, "mine", months)
    text = (tmp_path / "workflow.toml").read_text()
    assert text == (
        "# Written by `longeval simulate`; every key is explained in docs/reference/definition.md\n"
        '[collection]\nname = "mine"\nversion = "0.1.0"\n'
        'topics = "topics.tsv"\nlicence = "CC0-1.0"\n\n'
        '[[snapshots]]\nname = "2022-12"\nstart = 2022-12-01\nend = 2023-01-01\n'
        'log = ["logs/a"]\ncrawl = ["c\\"\\\\"]\n'
    )
    write_definition(tmp_path, "mine", [], ignore_crawl_interval=True, translation="embedded")
    assert (tmp_path / "workflow.toml.1.bak").read_text() == text
    assert (tmp_path / "workflow.toml").read_text().splitlines()[1:] == [
        "[collection]",
        'name = "mine"',
        'version = "0.1.0"',
        'languages = ["fr", "en"]',
        'topics = "topics.tsv"',
        'licence = "CC0-1.0"',
        "",
        "[crawl]",
        'interval = "ignore"',
        "",
        "[translate]",
        'model = "embedded"',
    ]
    write_topics(tmp_path, [("eau", "l'eau", "eaux"), ("x", "X", "")])
    assert (tmp_path / "topics.tsv").read_text().splitlines() == [
        "topic_id\tlabel\taliases\tlanguage\tsource",
        "eau\tl'eau\teaux\tfr\tsimulated",
        "x\tX\t\tfr\tsimulated",
    ]


@pytest.mark.parametrize(
    ("names", "months"),
    [
        (["c-2022-06-30.gz", "2023-01.gz"], ["2022-06", "2023-01"]),
        (["2023-01.gz", "2022-06.gz"], ["2022-06", "2022-07"]),
        (["2022-08-01.gz", "2022-08-02.gz"], ["2022-06", "2022-07"]),
        (["2022-08.gz", "x.gz"], ["2022-06", "2022-07"]),
        (["2022-13.gz"], ["2022-06"]),
        (["2022-12.gz"], ["2022-12"]),
    ],
)
def test_months_are_read_from_names_of_crawls(names: list[str], months: list[str]) -> None:
    found = over_crawls._detect_months([Path("2020-01") / name for name in names])
    assert [month.name for month in found] == months


def _titled(*titles: str) -> list[TitledPage]:
    return [TitledPage(f"u{n}", tuple(title.split())) for n, title in enumerate(titles)]


def test_topics_are_words_of_three_titles_and_of_one_title_in_twenty() -> None:
    """Of 80 titles, a word may be in four."""
    titles = ["four three five only2"] * 3 + ["four five only2", "five", "two", "two", "zzz"]
    titles += ["zzz"] * 2
    pages = _titled(*titles, *([""] * (80 - len(titles))))
    assert over_crawls._select_topics(pages) == ["four", "three", "zzz"]
    assert over_crawls._select_topics(_titled("a b", "a", "a")) == ["a"]


def test_queries_over_crawls_are_a_topic_and_the_rarest_words_of_a_title() -> None:
    pages = _titled("aaaa bbbb cccc dddd", "cccc aaaa", "bbbb cccc", "eeee")
    texts = over_crawls._create_query_texts(pages, ["aaaa", "bbbb"], SimulationParameters())
    assert sorted(texts) == ["aaaa cccc", "aaaa dddd bbbb", "bbbb cccc"]
    few = SimulationParameters(queries=2)
    assert len(over_crawls._create_query_texts(pages, ["aaaa", "bbbb"], few)) == 2


def test_results_over_crawls_have_grades_by_the_words_of_their_titles() -> None:
    titles = ["aaaa bbbb", "bbbb", "cccc", "aaaa", "bbbb aaaa cccc", *["zzzz"] * 200]
    params = SimulationParameters(results_per_page=8)
    (query,) = over_crawls._create_topic_queries(params, ["aaaa bbbb"], _titled(*titles))
    assert (query.number, query.kind) == (0, "need")
    assert query.forms[:2] == ("aaaa bbbb", "AAAA BBBB")
    assert query.urls[:4] == ("u0", "u4", "u1", "u3")
    assert query.grades == (2, 2, 1, 1, *[0] * 6)  # two more results than fit on a page
    assert len(set(query.urls)) == 10
    for grade, clicked, satisfied in zip(
        query.grades, query.attractiveness, query.satisfaction, strict=True
    ):
        low, high = needs.ATTRACTIVENESS_RANGES[grade]
        assert low <= clicked <= high
        low, high = needs.SATISFACTION_RANGES[grade]
        assert low <= satisfied <= high


def test_queries_with_personal_data_over_crawls_have_results_of_grade_0() -> None:
    found = over_crawls._create_queries_with_personal_data(
        SimulationParameters(), _titled(*["x"] * 1000)
    )
    assert [query.number for query in found] == [2**32 + n for n in range(6)]
    for query in found:
        assert (query.kind, len(query.urls), query.grades) == ("personal", 5, (0,) * 5)
        assert query.attractiveness.tolist() == query.satisfaction.tolist() == [0.05] * 5
