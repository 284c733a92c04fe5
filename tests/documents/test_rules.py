"""Lists, verdicts, and the sample: which pages enter, the same in every snapshot."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder.documents import collect_page_verdicts
from builder.documents.rules import add_selection_flags
from builder.documents.url_lists import UrlList, read_url_list
from builder.errors import FormatError
from builder.io.sources import Source
from builder.parameters import DocumentParameters, VerdictFilter, VerdictFilterParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.text.keys import doc_id, key64, url_key
from schemas import Verdicts
from tests.documents.snapshots import gather_documents, store_pages

PAGES = {
    "https://adulte.fr/": "a",
    "http://www.adulte.fr/x": "b",
    "https://bonadulte.fr/": "c",
    "https://forum.fr/spam/1": "d",
    "https://forum.fr/spam2": "e",
    "https://forum.fr/aide": "f",
    "https://journal.fr/une?page=2": "g",
    "https://journal.fr/une?page=3": "h",
}
DENY = "adulte.fr  # host\n\n# comment\nforum.fr/spam/\nhttps://journal.fr/une?page=2\n"
ADULT = VerdictFilter(name="adult", kind="document", label="adult", min_score=0.5)
QUERIES = VerdictFilter(name="adult_queries", kind="query", label="adult")


def urls(documents: pl.DataFrame) -> set[str]:
    return set(documents["url"])


def test_denied_pages_are_left_out_even_when_shown(tmp_path: Path) -> None:
    documents, ledger = gather_documents(
        tmp_path, PAGES, shown=["https://adulte.fr/"], lists={"deny": DENY}
    )
    assert ledger.rejected["denied"] == 4
    assert set(documents["text"]) == {"c", "e", "f", "h"}


def test_the_allow_list_spares_from_lists_and_verdicts(tmp_path: Path) -> None:
    verdicts = [("https://forum.fr/aide", "adult", 0.9), ("https://adulte.fr/", "adult", 0.9)]
    lists = {"deny": DENY, "allow": "www.adulte.fr\nforum.fr\n"}
    documents, ledger = gather_documents(
        tmp_path, PAGES, lists=lists, verdicts=verdicts, filters=[ADULT]
    )
    assert set(documents["text"]) == {"b", "c", "d", "e", "f", "h"}
    assert (ledger.rejected["denied"], ledger.rejected["adult"]) == (2, 0)


def test_verdicts_are_a_rule_by_their_name(tmp_path: Path) -> None:
    verdicts = [
        ("https://forum.fr/aide", "adult", 0.5),
        ("https://forum.fr/spam2", "adult", 0.4),
        ("https://journal.fr/une?page=2", "spam", 1.0),
        ("https://nowhere.fr/", "adult", 1.0),
    ]
    documents, ledger = gather_documents(
        tmp_path, PAGES, verdicts=verdicts, filters=[QUERIES, ADULT]
    )
    assert ledger.rejected["adult"] == 1
    assert "https://forum.fr/aide" not in urls(documents)
    assert documents.height == 7


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("ADULTE.fr", {"a", "b"}),
        ("www.adulte.fr", {"b"}),
        ("fr", {"a", "b", "c", "d", "e", "f", "g", "h"}),
        ("forum.fr/spam", {"d", "e"}),
        ("forum.fr/spam/", {"d"}),
        ("journal.fr/une?page=", {"g", "h"}),
        ("journal.fr/une?page=3&utm_source=x", {"h"}),
        ("https://journal.fr/une?page=3&utm_source=x#y", {"h"}),
        ("http://adulte.fr/", set()),
    ],
)
def test_entries(entry: str, covered: set[str]) -> None:
    addresses = UrlList([entry])
    assert {text for url, text in PAGES.items() if addresses.matches(url)} == covered


HOSTS = {
    "http://example.fr:8080/x": "port",
    "https://example.fr/x": "plain",
    "http://example.fr./x": "dot",
    "http://www.example.fr.:81/x": "www",
    "http://xn--mnchen-3ya.example/": "idn",
    "http://notexample.fr/x": "other",
}


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ("example.fr", {"port", "plain", "dot", "www"}),
        ("Example.FR.", {"port", "plain", "dot", "www"}),
        ("www.example.fr", {"www"}),
        ("www.example.fr.:81", {"www"}),
        ("www.example.fr:82", set()),
        ("example.fr:8080", {"port"}),
        ("example.fr:443", {"plain"}),
        ("example.fr:80", {"dot"}),
        ("example.fr/x", {"port", "plain", "dot"}),
        ("example.fr?x=1", set()),
        ("example.fr:8080/x", {"port"}),
        ("example.fr:8081/x", set()),
        ("München.example", {"idn"}),
        ("xn--mnchen-3ya.example.", {"idn"}),
        ("example", {"idn"}),
        ("http://example.fr:8080/x", {"port"}),
    ],
)
def test_hosts_however_they_are_written(entry: str, covered: set[str]) -> None:
    addresses = UrlList([entry])
    assert {name for url, name in HOSTS.items() if addresses.matches(url_key(url))} == covered


@pytest.mark.parametrize(
    "line",
    [
        ".example.fr",
        "*.example.fr",
        "user@a.fr",
        "a..fr",
        "a.fr:x",
        ":80",
        "two words",
        "ftp://a.fr/x",
        "://",
        "https:///x",
        "é a.fr",
        "a.fr/?utm_source=x",
        "a.fr/forum/?utm_source=x",
        "a.fr/./",
        "a.fr?utm_source=x",
    ],
)
def test_a_line_that_is_no_entry(tmp_path: Path, line: str) -> None:
    path = tmp_path / "deny.txt"
    path.write_text(f"a.fr\n{line}\n")
    with pytest.raises(FormatError) as caught:
        read_url_list([Source(path, "deny.txt")])
    assert str(caught.value) == (
        "deny.txt, line 2: expected a host (example.fr), a URL prefix without tracking parameters "
        f"(example.fr/forum/) or a URL with a scheme, found {line!r}"
    )
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FormatError, match="UTF-8"):
        read_url_list([Source(path, "deny.txt")])


def test_verdicts_on_pages_that_no_log_shows(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.tsv"
    path.write_text(
        "kind\tkey\tlabel\tscore\tsource\tversion\n"
        "document\thttp://forum.fr/aide\tspam\t1\tlist\t1\n"
        "document\thttps://forum.fr/aide#top\tadult\t0.75\tlist\t1\n"
        "query\tforum\tadult\t1\tlist\t1\n"
    )
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    out.mkdir()
    scratch.mkdir()
    ledger = collect_page_verdicts(
        out,
        pages=store_pages(tmp_path, PAGES)[1],
        params=VerdictFilterParameters(),
        limits=ResourceLimits(scratch, threads=1),
        progress=NoProgress(),
        files=[Source(path, "verdicts.tsv")],
    )
    ledger.check("page_verdicts")
    assert (ledger.rows_out, dict(ledger.rejected)) == (1, {"not_in_this_index": 1})
    found = pl.read_parquet(out / "page_verdicts.parquet")
    Verdicts.validate(found)
    assert found.select("key", "label", "score").row(0) == (
        key64("https://forum.fr/aide"),
        "adult",
        0.75,
    )


COUNT = 100_000


def index(start: int, stop: int) -> pl.DataFrame:
    """Ids of an index, spread as md5 spreads them."""
    ids = [doc_id(key64(f"https://index.example/{n}")) for n in range(start, stop)]
    return pl.DataFrame({"doc_id": ids})


def sampled(pages: pl.DataFrame, share: float) -> pl.DataFrame:
    nothing = pl.Series([], dtype=pl.UInt64)
    return add_selection_flags(pages, nothing, DocumentParameters(sample_share=share)).drop("shown")


def test_samples_are_nested_and_hold_over_snapshots() -> None:
    snapshots = [index(n * 10_000, COUNT + n * 10_000) for n in range(3)]
    small, large = ([sampled(pages, share) for pages in snapshots] for share in (0.01, 0.02))
    for one, two in zip(small, large, strict=True):
        assert not (one["sampled"] & ~two["sampled"]).any()
        assert one["sampled"].mean() == pytest.approx(0.01, rel=0.1)
        assert two["sampled"].mean() == pytest.approx(0.02, rel=0.1)
    for samples in (small, large):
        for first in range(3):
            for second in range(first + 1, 3):
                both = samples[first].join(samples[second], on="doc_id")
                assert both.height == COUNT - (second - first) * 10_000
                assert both["sampled"].equals(both["sampled_right"], check_names=False)


@settings(max_examples=30, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1))
def test_any_two_shares_are_nested(one: float, two: float) -> None:
    pages = index(0, 300)
    inner, outer = (sampled(pages, share)["sampled"] for share in sorted((one, two)))
    assert not (inner & ~outer).any()


def test_the_ends_of_the_scale() -> None:
    assert not sampled(index(0, 500), 0.0)["sampled"].any()
    assert sampled(index(0, 500), 1.0)["sampled"].all()


def test_entries_that_match_no_page_are_named(tmp_path: Path) -> None:
    deny = (
        "https://journal.fr/*\njournal.fr/?page=2\nhttp://forum.fr/aide\nJournal.fr:80\n"
        "forum.fr\nforum.fr/spam\nhttps://journal.fr/une?page=2#top\n"
    )
    allow = "forum.fr/aide\n" + "".join(f"{n}.example\n" for n in range(12))
    _, ledger = gather_documents(tmp_path, PAGES, lists={"deny": deny, "allow": allow})
    assert ledger.rejected["denied"] == 3
    unmatched = {
        "deny": "4 (https://journal.fr/*, journal.fr/?page=2, http://forum.fr/aide, Journal.fr:80)",
        "allow": f"12 ({', '.join(f'{n}.example' for n in range(10))} and 2 more)",
    }
    assert ledger.notes == [
        f"entries of documents.{name} that match no page: {entries}; if they should match pages, "
        "compare their scheme, path and query with the URLs of the crawl"
        for name, entries in unmatched.items()
    ]


def test_filters_that_match_no_verdict_are_noted(tmp_path: Path) -> None:
    page = next(iter(PAGES))
    filters = (
        VerdictFilter(name="spam", kind="document", label="spam"),
        VerdictFilter(name="typo", kind="document", label="spamm"),
        VerdictFilter(name="adult", kind="query", label="adult"),
    )
    verdicts = [(page, "spam", 1.0)]
    _, ledger = gather_documents(tmp_path, PAGES, verdicts=verdicts, filters=filters)
    assert ledger.rejected["spam"] == 1
    assert ledger.notes == [
        (
            "filters in verdicts.filters that match no verdict on any document of this snapshot: "
            "typo; if they are meant to exclude something, check that their kind, label, source "
            "and min_score match those of the verdicts"
        )
    ]
