"""Checks that judgements belong to their queries."""

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
    counts = {"most_from": 9, "most_to": 60, "shown": False}
    assert (outcome.is_construction, outcome.numbers) == (True, counts)
    assert (
        attachment.check_judgements_per_query(asking([], [], (one, one))).is_construction is False
    )
    assert (
        attachment.check_judgements_per_query(asking([], [], (one[:5], one[:40]))).is_construction
        is False
    )
    assert attachment.check_judgements_per_query(asking([], [], ([], one))).is_construction is None


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
    assert (
        attachment.check_recurring_pairs(asking([], [], (before, before))).is_construction is False
    )
    outcome = attachment.check_recurring_pairs(asking([], [], (before, shifted)))
    assert outcome.is_construction is None
    assert "0.0 % are judged in both" in outcome.evidence


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
