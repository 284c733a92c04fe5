"""The check of the form of URLs."""

from collections.abc import Callable

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
    assert changed(lambda n: n % 10 < 6, None).is_construction is False
    assert changed(lambda n: n < 49).is_construction is None


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
