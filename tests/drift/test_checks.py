"""Each check on a handful of rows: found, clear, and unable to tell."""

from typing import Any

import duckdb
import pytest

from builder.drift.checks import attachment, grading, lists, pages, scoring, thresholds
from builder.drift.checks.outcome import Outcome
from builder.drift.checks.parameters import parameters_agree
from builder.drift.checks.scoring import Prior, recover_prior
from builder.drift.checks.selection import chance
from builder.drift.checks.thresholds import log10_chance
from schemas import DocumentChanges, Documents, Qrels, Queries
from tests.drift.worlds import compare, frame, page, qrel, query

Rows = list[dict[str, Any]]


def asking(before: Rows, after: Rows, qrels: tuple[Rows, Rows] = ([], [])) -> Any:
    return compare(
        (frame(before, Queries), frame(qrels[0], Qrels)),
        (frame(after, Queries), frame(qrels[1], Qrels)),
    )


def queries(*numbers: int) -> Rows:
    return [query(f"requête {n}", "t") for n in numbers]


def judged(*numbers: int) -> Rows:
    return [qrel(f"requête {n}", "a", 1) for n in numbers]


def holding(before: Rows, after: Rows, changes: Rows | None = None) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.register("documents_from", frame(before, Documents).to_arrow())
    connection.register("documents_to", frame(after, Documents).to_arrow())
    connection.register("document_changes", frame(changes or [], DocumentChanges).to_arrow())
    return connection


def crawl(count: int, **values: Any) -> Rows:
    return [page(f"https://site.fr/{n}", f"Page {n}", f"texte {n}", **values) for n in range(count)]


def test_listed_and_judged_queries_disagree() -> None:
    every = range(100)
    found = lists.overlaps_agree(
        asking(queries(*every), queries(*range(80, 180)), (judged(*every), judged(*every)))
    )
    assert found.found is True
    assert found.numbers["listed_jaccard"] == 20 / 180
    assert found.numbers["judged_jaccard"] == 1.0
    assert "query file changed" in found.evidence
    same = asking(queries(*every), queries(*every), (judged(*every), judged(*every)))
    assert lists.overlaps_agree(same).found is False
    few = asking(queries(1), queries(1), (judged(1), judged(1)))
    assert lists.overlaps_agree(few).found is None


@pytest.mark.parametrize(("listed", "missing"), [(range(100), False), (range(97), True)])
def test_judged_queries_are_listed(listed: range, missing: bool) -> None:
    connection = asking(queries(*listed), [], (judged(*range(100)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.judged_are_listed(connection)
    assert outcome.found is missing
    assert f"{100 - len(listed)} of 100 judged queries are not listed" in outcome.evidence


def test_listed_queries_are_judged() -> None:
    connection = asking(queries(*range(100)), [], (judged(*range(70)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.listed_are_judged(connection)
    assert (outcome.found, outcome.evidence) == (
        True,
        "30 of 100 listed queries have no judgement (30.0 %)",
    )


def test_chance_of_a_least_value() -> None:
    before = [(5, 60, 30), (10, 40, 0)]
    assert log10_chance(before, [(5, 9, 0)], (1, 1)) == 0.0
    assert log10_chance(before, [(10, 100, 0)], (1, 1)) == pytest.approx(100 * -0.15490196)
    assert log10_chance(before, [(10, 100, 0)], (1, 2)) == 0.0  # grown to 10: nothing is below
    assert log10_chance([(5, 9, 9)], [(6, 1, 1)], (1, 1)) == float("-inf")


def test_a_least_value_that_growth_lifts() -> None:
    before = [query(f"requête {n}", "t", impressions=5 + n) for n in range(100)]
    doubled = [query(f"requête {n}", "t", impressions=10 + 2 * n) for n in range(100)]
    assert thresholds.floors_stand(asking(before, doubled)).found is False
    cut = [row for row in before if row["impressions"] >= 30]
    outcome = thresholds.floors_stand(asking(before, cut))
    assert outcome.found is True
    assert "the least impressions of a query went from 5 to 30" in outcome.evidence
    assert thresholds.floors_stand(asking(cut, before)).found is True
    assert thresholds.floors_stand(asking([], [])).found is None


def test_a_longest_query() -> None:
    long = [query(" ".join(["mot"] * (1 + n % 8)) + f" x{n}", "t") for n in range(120)]
    short = [row for row in long if len(row["text"].split()) <= 5]
    assert thresholds.longest_query_stands(asking(long, short)).found is True
    assert thresholds.longest_query_stands(asking(long, long[:60])).found is False
    assert thresholds.longest_query_stands(asking([], short)).found is None


def graded(cut: float) -> Rows:
    return [qrel("eau", f"p{n}", int(n / 100 >= cut), score=n / 100) for n in range(100)]


def test_cuts_of_scores() -> None:
    moved = grading.cuts_stand(asking([], [], (graded(0.3), graded(0.5))))
    assert moved.found is True
    assert "grade 1 began between 0.290 and 0.300, now between 0.490 and 0.500" in moved.evidence
    assert grading.cuts_stand(asking([], [], (graded(0.3), graded(0.3)))).found is False
    unscored = [row | {"score": None} for row in graded(0.3)]
    assert grading.cuts_stand(asking([], [], (unscored, graded(0.3)))).found is None
    blurred = [row | {"grade": n % 2} for n, row in enumerate(graded(0.3))]
    assert grading.cuts_stand(asking([], [], (blurred, graded(0.9)))).found is None


def test_rule_of_examination() -> None:
    every = [qrel("eau", f"p{n}", 0, impressions=10, examinations=9, clicks=2) for n in range(120)]
    skip = [row | {"examinations": 4} for row in every]
    outcome = grading.examination_stands(asking([], [], (every, skip)))
    assert outcome.found is True
    assert "90.0 % of impressions counted as examined before and 40.0 % after" in outcome.evidence
    busy = [row | {"clicks": 1} for row in skip]
    assert grading.examination_stands(asking([], [], (every, busy))).found is False
    assert grading.examination_stands(asking([], [], (every[:9], skip))).found is None


def test_grades_follow_clicks() -> None:
    before = [qrel("eau", f"p{n}", n % 2, clicks=3) for n in range(200)]
    after = [row | {"grade": 1} for row in before]
    same_clicks = grading.grade_shares_follow_clicks(asking([], [], (before, after)))
    assert same_clicks.found is True
    more = [row | {"clicks": 6} for row in after]
    assert grading.grade_shares_follow_clicks(asking([], [], (before, more))).found is False
    unclicked, later = ([row | {"clicks": 0} for row in rows] for rows in (before, after))
    outcome = grading.grade_shares_follow_clicks(asking([], [], (unclicked, later)))
    assert outcome.found is None
    assert "no clicks" in outcome.evidence


def cells(alpha: float, beta: float, most: int = 24) -> list[tuple[int, int, float, int]]:
    return [
        (c, e, (c + alpha) / (e + alpha + beta), 1 + c)
        for e in range(1, most + 1)
        for c in range(e + 1)
    ]


def test_priors_are_read_back() -> None:
    prior = recover_prior(cells(1.2, 3.4))
    assert prior is not None
    assert (prior.alpha, prior.beta) == pytest.approx((1.2, 3.4), abs=1e-6)
    assert prior.mean == pytest.approx(1.2 / 4.6)
    assert recover_prior([(1, 2, 0.5, 1), (1, 3, 0.9, 1), (2, 3, 0.1, 1)]) is None
    assert recover_prior([]) is None


def scored(alpha: float, beta: float, most: int = 24, **values: Any) -> Rows:
    return [
        qrel("eau", f"p{c}-{e}", 0, clicks=c, examinations=e, attractiveness=a, **values)
        for c, e, a, _ in cells(alpha, beta, most)
    ]


def test_priors_follow_clicks_or_stay() -> None:
    assert scoring.priors_stand(asking([], [], (scored(1, 1), scored(1, 1)))).found is False
    assert scoring.priors_stand(asking([], [], (scored(1, 1), scored(1.1, 1)))).found is False
    assert scoring.priors_stand(asking([], [], (scored(1, 1), scored(4, 4)))).found is True
    assert scoring.priors_stand(asking([], [], (scored(1, 1), []))).found is None
    assert Prior(1, 3, 0.2, 9).strength == 4


def test_pairs_with_the_same_counts_pass_a_cut_together() -> None:
    """200 pairs with one click in six score .148 under one prior, and .156 under another."""

    def pairs(alpha: float, beta: float) -> Rows:
        counts = [(1, 6)] * 200 + [(0, 6), (3, 6), (0, 9), (5, 9)]
        scores = [(c, e, (c + alpha) / (e + alpha + beta)) for c, e in counts]
        return [
            qrel(
                "eau", f"p{n}", int(a >= 0.15), clicks=c, examinations=e, attractiveness=a, score=a
            )
            for n, (c, e, a) in enumerate(scores)
        ]

    before, after = pairs(0.40, 3.06), pairs(0.48, 3.01)
    outcome = grading.grade_shares_follow_clicks(asking([], [], (before, after)))
    assert outcome.found is False
    assert "scores are made and cut by the same rules" in outcome.evidence
    unscored = [row | {"score": None} for row in before]
    outcome = grading.grade_shares_follow_clicks(asking([], [], (unscored, after)))
    assert outcome.found is True


def test_few_pairs_cannot_tell_how_strong_a_prior_is() -> None:
    before, after = scored(1, 1, most=2), scored(4, 4, most=2)
    assert scoring.priors_stand(asking([], [], (before, after))).found is False
    after = scored(8, 1, most=2)
    assert scoring.priors_stand(asking([], [], (before, after))).found is True


def test_which_score_is_graded() -> None:
    attractive = [
        row | {"score": row["attractiveness"], "satisfaction": 0.5} for row in scored(1, 1)
    ]
    relevant = [row | {"score": row["attractiveness"] * 0.5} for row in attractive]
    outcome = scoring.score_is_the_same(asking([], [], (attractive, relevant)))
    assert outcome.found is True
    assert outcome.numbers["to"] == "attractiveness x satisfaction"
    assert scoring.score_is_the_same(asking([], [], (relevant, relevant))).found is False
    assert scoring.score_is_the_same(asking([], [], ([], relevant))).found is None


def test_a_query_that_gathers_judgements() -> None:
    one = [qrel("eau", f"p{n}", 0) for n in range(60)]
    outcome = attachment.none_gathers_judgements(asking([], [], (one[:9], one)))
    assert (outcome.found, outcome.numbers) == (True, {"most_from": 9, "most_to": 60})
    assert attachment.none_gathers_judgements(asking([], [], (one, one))).found is False
    assert attachment.none_gathers_judgements(asking([], [], (one[:5], one[:40]))).found is False
    assert attachment.none_gathers_judgements(asking([], [], ([], one))).found is None


def test_pairs_that_do_not_recur_decide_nothing() -> None:
    before = [qrel(f"q{n}", f"p{n}", 1) for n in range(200)]
    shifted = [qrel(f"q{n}", f"p{(n + 1) % 200}", 1) for n in range(200)]
    assert attachment.pairs_recur(asking([], [], (before, before))).found is False
    outcome = attachment.pairs_recur(asking([], [], (before, shifted)))
    assert outcome.found is None
    assert "0.0 % are judged in both" in outcome.evidence


def test_pages_that_do_not_mention_the_query() -> None:
    asked = [query(f"fontaine{n} publique", "t") for n in range(250)]
    right = [qrel(f"fontaine{n} publique", f"https://site.fr/{n}", 1) for n in range(250)]
    wrong = [qrel(f"fontaine{n} publique", f"https://site.fr/{249 - n}", 1) for n in range(250)]
    texts = [page(f"https://site.fr/{n}", "Titre", f"la Fontaine{n}") for n in range(250)]
    outcomes = []
    for after in (wrong, right, right[:9]):
        connection = asking(asked, asked, (right, after))
        for side in ("from", "to"):
            connection.register(f"documents_{side}", frame(texts, Documents).to_arrow())
        outcomes.append(attachment.pages_mention_queries(connection))
    assert [outcome.found for outcome in outcomes] == [True, False, None]
    assert outcomes[0].numbers["from"] == {"pairs": 250, "mentions": 250}
    assert outcomes[0].numbers["to"]["mentions"] < 125


def test_languages() -> None:
    french, mixed = crawl(200), [*crawl(180), *crawl(200, language="en")[180:]]
    new = [row | {"text_hash": "0" * 32} for row in mixed]
    assert pages.languages_stand(holding(french, french)).found is False
    filtered = pages.languages_stand(holding(french, new))
    assert filtered.found is True
    assert "0.0 % of documents are not in the main language 'fr' before and 10.0 % after" in (
        filtered.evidence
    )
    relabelled = pages.languages_stand(holding(french, mixed))
    assert "20 of 200 unchanged texts got another language" in relabelled.evidence
    assert pages.languages_stand(holding(crawl(9), crawl(9))).found is None


def test_repeated_texts() -> None:
    repeated = crawl(150) + [
        page(f"https://miroir.fr/{n}", "Titre", "page en travaux") for n in range(30)
    ]
    outcome = pages.repeated_texts_stand(holding(crawl(150), repeated))
    assert outcome.found is True
    assert "the most repeated text stands 1 and 30 times" in outcome.evidence
    assert pages.repeated_texts_stand(holding(repeated, repeated)).found is False
    assert pages.repeated_texts_stand(holding(crawl(5), repeated)).found is None


def change(number: int, **values: Any) -> dict[str, Any]:
    row = page(f"https://site.fr/{number}", "", "x")
    return {"doc_id": row["doc_id"], "status": "updated", "band": "cosmetic"} | values


def test_one_edit_on_many_pages() -> None:
    footer = [change(n, tokens_from=50 + n, tokens_to=57 + n) for n in range(60)]
    others = [change(100 + n, status="unchanged", band=None) for n in range(60)]
    outcome = pages.edits_differ(holding([], [], footer + others))
    assert outcome.found is True
    assert "60 of 120 common pages changed by exactly +7 words" in outcome.evidence
    varied = [change(n, tokens_from=50, tokens_to=51 + n) for n in range(60)]
    assert pages.edits_differ(holding([], [], varied + others)).found is False
    assert pages.edits_differ(holding([], [], others + others)).found is False
    assert pages.edits_differ(holding([], [], footer[:5])).found is None


def test_the_keyed_sample() -> None:
    moved = [row | {"sampled": n % 2 == 0} for n, row in enumerate(crawl(10))]
    outcome = pages.sample_stands(holding(crawl(10), moved))
    assert (outcome.found, outcome.numbers) == (True, {"common": 10, "changed": 5})
    assert pages.sample_stands(holding(moved, moved)).found is False
    assert pages.sample_stands(holding([], moved)).found is None


def test_addresses_of_another_form() -> None:
    gone = [change(n, status="removed", matched_by="loose") for n in range(60)]
    stay = [change(100 + n, status="unchanged") for n in range(40)]
    outcome = pages.addresses_stand(holding([], [], gone + stay))
    assert outcome.found is True
    assert "of 60 removed pages 60 stand at an address that differs by scheme" in outcome.evidence
    lost = [row | {"matched_by": None} for row in gone]
    assert pages.addresses_stand(holding([], [], lost + stay)).found is False
    assert pages.addresses_stand(holding([], [], stay)).found is None


def test_recorded_parameters() -> None:
    old = {"select.min_users": 5, "qrels.cuts": [0.15, 0.4]}
    assert parameters_agree(old, dict(old)).found is False
    outcome = parameters_agree(old, old | {"select.min_users": 3})
    assert outcome == Outcome(
        True,
        "recorded parameters differ: select.min_users 5 -> 3",
        {"changed": {"select.min_users": {"from": 5, "to": 3}}},
    )
    assert parameters_agree(None, old).found is None


def test_chance_of_a_taken_topic() -> None:
    assert chance(3, 3, 0.5) == pytest.approx(0.125)
    assert chance(4, 3, 0.5) == pytest.approx(5 / 16)
    assert chance(5000, 5000, 0.01) == 0.0
    assert chance(5000, 0, 0.01) == pytest.approx(1.0)
