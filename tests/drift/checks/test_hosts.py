"""A site that changes its own pages is no change of construction: differences on a few hosts."""

from typing import Any

import duckdb
import pytest

from builder.drift.checks import crawling, pages, texts, url_forms
from builder.drift.checks.hosts import ChangedHostCount, count_changed_hosts, is_crawl_partial
from builder.drift.checks.neighbors import check_missing_pages
from builder.drift.checks.outcome import SITE_SQL, Outcome, ShareComparison
from builder.text.keys import doc_id, key64
from schemas import Coverage, DocumentsMap, HostCoverage
from tests.drift.worlds import Rows, frame, holding, page

TWO_OF_TEN = "; only 2 of 10 hosts changed, so the cause may be the sites themselves"


def month(*, hosts: int = 10, of_each: int = 20) -> Rows:
    """Pages of hosts `h0` to `h9`; texts have between 40 and 239 words."""
    rows = []
    for host in range(hosts):
        for n in range(of_each):
            number = host * of_each + n
            words = " ".join(f"été{number}x{k}" for k in range(40 + number))
            rows.append(page(f"https://h{host}.fr/{n}", f"Page {number}", words))
    return rows


def edited(rows: Rows, hosts: int, text: Any) -> Rows:
    """The pages, of which those of the first hosts have another text."""
    changed = {f"https://h{n}.fr" for n in range(hosts)}
    return [
        page(row["url"], row["title"], text(row["text"]))
        if row["url"].rpartition("/")[0] in changed
        else row
        for row in rows
    ]


@pytest.mark.parametrize(
    ("hosts", "changed", "are_most"),
    [(10, 5, False), (10, 6, True), (5, 3, True), (4, 4, False), (0, 0, False)],
)
def test_most_hosts(hosts: int, changed: int, are_most: bool) -> None:
    assert ChangedHostCount(hosts, changed).most_hosts_changed is are_most


def test_hosts_are_counted_in_the_direction_of_all_pages() -> None:
    """Of eight hosts, `f` has no URL and `g` and `h` too few pages in a snapshot."""
    connection = duckdb.connect()
    for side, parts in (("from", (0, 0, 2, 1, 1, 0)), ("to", (1, 2, 0, 1, 2, 9))):
        values = ", ".join(
            f"('{host}', 20, {part})"
            for host, part in zip(("a", "b", "c", "d", "e", ""), parts, strict=True)
        )
        few = "('g', 2, 0), ('h', 20, 0)" if side == "from" else "('g', 20, 9), ('h', 2, 2)"
        connection.execute(f"CREATE TABLE t_{side} (host VARCHAR, pages INT, part INT)")
        connection.execute(f"INSERT INTO t_{side} VALUES {values}, {few}")
    rose = ShareComparison((4, 120), (15, 120), 0.05)
    fell = ShareComparison((15, 120), (4, 120), 0.05)
    sql = "SELECT * FROM t_{side}"
    assert count_changed_hosts(connection, sql, rose) == ChangedHostCount(5, 3)
    assert count_changed_hosts(connection, sql, fell) == ChangedHostCount(5, 1)


WALL = "Acceptez les cookies ou abonnez-vous pour lire la suite de cet article"


@pytest.mark.parametrize(("hosts", "found"), [(2, None), (5, None), (6, True), (10, True)])
def test_a_wall_that_replaces_texts(hosts: int, found: bool | None) -> None:
    """Titles are still those of the pages, and the texts end at no new length: they are one."""
    connection = holding(month(), edited(month(), hosts, lambda _: WALL))
    assert not texts.check_text_lengths(connection).is_construction
    outcome = pages.check_repeated_texts(connection)
    assert outcome.is_construction is found
    if hosts == 2:
        assert outcome.evidence == (
            "0.0 % of documents before and 20.0 % after have the same text as another one; the "
            f"most frequent text occurs 1 and 40 times{TWO_OF_TEN}"
        )
        assert (outcome.numbers["hosts"], outcome.numbers["hosts_changed"]) == (10, 2)


def test_sites_that_copy_other_sites_repeat_no_text_of_their_own() -> None:
    copies = [
        page(f"https://copie{n % 30}.fr/{n}", row["title"], row["text"])
        for n, row in enumerate(month())
    ]
    outcome = pages.check_repeated_texts(holding(month(), [*month(), *copies]))
    assert outcome.is_construction is None
    assert outcome.evidence.endswith(
        "; only 0 of 10 hosts changed, so the cause may be the sites themselves"
    )


@pytest.mark.parametrize(("hosts", "found"), [(2, None), (10, True)])
def test_texts_that_end_at_one_length_on_some_hosts(hosts: int, found: bool | None) -> None:
    teaser = edited(month(), hosts, lambda text: text[:400])
    for before, after in ((month(), teaser), (teaser, month())):
        outcome = texts.check_text_lengths(holding(before, after))
        assert outcome.is_construction is found
        assert outcome.evidence.endswith(TWO_OF_TEN) is (found is None)


@pytest.mark.parametrize(("hosts", "found"), [(2, None), (10, True)])
@pytest.mark.parametrize(
    "text", [lambda text: f"<p>{text}</p>", lambda text: text.encode().decode("latin-1")]
)
def test_damaged_texts_on_some_hosts(text: Any, hosts: int, found: bool | None) -> None:
    outcome = texts.check_text_damage(holding(month(), edited(month(), hosts, text)))
    assert outcome.is_construction is found
    assert outcome.evidence.endswith(TWO_OF_TEN) is (found is None)


def test_titles_that_are_lost() -> None:
    bare = [row | {"title": " "} for row in month()]
    outcome = texts.check_text_damage(holding(month(), bare))
    assert (outcome.is_construction, outcome.evidence) == (
        True,
        "0.0 % of pages before and 100.0 % after have no title: titles are extracted differently",
    )
    outcome = texts.check_text_damage(holding(month(), [*bare[:40], *month()[40:]]))
    assert outcome.is_construction is None
    assert outcome.evidence.endswith(TWO_OF_TEN)


@pytest.mark.parametrize(("hosts", "found"), [(2, False), (4, None), (6, True)])
def test_a_template_of_some_hosts(hosts: int, found: bool | None) -> None:
    """200 words are added to all pages of 2, 4 or 6 of 10 hosts."""
    changes = []
    for n, row in enumerate(month()):
        new = 200 if n < 20 * hosts else 0
        changes.append(
            {
                "doc_id": row["doc_id"],
                "status": "updated" if new else "unchanged",
                "band": "rewritten" if new else None,
                "tokens_from": row["tokens"],
                "tokens_to": row["tokens"] + new,
            }
        )
    outcome = pages.check_uniform_edits(holding(month(), [], changes))
    assert outcome.is_construction is found
    assert outcome.evidence == (
        f"{20 * hosts} of 200 common pages changed in length by exactly +200 words"
        + {
            False: "",
            None: "; only 4 of 10 hosts changed, so the cause may be the sites themselves",
            True: ": text extraction changed, not the pages",
        }[found]
    )


@pytest.mark.parametrize(
    ("hosts", "site"),
    [
        ("www.exemple.fr", "exemple.fr"),
        ("exemple.fr:8080", "exemple.fr:8080"),
        ("jean.blogs-faciles.example", "blogs-faciles.example"),
        ("news.bbc.co.uk", "bbc.co.uk"),
        ("localhost", "localhost"),
        ("", ""),
    ],
)
def test_hosts_of_one_site(hosts: str, site: str) -> None:
    sql = f"SELECT {SITE_SQL} FROM (SELECT ? AS url_key)"
    assert duckdb.execute(sql, [f"https://{hosts}/a.b/c.d"]).fetchall() == [(site,)]


def on_platform(rows: Rows, blogs: int) -> Rows:
    """The pages, of which those of the first hosts are on subdomains of one domain."""
    return [
        row | {"url_key": f"https://blog{n // 20}.platform.example/{n}"} if n < 20 * blogs else row
        for n, row in enumerate(rows)
    ]


def test_a_platform_is_one_site() -> None:
    """The seven blogs of a platform, of twelve hosts, get a new template."""
    before = month(hosts=12)
    after = edited(before, 7, lambda text: f"<p>{text}</p>")
    outcome = texts.check_text_damage(holding(on_platform(before, 7), on_platform(after, 7)))
    assert outcome.is_construction is None
    assert outcome.evidence.endswith(
        "; only 1 of 6 hosts changed, so the cause may be the sites themselves"
    )


def test_a_collection_of_one_host() -> None:
    """Whatever the site or the builder does, it concerns all of its hosts."""
    before = month(hosts=1, of_each=200)
    outcome = texts.check_text_damage(holding(before, edited(before, 1, lambda t: f"<p>{t}</p>")))
    assert outcome.is_construction is None
    assert outcome.evidence.endswith("; fewer than 5 hosts have at least 3 pages")
    changes = [
        {"doc_id": row["doc_id"], "status": "removed", "matched_by": "loose"} for row in before
    ]
    moved = url_forms.check_url_forms(holding(before, [], changes))
    assert moved.is_construction is None
    assert moved.evidence.endswith(
        "; 1 of 1 hosts moved most of their pages: either sites moved or the id scheme changed"
    )


def covering(lost: int, hosts: int) -> duckdb.DuckDBPyConnection:
    """Coverage of hosts with 20 shown pages each, of which the later crawl lacks some."""
    connection = duckdb.connect()
    for side, missing in (("from", 0), ("to", lost)):
        rows = [
            {"host": f"h{n}.fr", "shown": 20, "in_crawl": 0 if n < missing else 20}
            for n in range(hosts)
        ]
        whole = {"shown": 20 * hosts, "in_crawl": 20 * (hosts - missing)}
        counts = {"scope": "kept_queries", "impressions": 1, "impressions_in_crawl": 1}
        connection.register(f"coverage_{side}", frame([counts | whole], Coverage).to_arrow())
        connection.register(f"host_coverage_{side}", frame(rows, HostCoverage).to_arrow())
    return connection


@pytest.mark.parametrize(
    ("lost", "hosts", "found"),
    [(1, 12, False), (2, 12, None), (3, 12, None), (4, 12, True), (4, 20, None), (5, 20, True)],
)
def test_hosts_that_ended_before_the_crawl(lost: int, hosts: int, found: bool | None) -> None:
    assert is_crawl_partial(lost, hosts) is found
    outcome = crawling.check_host_coverage(covering(lost, hosts))
    assert outcome.is_construction is found
    if (lost, hosts) == (2, 12):
        assert outcome.evidence == (
            "of 12 hosts shown in both snapshots, 2 were crawled only in the earlier one and 0 "
            "only in the later one (h0.fr, h1.fr): either one crawl is incomplete or these hosts "
            "could not be crawled"
        )


@pytest.mark.parametrize(("hosts", "found"), [(4, None), (5, False)])
def test_five_hosts_are_enough_to_compare_crawls(hosts: int, found: bool | None) -> None:
    outcome = crawling.check_host_coverage(covering(0, hosts))
    assert outcome.is_construction is found
    assert ("fewer than 5 hosts" in outcome.evidence) == (found is None)


@pytest.mark.parametrize(("shown", "found"), [(2, None), (3, False)])
def test_hosts_with_three_shown_pages_are_compared(shown: int, found: bool | None) -> None:
    connection = covering(0, 5)
    rows = [{"host": f"h{n}.fr", "shown": shown, "in_crawl": shown} for n in range(5)]
    connection.register("host_coverage_to", frame(rows, HostCoverage).to_arrow())
    outcome = crawling.check_host_coverage(connection)
    assert outcome.is_construction is found
    assert outcome.numbers.get("compared", 0) == (0 if found is None else 5)


@pytest.mark.parametrize("sides", [("from", "to"), ("to", "from")])
def test_a_host_is_crawled_from_half_of_its_pages_and_missing_up_to_a_tenth(
    sides: tuple[str, str],
) -> None:
    """Of 20 shown pages, one crawl has 10 and the other 2 on two hosts; 9 and 3 do not count."""
    connection = covering(0, 12)
    for side, counts in zip(sides, ((10, 10, 9, 10), (2, 2, 2, 3)), strict=True):
        rows = [
            {"host": f"h{n:02}.fr", "shown": 20, "in_crawl": counts[n] if n < 4 else 20}
            for n in range(12)
        ]
        connection.register(f"host_coverage_{side}", frame(rows, HostCoverage).to_arrow())
    outcome = crawling.check_host_coverage(connection)
    lost, gained = (2, 0) if sides == ("from", "to") else (0, 2)
    assert outcome.evidence == (
        f"of 12 hosts shown in both snapshots, {lost} were crawled only in the earlier one and "
        f"{gained} only in the later one (h00.fr, h01.fr): either one crawl is incomplete or these "
        "hosts could not be crawled"
    )


@pytest.mark.parametrize(("lost", "found"), [(2, None), (6, True)])
def test_shown_pages_of_some_hosts_that_a_crawl_lacks(lost: int, found: bool | None) -> None:
    outcome = crawling.check_crawl_coverage(covering(lost, 10))
    assert outcome.is_construction is found
    if lost == 2:
        assert outcome == Outcome(
            None,
            "the crawl contains 200 of 200 shown pages before (100.0 %) and 160 of 200 after "
            f"(80.0 %){TWO_OF_TEN}",
            outcome.numbers,
        )


@pytest.mark.parametrize(("missing", "found"), [(0, False), (1, None), (3, None), (5, True)])
def test_shown_pages_that_ended_before_the_crawl(missing: int, found: bool | None) -> None:
    """Of 20 shown pages of each of 20 hosts, the later crawl lacks up to 5."""
    connection = covering(0, 20)
    whole = {"scope": "kept_queries", "shown": 400, "in_crawl": 20 * (20 - missing)}
    hosts = [{"host": f"h{n}.fr", "shown": 20, "in_crawl": 20 - missing} for n in range(20)]
    whole |= {"impressions": 1, "impressions_in_crawl": 1}
    connection.register("coverage_to", frame([whole], Coverage).to_arrow())
    connection.register("host_coverage_to", frame(hosts, HostCoverage).to_arrow())
    outcome = crawling.check_crawl_coverage(connection)
    assert outcome.is_construction is found
    if missing == 3:
        assert outcome.evidence == (
            "the crawl contains 400 of 400 shown pages before (100.0 %) and 340 of 400 after "
            "(85.0 %): either one crawl is incomplete or pages were deleted before the crawl"
        )


@pytest.mark.parametrize(
    ("lost", "missing", "found"),
    [
        (0, 0, False),
        (1, 0, None),
        (2, 0, None),
        (4, 0, True),
        (0, 1, None),
        (0, 3, None),
        (0, 4, True),
        (3, 2, True),
    ],
)
def test_hosts_that_were_out_of_reach(lost: int, missing: int, found: bool | None) -> None:
    """Of 10 hosts with 20 pages, a crawl lacks all pages of some, or some pages of each."""
    rows = [
        {
            "doc_id": doc_id(key64(f"{host} {n}")),
            "url_key": f"https://h{host}.fr/{n}",
            "crawled": ["06", "08"] if host < lost or n < missing else ["06", "07", "08"],
        }
        for host in range(10)
        for n in range(20)
    ]
    connection = duckdb.connect()
    connection.register("documents_map", frame(rows, DocumentsMap).to_arrow())
    ((_, outcome),) = check_missing_pages(connection, ("06", "07", "08"))
    assert outcome.is_construction is found
    if lost == 2:
        assert outcome.evidence == (
            "the crawl lacks 40 of 200 pages that are in the crawls before and after it (20.0 %), "
            f"and all pages of 2 of 10 hosts{TWO_OF_TEN}"
        )
    if missing == 1:
        assert outcome.evidence == (
            "the crawl lacks 10 of 200 pages that are in the crawls before and after it (5.0 %), "
            "and all pages of 0 of 10 hosts: either the crawl is partial or pages were unreachable"
        )


def test_small_hosts_that_a_crawl_lacks_completely() -> None:
    """Hosts with three pages count as hosts, those with two do not."""
    sizes = [3, 3, 2, *[20] * 18]
    rows = [
        {
            "doc_id": doc_id(key64(f"{host} {n}")),
            "url_key": f"https://h{host}.fr/{n}",
            "crawled": ["06", "08"] if host < 3 else ["06", "07", "08"],
        }
        for host, size in enumerate(sizes)
        for n in range(size)
    ]
    connection = duckdb.connect()
    connection.register("documents_map", frame(rows, DocumentsMap).to_arrow())
    ((_, outcome),) = check_missing_pages(connection, ("06", "07", "08"))
    assert outcome == Outcome(
        None,
        "the crawl lacks 8 of 368 pages that are in the crawls before and after it (2.2 %), and "
        "all pages of 2 of 20 hosts; only 2 of 20 hosts changed, so the cause may be the sites "
        "themselves",
        {"pages": 368, "missing": 8, "hosts": 20, "hosts_missing": 2, "hosts_changed": 2},
    )
