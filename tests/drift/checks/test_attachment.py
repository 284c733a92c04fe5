"""Checks that judgements belong to their queries."""

import pytest

from builder.drift.checks import (
    attachment,
)
from builder.drift.checks.outcome import Outcome
from schemas import (
    Documents,
    Qrels,
)
from tests.drift.checks.rows import asking
from tests.drift.worlds import frame, page, qrel, query


def test_a_query_that_gathers_judgements() -> None:
    one = [qrel("eau", f"p{n}", 0, impressions=0) for n in range(60)]
    outcome = attachment.check_judgements_per_query(asking([], [], (one[:9], one)))
    assert outcome == Outcome(
        True,
        "the maximum number of judgements per query is 9 before and 60 after: judgements of "
        "several queries are probably attached to one",
        {"most_from": 9, "most_to": 60, "shown": False},
    )
    assert attachment.check_judgements_per_query(asking([], [], (one, one))) == Outcome(
        False,
        "the maximum number of judgements per query is 60 before and 60 after",
        {"most_from": 60, "most_to": 60, "shown": False},
        "a query with at least 50 judgements, and at least 5 times as many as any query in the "
        "other snapshot",
    )
    for pair in (([], one), (one, [])):
        assert attachment.check_judgements_per_query(asking([], [], pair)) == Outcome(
            None, "a snapshot has no judgements"
        )


@pytest.mark.parametrize(
    ("most", "other", "found"), [(49, 1, False), (50, 10, True), (54, 11, False), (55, 11, True)]
)
def test_fifty_judgements_and_five_times_as_many_are_suspicious(
    most: int, other: int, *, found: bool
) -> None:
    """Other queries have fewer judgements; one judgement that was not shown is enough."""
    one = [qrel("eau", f"p{n}", 0, impressions=min(n, 1)) for n in range(most)]
    few = [qrel(f"q {n}", "p0", 0) for n in range(60)]
    for pair in (([*one, *few], [*one[:other], *few]), ([*one[:other], *few], [*one, *few])):
        outcome = attachment.check_judgements_per_query(asking([], [], pair))
        assert outcome.is_construction is found


def test_a_trending_query_whose_results_rotate() -> None:
    """A build judges only what was shown: 60 pages shown for one query were called an error."""
    shown = [qrel("eau", f"p{n}", 0) for n in range(60)]
    outcome = attachment.check_judgements_per_query(asking([], [], (shown[:9], shown)))
    assert outcome == Outcome(
        None,
        "the maximum number of judgements per query is 9 before and 60 after; every judged "
        "page was shown for its query",
        {"most_from": 9, "most_to": 60, "shown": True},
    )


def test_pairs_that_do_not_recur_decide_nothing() -> None:
    before = [qrel(f"q{n}", f"p{n}", 1) for n in range(200)]
    shifted = [qrel(f"q{n}", f"p{(n + 1) % 200}", 1) for n in range(200)]
    says = (
        "of 200 pairs whose query and document occur in both snapshots, 100.0 % are judged in both"
    )
    assert attachment.check_recurring_pairs(asking([], [], (before, before))) == Outcome(
        False, says, {"pairs_from": 200, "pairs_to": 200, "pairs_common": 200}
    )
    outcome = attachment.check_recurring_pairs(asking([], [], (before, shifted)))
    assert outcome == Outcome(
        None,
        "of 400 pairs whose query and document occur in both snapshots, 0.0 % are judged in both: "
        "either the ranking changed or the pairs are wrong",
        {"pairs_from": 200, "pairs_to": 200, "pairs_common": 0},
    )
    few = Outcome(None, "fewer than 200 judged pairs have a query and a document in both snapshots")
    for pair in ((before[:199], before), ([], before), ([], [])):
        assert attachment.check_recurring_pairs(asking([], [], pair)) == few


@pytest.mark.parametrize(("common", "found"), [(70, False), (69, None)])
def test_a_third_of_the_pairs_must_recur(common: int, found: bool | None) -> None:
    """70 of 200 pairs are judged twice; those with a query or page of one snapshot do not count."""
    both = [qrel(f"q{n}", f"p{n}", 1) for n in range(common)]
    once = [(f"q{n}", f"p{(n + k) % common}") for k in (1, 2, 3) for n in range(common)]
    first = [qrel(*pair, 1) for pair in once[:65]]
    second = [qrel(*pair, 1) for pair in once[65 : 200 - common]]
    alone = [qrel("q0", "p", 1), qrel("q", "p0", 1)]
    for pair in (
        ([*both, *first, *alone], [*both, *second]),
        ([*both, *first], [*both, *second, *alone]),
    ):
        outcome = attachment.check_recurring_pairs(asking([], [], pair))
        assert outcome.is_construction is found
        counts = {"pairs_from": common + 65, "pairs_to": 135, "pairs_common": common}
        assert outcome.numbers == counts


def test_pages_that_do_not_mention_the_query() -> None:
    asked = [query(f"fontaine{n} publique", "t") for n in range(250)]
    right = [qrel(f"fontaine{n} publique", f"https://site.fr/{n}", 1) for n in range(250)]
    wrong = [qrel(f"fontaine{n} publique", f"https://site.fr/{249 - n}", 1) for n in range(250)]
    texts = [page(f"https://site.fr/{n}", "Titre", f"la Fontaine{n}") for n in range(250)]
    walled = [page(row["url"], "Titre", "Abonnez-vous") for row in texts]
    outcomes = []
    some = [*wrong[:75], *right[75:175], *wrong[175:]]
    for after in (wrong, right, right[:9], some[:150] + right[150:]):
        connection = asking(asked, asked, (right, after))
        for side in ("from", "to"):
            connection.register(f"documents_{side}", frame(texts, Documents).to_arrow())
        outcomes.append(attachment.check_pages_mention_queries(connection))
    assert [outcome.is_construction for outcome in outcomes] == [True, False, None, None]
    assert outcomes[0].evidence.startswith(
        "the rarest word of the query occurs in 100.0 % of judged pages before and in "
    )
    assert outcomes[0].evidence.endswith(
        " % after: judgements are probably attached to the wrong queries"
    )
    assert outcomes[1].detectable == "a difference of 10.0 points"
    assert outcomes[2] == Outcome(
        None, "fewer than 50 judged pages have the same text in both snapshots"
    )
    assert outcomes[3].evidence == (
        "the rarest word of the query occurs in 100.0 % of judged pages before and in 70.8 % after"
    )
    sees = (
        "conclusive only if pages mention their own query barely more often than an unrelated one"
    )
    assert outcomes[3].detectable == sees
    numbers = outcomes[0].numbers["from"]
    assert (numbers["pairs"], numbers["mentions"]) == (250, 250)
    assert numbers["mentions_of_other"] < 25
    assert outcomes[0].numbers["to"]["mentions"] < 125
    for other, found in ((walled[:150] + texts[150:], False), (walled, None)):
        connection.register("documents_to", frame(other, Documents).to_arrow())
        connection.register("qrels_to", frame(right, Qrels).to_arrow())
        assert attachment.check_pages_mention_queries(connection).is_construction is found


def test_a_better_ranking_does_not_attach_judgements_to_other_queries() -> None:
    """A third of the pages mentions the words of their query before, and all after."""
    asked = [query(f"fontaine{n}x", "t") for n in range(240)]
    right = [qrel(f"fontaine{n}x", f"https://site.fr/{n}", 1) for n in range(240)]
    wrong = [qrel(f"fontaine{n}x", f"https://site.fr/{239 - n}", 1) for n in range(240)]
    texts = [page(f"https://site.fr/{n}", "", f"la fontaine{n}x") for n in range(240)]
    for count, found in ((90, None), (70, True)):
        connection = asking(asked, asked, (right[:count] + wrong[count:], right))
        for side in ("from", "to"):
            connection.register(f"documents_{side}", frame(texts, Documents).to_arrow())
        assert attachment.check_pages_mention_queries(connection).is_construction is found


def test_a_share_of_mentions_that_drops_by_a_third_is_not_conclusive() -> None:
    asked = [query(f"fontaine{n} publique", "t") for n in range(250)]
    right = [qrel(f"fontaine{n} publique", f"https://site.fr/{n}", 1) for n in range(250)]
    wrong = [qrel(f"fontaine{n} publique", f"https://site.fr/{249 - n}", 1) for n in range(250)]
    texts = [page(f"https://site.fr/{n}", "Titre", f"la Fontaine{n}") for n in range(250)]
    most, some = right[:150] + wrong[150:], right[:100] + wrong[100:]
    connection = asking(asked, asked, (most, some))
    for side in ("from", "to"):
        connection.register(f"documents_{side}", frame(texts, Documents).to_arrow())
    outcome = attachment.check_pages_mention_queries(connection)
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "the rarest word of the query occurs in 60.0 % of judged pages before and in 40.0 % after"
    )
    assert outcome.detectable == (
        "conclusive only if pages mention their own query barely more often than an unrelated one"
    )


@pytest.mark.parametrize(("pages", "found"), [(49, None), (50, False)])
def test_fifty_judged_pages_are_read_of_which_the_words_stayed(
    pages: int, found: bool | None
) -> None:
    """Queries share a word; of the rarest, the first in the alphabet counts, with three letters.

    Pages that were edited, and judgements of queries without a text, do not count.
    """
    asked = [query(f"de la fontaine{n:03} zoo{n:03} publique", "t") for n in range(60)]
    judged = [qrel(row["text"], f"https://site.fr/{n}", 0) for n, row in enumerate(asked)]
    judged += [qrel("inconnu", f"https://site.fr/{n}", 0) for n in range(60)]
    before = [
        page(
            f"https://site.fr/{n}", f"Fontaine{n:03}" if n < 20 else "Place", f"zoo{n:03} publique"
        )
        for n in range(60)
    ]
    after = [
        row if n < pages else page(row["url"], row["title"], "autre")
        for n, row in enumerate(before)
    ]
    connection = asking(asked, asked, (judged, judged))
    for side, rows in (("from", before), ("to", after)):
        connection.register(f"documents_{side}", frame(rows, Documents).to_arrow())
    outcome = attachment.check_pages_mention_queries(connection)
    assert outcome.is_construction is found
    counts = {"pairs": pages, "mentions": 20, "mentions_of_other": 0}
    assert outcome.numbers == ({"from": counts, "to": counts} if found is False else {})


def test_the_other_word_is_that_of_the_next_query() -> None:
    """Of 50 queries, the last is followed by the first; all pages mention the first one's word."""
    asked = sorted((query(f"mot{n:03}", "t") for n in range(50)), key=lambda row: row["query_id"])
    first, last = asked[0]["text"], asked[-1]["text"]
    judged = [qrel(row["text"], f"https://site.fr/{n}", 0) for n, row in enumerate(asked)]
    texts = [page(f"https://site.fr/{n}", first, row["text"]) for n, row in enumerate(asked)]
    connection = asking(asked, asked, (judged, judged))
    for side in ("from", "to"):
        connection.register(f"documents_{side}", frame(texts, Documents).to_arrow())
    outcome = attachment.check_pages_mention_queries(connection)
    assert last != first
    assert outcome.numbers["to"] == {"pairs": 50, "mentions": 50, "mentions_of_other": 1}
