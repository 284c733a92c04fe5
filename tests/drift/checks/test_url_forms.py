"""The check of the form of URLs."""

from collections.abc import Callable

import pytest

from builder.drift.checks import (
    url_forms,
)
from builder.drift.checks.outcome import Outcome
from tests.drift.worlds import holding, page


def test_addresses_of_another_form() -> None:
    before = [page(f"https://h{n % 10}.fr/{n}", f"Page {n}", f"texte {n}") for n in range(100)]

    def changed(moved: Callable[[int], bool], matched_by: str | None = "loose") -> Outcome:
        rows = [
            {"doc_id": row["doc_id"], "status": "removed", "matched_by": matched_by}
            if moved(n)
            else {"doc_id": row["doc_id"], "status": "unchanged"}
            for n, row in enumerate(before)
        ]
        return url_forms.check_url_forms(holding(before, [], rows))

    says = (
        "of 60 removed pages, 60 reappear under a URL that differs only in scheme, www or "
        "trailing slash, and 0 under another URL; "
    )
    every = changed(lambda n: n % 10 < 6)
    end = "6 of 10 hosts moved most of their pages: the id scheme changed, not the pages"
    assert (every.is_construction, every.evidence) == (True, says + end)
    spread = changed(lambda n: n // 10 < 4 or n >= 80)
    assert (spread.is_construction, spread.numbers["moved_hosts"]) == (True, 10)
    some = changed(lambda n: n % 10 < 5)
    end = "5 of 10 hosts moved most of their pages: either sites moved or the id scheme changed"
    assert (some.is_construction, some.evidence) == (None, says.replace("60", "50") + end)
    assert changed(lambda n: n % 10 < 6, None) == Outcome(
        False,
        "of 60 removed pages, 0 reappear under a URL that differs only in scheme, www or trailing "
        "slash, and 0 under another URL",
        {"removed": 60, "loose": 0, "moved": 0, "other_scheme": 0, "documents": 100},
        "30.0 % of removed pages reappearing under another form of their URL",
    )
    other = changed(lambda n: n % 10 < 6, "moved")
    assert other == Outcome(
        True,
        "of 60 removed pages, 0 reappear under a URL that differs only in scheme, www or trailing "
        "slash, and 60 under another URL; 6 of 10 hosts moved most of their pages: the id scheme "
        "changed, not the pages",
        {"removed": 60, "loose": 0, "moved": 60, "other_scheme": 0, "documents": 100}
        | {"hosts": 10, "moved_hosts": 6},
    )
    few = Outcome(None, "fewer than 50 documents were removed")
    assert changed(lambda n: n < 49) == few
    assert changed(lambda n: n < 50).is_construction is not False
    assert changed(lambda _: False) == few


@pytest.mark.parametrize(
    ("removed", "loose", "moved", "documents", "found"),
    [
        (60, 9, 9, 60, None),
        (60, 9, 8, 60, False),
        (60, 60, 0, 1200, None),
        (60, 60, 0, 1201, False),
    ],
)
def test_removed_pages_that_reappear_must_be_many(
    removed: int, loose: int, moved: int, documents: int, found: bool | None
) -> None:
    """Of 60 removed pages, 18 must reappear, and a twentieth of all pages must be removed.

    Pages that were added, that returned or that are in both snapshots do not count, whatever they
    were matched by.
    """
    ways = ["loose"] * loose + ["moved"] * moved + [None] * (removed - loose - moved)
    rows = [
        {"doc_id": f"d{n:016x}", "status": "removed", "matched_by": way}
        for n, way in enumerate(ways)
    ]
    rows += [{"doc_id": f"e{n:016x}", "status": "unchanged"} for n in range(documents - removed)]
    rows += [
        {"doc_id": f"{status[:1]}{n:016x}", "status": status, "matched_by": way}
        for status, way in (("added", "loose"), ("returned", "moved"))
        for n in range(99)
    ]
    outcome = url_forms.check_url_forms(holding([], [], rows))
    assert outcome.is_construction is found
    counts = {"removed": removed, "loose": loose, "moved": moved, "documents": documents}
    assert outcome.numbers.items() >= counts.items()


def test_hosts_move_with_half_of_their_pages_and_small_ones_do_not_count() -> None:
    """Of five hosts with 20 pages, three move 10 and two 9; others have two pages or no URL."""
    moves = (10, 10, 10, 9, 9)
    before = [page(f"https://h{h}.fr/{n}", "", f"{h} {n}") for h in range(5) for n in range(20)]
    moved = [n < moves[h] for h in range(5) for n in range(20)]
    small = [page(f"https://s{n // 2}.fr/{n}", "", f"s{n}") for n in range(20)]
    small += [page(f"https://none.fr/{n}", "", f"n{n}", url_key="") for n in range(9)]
    rows = [
        {"doc_id": row["doc_id"], "status": "removed", "matched_by": "moved"}
        if is_moved
        else {"doc_id": row["doc_id"], "status": "unchanged"}
        for row, is_moved in zip([*before, *small], [*moved, *[True] * 29], strict=True)
    ]
    outcome = url_forms.check_url_forms(holding([*before, *small], [], rows))
    assert outcome.is_construction is True
    assert (outcome.numbers["hosts"], outcome.numbers["moved_hosts"]) == (5, 3)


@pytest.mark.parametrize(("secure", "found"), [(30, True), (31, None)])
def test_most_pages_must_change_their_scheme_to_doubt(secure: int, found: bool | None) -> None:
    """Of 60 pages that moved, half only lost `www.`."""
    before = [page(f"http://www.h{n % 10}.fr/{n}", "", f"texte {n}") for n in range(60)]
    after = [
        page(
            row["url"].replace("http://www.", "https://www." if n < secure else "http://"),
            "",
            row["text"],
        )
        for n, row in enumerate(before)
    ]
    rows = [
        {"doc_id": a["doc_id"], "status": status, "matched_by": "loose", "matched_id": b["doc_id"]}
        for old, new in zip(before, after, strict=True)
        for a, b, status in ((old, new, "removed"), (new, old, "added"))
    ]
    outcome = url_forms.check_url_forms(holding(before, after, rows))
    assert (outcome.is_construction, outcome.numbers["other_scheme"]) == (found, secure)


def test_sites_that_adopt_https() -> None:
    before = [page(f"http://h{n % 10}.fr/{n}", f"Page {n}", f"texte {n}") for n in range(100)]
    after = [
        page(row["url"].replace("http:", "https:"), row["title"], row["text"]) for row in before
    ]
    rows = [
        {"doc_id": a["doc_id"], "status": status, "matched_by": "loose", "matched_id": b["doc_id"]}
        for old, new in zip(before, after, strict=True)
        for a, b, status in ((old, new, "removed"), (new, old, "added"))
    ]
    outcome = url_forms.check_url_forms(holding(before, after, rows))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "of 100 removed pages, 100 reappear under a URL that differs only in scheme, www or "
        "trailing slash, and 0 under another URL; 10 of 10 hosts moved most of their pages; 100 "
        "pages have another scheme: either sites changed between http and https or the id scheme "
        "changed"
    )
