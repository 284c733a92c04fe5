"""Findings and the printed summary of a drift.json by hand, sentence by sentence."""

from itertools import pairwise
from typing import Any

import pytest

from builder.drift.report.findings import Finding, list_findings
from builder.drift.report.undecided import list_undecided_checks, summarize_undecided_checks
from builder.drift.summary import SUMMARY_COLUMNS, count_dropped_documents, summarize_pairs
from tests.drift.handwritten import documents, handwritten, words

SENTENCES = (
    ("80.0 % of the 1,000 pages of 2022-06 are still in 2022-08; 20 pages are in every snapshot."),
    (
        "20 pages of 2022-06 left the collection in 2022-07: 15 are no longer in the crawl,"
        " 4 are crawled but not shown for any selected query, 1 is crawled but excluded by a "
        "rule."
    ),
    (
        "Pages changed most from 2022-06 to 2022-07: 25.0 % of the common pages were updated,"
        " and half of these kept at least 50.0 % of their word sequences; 1 page was "
        "rewritten."
    ),
    (
        "The vocabulary changed most from 2022-07 to 2022-08 (Jensen-Shannon divergence "
        "0.0250 bits): 0.31 % of the words in the later snapshot are new; “mot0”, “mot1”, “mot2” "
        "rose most."
    ),
    (
        "The listed queries changed most from 2022-07 to 2022-08: 50.0 % of 20 were kept, and 7 "
        "queries were added."
    ),
    (
        "The topic mix changed most from 2022-06 to 2022-07: Jensen-Shannon divergence 0.3000"
        " bits by impressions and 0.0100 by queries; the share of “pain” went from 25.0 % to "
        "60.0 % of impressions."
    ),
    (
        "Of 20 pairs judged in both 2022-07 and 2022-08, 75.0 % kept their grade and 3.0 % "
        "changed between not relevant and highly relevant."
    ),
    (
        "Of 14 relevant judgements of 2022-06, 6 point to pages that were removed in 2022-07,"
        " 3 to pages that were crawled but not kept in 2022-07, and 5 to pages that were updated."
    ),
)


def test_all_sentences() -> None:
    warning = Finding("2022-06 to 2022-07: a threshold moved.", is_warning=True)
    assert list_findings(handwritten()) == [warning, *map(Finding, SENTENCES)]


def test_undecided_checks_are_listed_once_with_all_reasons() -> None:
    assert list_undecided_checks(handwritten()) == [
        "Is three so? 2022-07: too few; 2022-07 to 2022-08: more would show."
    ]


def test_equal_reasons_are_printed_once() -> None:
    drift = handwritten()
    months = [f"2022-{month:02}" for month in range(1, 7)]
    drift["checks"] = [
        {"asks": "Is it so?", "verdict": "cannot tell", "evidence": "", "sees": reason}
        | {"snapshots": [before, after]}
        for reason, pairs in (("no crawls", months[:3]), ("few pages", months))
        for before, after in pairwise(pairs)
    ]
    (text,) = list_undecided_checks(drift)
    assert text == (
        "Is it so? 2022-01 to 2022-02, 2022-02 to 2022-03: no crawls; "
        "2022-01 to 2022-02 and 4 more: few pages."
    )


@pytest.mark.parametrize(
    ("count", "names"), [(3, "2022-01, 2022-02, 2022-03"), (4, "2022-01 and 3 more")]
)
def test_three_snapshots_with_one_reason_are_named(count: int, names: str) -> None:
    drift = handwritten()
    drift["checks"] = [
        {"asks": "Is it so?", "verdict": "cannot tell", "evidence": "none", "sees": ""}
        | {"snapshots": [f"2022-0{n + 1}"]}
        for n in range(count)
    ]
    assert list_undecided_checks(drift) == [f"Is it so? {names}: none."]


def test_the_undecided_checks_of_a_release_are_one_line() -> None:
    drift = handwritten()
    drift["checks"] = [
        {"check": name, "verdict": verdict, "snapshots": list(pair)}
        for pair in (("2022-06", "2022-07"), ("2022-07", "2022-08"))
        for name, verdict in (
            ("logs_differ", "cannot tell"),
            ("listed_are_judged", "clear"),
            ("pages_stay", "cannot tell"),
        )
    ]
    (text,) = summarize_undecided_checks(drift)
    assert text == (
        "2 checks, mostly because releases lack the data that the checks need (--html and --format "
        "json give each reason): logs_differ, pages_stay"
    )
    drift["checks"] = drift["checks"][1:2]
    assert summarize_undecided_checks(drift) == []


def facts(drift: dict[str, Any]) -> list[str]:
    """Findings that are no warnings."""
    return [finding.text for finding in list_findings(drift) if not finding.is_warning]


def test_nothing_changed() -> None:
    drift = handwritten()
    drift["documents"]["ids"] = 0
    drift["vocabulary"]["all"] = [words("2022-06", "2022-07", None, 0.0)]
    drift["queries"]["topics"]["js_bits_impressions"] = [0.0, None]
    for pair in drift["pairs"]:
        pair["documents"] = documents(unchanged=5)
        pair["queries"] |= {"kept": 0, "gone": 0}
        pair["qrels"] |= {"pairs_common": 0, "relevant_before": []}
    assert facts(drift) == []
    drift["documents"]["ids"], drift["snapshots"] = 1, drift["snapshots"][:1]
    assert facts(drift) == []


def test_one_of_each_in_the_singular() -> None:
    drift = handwritten()
    drift["pairs"] = drift["pairs"][:1]
    pair = drift["pairs"][0]
    drift["documents"]["core"] = 1
    pair["documents"] = documents(updated=1, removed=1)
    pair["queries"] |= {"kept": 3, "gone": 1}
    found = facts(drift)
    assert found[0].endswith("; 1 page is in every snapshot.")
    assert found[1] == (
        "1 page of 2022-06 left the collection in 2022-07: 1 is no longer in the crawl."
    )
    assert found[2].startswith("Pages changed from 2022-06 to 2022-07: 100.0 % of the common")
    assert found[3].startswith("The vocabulary changed from ")
    assert found[5].startswith("The topic mix changed from 2022-06 to 2022-07: ")
    assert found[4].startswith("The listed queries changed from 2022-06 to 2022-07: ")
    assert found[4].endswith("75.0 % of 4 were kept, and 1 query was added.")
    assert found[6].endswith("highly relevant (kappa 0.56).")
    pair["documents"] |= {"removed_crawl_unknown": 1}
    assert facts(drift)[1] == (
        "1 page of 2022-06 is not in 2022-07; whether it was crawled is unknown."
    )
    pair["documents"] |= {"removed": 2}
    assert facts(drift)[1] == (
        "2 pages of 2022-06 are not in 2022-07; whether they were crawled is unknown."
    )


def test_relevant_pages_of_a_release_that_does_not_say_what_was_crawled() -> None:
    drift = handwritten()
    drift["pairs"] = drift["pairs"][:1]
    pair = drift["pairs"][0]
    pair["documents"] |= {"removed_crawl_unknown": 15}
    assert facts(drift)[-1] == (
        "Of 14 relevant judgements of 2022-06, 6 point to pages that are not in 2022-07 (whether "
        "they were crawled is unknown) and 5 to pages that were updated."
    )
    pair["qrels"]["relevant_before"] = [{"document": "removed", "relevant": 1}]
    assert facts(drift)[-1] == (
        "Of 1 relevant judgement of 2022-06, 1 points to pages that are not in 2022-07 (whether "
        "they were crawled is unknown) and 0 to pages that were updated."
    )
    assert summarize_pairs(drift)[0][5] == "unknown"


def test_listed_queries_that_are_the_same_everywhere() -> None:
    drift = handwritten()
    for pair in drift["pairs"]:
        pair["queries"] |= {"kept": 36, "gone": 0, "new": 0}
    assert "Listed queries are the same in all compared snapshots." in facts(drift)
    drift["pairs"][1]["queries"] |= {"new": 2}
    assert (
        "The listed queries changed most from 2022-07 to 2022-08: 100.0 % of 36 were kept, and 2 "
        "queries were added."
    ) in facts(drift)


def test_of_two_snapshots_pages_are_in_both() -> None:
    drift = handwritten()
    drift["snapshots"] = drift["snapshots"][:2]
    drift["documents"]["survival"] = drift["documents"]["survival"][:2]
    assert facts(drift)[0] == (
        "90.0 % of the 1,000 pages of 2022-06 are still in 2022-07; 20 pages are in both."
    )


def test_the_pair_that_changed_most_is_that_with_the_largest_share() -> None:
    """Not that with the largest number of pages that left or were updated."""
    drift = handwritten()
    drift["pairs"][0]["documents"] = documents(unchanged=900, updated=90, removed=70, left_out=30)
    drift["pairs"][1]["documents"] = documents(unchanged=10, updated=2, removed=1, not_sampled=2)
    drift["pairs"][1]["documents"]["bands"]["rewritten"] = 2
    found = facts(drift)
    assert found[1] == (
        "3 pages of 2022-07 left the collection in 2022-08: 1 is no longer in the crawl, 2 are "
        "crawled but not sampled."
    )
    assert found[2] == (
        "Pages changed most from 2022-07 to 2022-08: 16.7 % of the common pages were updated, and "
        "half of these kept at least 50.0 % of their word sequences; 2 pages were rewritten."
    )
    for pair, relevant in zip(drift["pairs"], ((50, 30), (5, 4)), strict=True):
        pair["qrels"]["relevant_before"] = [
            {"document": "unchanged", "relevant": relevant[0]},
            {"document": "not_shown", "relevant": relevant[1]},
        ]
    assert facts(drift)[-1] == (
        "Of 9 relevant judgements of 2022-07, 0 point to pages that were removed in 2022-08, 4 to "
        "pages that were crawled but not kept in 2022-08, and 0 to pages that were updated."
    )


def test_a_pair_all_of_whose_pages_left_lost_most() -> None:
    drift = handwritten()
    drift["pairs"][0]["documents"] = documents(removed=8)
    drift["pairs"][1]["documents"] = documents(unchanged=1, removed=99)
    assert facts(drift)[1].startswith("99 pages of 2022-07 left the collection")
    drift["pairs"][1]["documents"] = documents(unchanged=20, removed=99)
    assert facts(drift)[1].startswith("8 pages of 2022-06 left the collection")


def test_of_pairs_that_kept_as_many_queries_that_with_most_new_ones_is_named() -> None:
    drift = handwritten()
    for pair, counts in zip(drift["pairs"], ((5, 5, 3), (10, 10, 2)), strict=True):
        pair["queries"] |= dict(zip(("kept", "gone", "new"), counts, strict=True))
    assert (
        "The listed queries changed most from 2022-06 to 2022-07: 50.0 % of 10 were kept, and 3 "
        "queries were added."
    ) in facts(drift)
    drift["pairs"][1]["queries"] |= {"kept": 0, "gone": 0}
    drift["pairs"][0]["queries"] |= {"kept": 0, "gone": 4}
    assert "from 2022-06 to 2022-07: 0.0 % of 4 were kept" in " ".join(facts(drift))


def test_words_and_judgements_of_the_pair_that_changed_most() -> None:
    """A pair without words or whose words are not listed is left out."""
    drift = handwritten()
    drift["vocabulary"]["all"] = [
        words("2022-06", "2022-07", None, 0.5),
        words("2022-07", "2022-08", 0.125, 0.0001),
    ]
    (sentence,) = (text for text in facts(drift) if "vocabulary" in text)
    assert sentence.startswith(
        "The vocabulary changed most from 2022-07 to 2022-08 (Jensen-Shannon divergence 0.1250 "
        "bits): 0.01 % of the words in the later snapshot are new; “mot0”"
    )
    drift["pairs"][1]["qrels"] |= {"pairs_common": 1, "kept_share": 0.9, "kappa": 0.0}
    assert facts(drift)[6].startswith("Of 50 pairs judged in both 2022-06 and 2022-07, 80.0 % ")
    drift["pairs"][1]["qrels"]["kept_share"] = 0.7
    assert facts(drift)[6] == (
        "Of 1 pair judged in both 2022-07 and 2022-08, 70.0 % kept their grade and 3.0 % changed "
        "between not relevant and highly relevant (kappa 0.00)."
    )


def test_the_topic_that_changed_most_may_have_lost_interest() -> None:
    """Of topics that changed alike, the last in the alphabet is named."""
    drift = handwritten()
    topics = drift["queries"]["topics"]
    topics["mix"] = [
        {"topic": "eau", "queries": [1, 1, 1], "impressions": [10, 20, 20]},
        {"topic": "pain", "queries": [1, 1, 1], "impressions": [20, 10, 10]},
        {"topic": "loi", "queries": [1, 1, 1], "impressions": [10, 10, 10]},
    ]
    (sentence,) = (text for text in facts(drift) if "topic mix" in text)
    assert sentence.endswith("the share of “pain” went from 50.0 % to 25.0 % of impressions.")
    topics["js_bits_impressions"] = [0.2, 0.3]
    topics["mix"][0]["impressions"][2] = 60
    (sentence,) = (text for text in facts(drift) if "topic mix" in text)
    assert sentence == (
        "The topic mix changed most from 2022-07 to 2022-08: Jensen-Shannon divergence 0.3000 bits "
        "by impressions and 0.0200 by queries; the share of “eau” went from 50.0 % to 75.0 % of "
        "impressions."
    )


def test_pages_that_left_while_none_was_removed() -> None:
    drift = handwritten()
    for pair in drift["pairs"]:
        pair["documents"] = documents(unchanged=5, not_sampled=2)
    assert (
        "2 pages of 2022-06 left the collection in 2022-07: 0 are no longer in the crawl, "
        "2 are crawled but not sampled."
    ) in facts(drift)


def test_known_words_and_no_rising_ones() -> None:
    drift = handwritten()
    drift["vocabulary"]["all"] = [words("2022-06", "2022-07", 0.25, 0.0) | {"rising": []}]
    (sentence,) = (text for text in facts(drift) if "vocabulary" in text)
    assert sentence == (
        "The vocabulary changed most from 2022-06 to 2022-07 (Jensen-Shannon divergence 0.2500 "
        "bits): no word of the later snapshot is new."
    )


@pytest.mark.parametrize(("asked", "expected"), [(0, "2022-06 to 2022-07"), (1, "2022-07 to 2")])
def test_the_topics_of_the_pairs_that_are_asked_for(asked: int, expected: str) -> None:
    drift = handwritten()
    drift["pairs"] = [drift["pairs"][asked]]
    (sentence,) = (text for text in facts(drift) if "topic mix" in text)
    assert f"The topic mix changed from {expected}" in sentence


def test_a_topic_that_was_never_shown_before() -> None:
    drift = handwritten()
    topics = drift["queries"]["topics"]
    for row in topics["mix"]:
        row["impressions"][0] = 0
    (sentence,) = (text for text in facts(drift) if "topic mix" in text)
    assert sentence.endswith("“pain” went from 0.0 % to 60.0 % of impressions.")


def test_one_row_per_pair() -> None:
    first, second = summarize_pairs(handwritten())
    assert len(first) == len(second) == len(SUMMARY_COLUMNS)
    assert first == (
        "2022-06 to 2022-07", 80, 20, 8, 15, 5, 30, 1, 10, 50, "80.0 %", "0.0125", 1, 0,
    )  # fmt: skip
    assert second == (
        "2022-07 to 2022-08", 100, 5, 0, 3, 1, 10, 7, 10, 20, "75.0 %", "0.0250", 0, 1,
    )  # fmt: skip
    assert (
        count_dropped_documents({"not_sampled": 1, "not_shown": 2, "left_out": 4, "removed": 8})
        == 7
    )
