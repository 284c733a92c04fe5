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
        "of 60 removed pages, 60 reappear under a URL that differs only in scheme, www or slash, "
        "and 0 under another URL; "
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
