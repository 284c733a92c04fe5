"""Each check on a handful of rows: found, clear, and unable to tell."""

from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pytest

from builder.clicks.priors import fit_beta
from builder.drift.checks import (
    attachment,
    crawling,
    grading,
    lists,
    pages,
    scoring,
    texts,
    thresholds,
    url_forms,
)
from builder.drift.checks.neighbors import check_missing_pages
from builder.drift.checks.outcome import Outcome, ShareComparison, compare_shares
from builder.drift.checks.parameters import check_parameters, store_recorded_parameters
from builder.drift.checks.scoring import recover_prior_from_scores
from builder.drift.checks.thresholds import PoissonCountModel, log10_p_value_of_higher_minimum
from builder.text.keys import doc_id, key64
from schemas import (
    Coverage,
    Documents,
    DocumentsMap,
    HostCoverage,
    Qrels,
    Queries,
    TableSchema,
)
from tests.drift.worlds import Rows, compare, frame, holding, page, qrel, query


def asking(before: Rows, after: Rows, qrels: tuple[Rows, Rows] = ([], [])) -> Any:
    return compare(
        (frame(before, Queries), frame(qrels[0], Qrels)),
        (frame(after, Queries), frame(qrels[1], Qrels)),
    )


def queries(*numbers: int) -> Rows:
    return [query(f"requête {n}", "t") for n in numbers]


def judged(*numbers: int) -> Rows:
    return [qrel(f"requête {n}", "a", 1) for n in numbers]


def crawl(count: int, **values: Any) -> Rows:
    """Pages of ten hosts."""
    return [
        page(f"https://site{n % 10}.fr/{n}", f"Page {n}", f"texte {n}", **values)
        for n in range(count)
    ]


def test_listed_and_judged_queries_disagree() -> None:
    every = range(100)
    found = lists.check_query_overlaps(
        asking(queries(*every), queries(*range(80, 180)), (judged(*every), judged(*every)))
    )
    assert found.is_construction is True
    assert found.numbers["listed_jaccard"] == 20 / 180
    assert found.numbers["judged_jaccard"] == 1.0
    assert "query file was built differently" in found.evidence
    same = asking(queries(*every), queries(*every), (judged(*every), judged(*every)))
    assert lists.check_query_overlaps(same).is_construction is False
    few = asking(queries(1), queries(1), (judged(1), judged(1)))
    assert lists.check_query_overlaps(few).is_construction is None


@pytest.mark.parametrize(("listed", "missing"), [(range(100), False), (range(97), True)])
def test_judged_queries_are_listed(listed: range, missing: bool) -> None:
    connection = asking(queries(*listed), [], (judged(*range(100)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_judged_queries_are_listed(connection)
    assert outcome.is_construction is missing
    assert (
        f"{100 - len(listed)} of 100 judged queries are missing from the query file"
        in outcome.evidence
    )


def test_listed_queries_are_judged() -> None:
    connection = asking(queries(*range(100)), [], (judged(*range(70)), []))
    connection.execute("CREATE VIEW queries AS FROM queries_from")
    connection.execute("CREATE VIEW qrels AS FROM qrels_from")
    outcome = lists.check_listed_queries_are_judged(connection)
    assert (outcome.is_construction, outcome.evidence) == (
        True,
        "30 of 100 listed queries have no judgement (30.0 %)",
    )


def test_chance_of_a_greatest_value() -> None:
    before = [(5, 60, 30), (10, 40, 0)]
    assert log10_p_value_of_higher_minimum(before, [(5, 9, 0)]) == 0.0
    assert log10_p_value_of_higher_minimum(before, [(10, 100, 0)]) == pytest.approx(
        100 * -0.15490196
    )
    assert log10_p_value_of_higher_minimum([(5, 9, 9)], [(6, 1, 1)]) == float("-inf")


def test_rows_that_should_lie_below_a_raised_threshold() -> None:
    """Under Poisson(5), P(5 <= X < 20) is .5595, P(X in {5, 6}) .3217 and P(X = 5) .1755."""
    floor = PoissonCountModel([(5, 100, 0), (40, 100, 0)], (1, 1))
    assert floor.expected_rows_below(20) == pytest.approx(55.97, abs=0.01)
    half_gone = PoissonCountModel([(5, 100, 0), (40, 100, 50)], (1, 1))
    assert half_gone.expected_rows_below(20) == pytest.approx(55.97 / 2, abs=0.01)
    assert floor.find_smallest_detectable_minimum() == 6
    assert (
        PoissonCountModel([(5, 60, 0), (40, 100, 0)], (1, 1)).find_smallest_detectable_minimum()
        == 7
    )
    assert (
        PoissonCountModel([(5, 10, 0), (40, 9, 0)], (1, 1)).find_smallest_detectable_minimum()
        is None
    )


def test_rows_that_could_not_have_stayed_do_not_count() -> None:
    """Traffic falls to a third: nearly all missing rows are expected below the threshold."""
    before = [query(f"requête {n}", "t", impressions=6, users=6) for n in range(60)]
    before += [query(f"autre {n}", "t", impressions=90, users=90) for n in range(50)]
    after = [
        row | {"impressions": 20 + n % 20, "users": 20 + n % 20}
        for n, row in enumerate(before[60:])
    ]
    outcome = thresholds.check_minimum_counts(asking(before, after))
    assert outcome.is_construction is None
    assert (
        "impressions of a query (a minimum of 24 instead of 6 is detectable" in outcome.detectable
    )


@pytest.mark.parametrize(("low", "expected"), [(20, True), (18, None), (6, None), (5, False)])
def test_a_least_value_that_may_have_risen_by_chance(low: int, expected: bool | None) -> None:
    """Queries with 5 to 9 impressions are gone, and of the others none has fewer than 12.

    By the model 13.83, 11.98, 3.14 and 2.57 were expected below 12; chance leaves none of 13.82
    once in 10^6 and none of 3.00 once in 20.
    """
    few = [query(f"q {n}", "t", impressions=5 + n % 5, users=0) for n in range(low)]
    many = [query(f"x {n}", "t", impressions=40 + 40 * (n % 2), users=0) for n in range(400)]
    most = [query(f"y {n}", "t", impressions=12, users=0) for n in range(60)]
    outcome = thresholds.check_minimum_counts(asking([*few, *most, *many], [*most, *many]))
    assert outcome.is_construction is expected
    doubt = (
        "impressions of a query (the change from 5 to 12 may be due to chance; a minimum of 20 "
        "instead of 5 is detectable with about "
    )
    assert (doubt in outcome.detectable) is (expected is None)


def test_a_least_value_that_growth_lifts() -> None:
    before = [query(f"requête {n}", "t", impressions=5 + n % 100) for n in range(300)]
    doubled = [row | {"impressions": 2 * row["impressions"]} for row in before]
    assert thresholds.check_minimum_counts(asking(before, doubled)).is_construction is not True
    cut = [row for row in before if row["impressions"] >= 30]
    outcome = thresholds.check_minimum_counts(asking(before, cut))
    assert outcome.is_construction is True
    assert "the minimum number of impressions of a query changed from 5 to 30" in outcome.evidence
    assert thresholds.check_minimum_counts(asking(cut, before)).is_construction is True
    assert thresholds.check_minimum_counts(asking([], [])).is_construction is None


def test_a_longest_query() -> None:
    long = [query(" ".join(["mot"] * (1 + n % 8)) + f" x{n}", "t") for n in range(120)]
    short = [row for row in long if len(row["text"].split()) <= 5]
    assert thresholds.check_longest_query(asking(long, short)).is_construction is True
    assert thresholds.check_longest_query(asking(short, long)) == Outcome(
        None,
        "the longest query has 5 words before and 9 after: either a limit changed or users write "
        "more words",
        {"longest_from": 5, "longest_to": 9},
    )
    assert thresholds.check_longest_query(asking(long, long[:60])).is_construction is False
    assert thresholds.check_longest_query(asking([], short)).is_construction is None


def graded(cut: float) -> Rows:
    return [qrel("eau", f"p{n}", int(n / 100 >= cut), score=n / 100) for n in range(100)]


def test_cuts_of_scores() -> None:
    moved = grading.check_grade_thresholds(asking([], [], (graded(0.3), graded(0.5))))
    assert moved.is_construction is True
    assert (
        "the threshold of grade 1 was between 0.290 and 0.300 and is now between 0.490 and 0.500"
    ) in moved.evidence
    assert (
        grading.check_grade_thresholds(asking([], [], (graded(0.3), graded(0.3)))).is_construction
        is False
    )
    unscored = [row | {"score": None} for row in graded(0.3)]
    assert (
        grading.check_grade_thresholds(asking([], [], (unscored, graded(0.3)))).is_construction
        is None
    )
    blurred = [row | {"grade": n % 2} for n, row in enumerate(graded(0.3))]
    assert (
        grading.check_grade_thresholds(asking([], [], (blurred, graded(0.9)))).is_construction
        is None
    )


def test_rule_of_examination() -> None:
    every = [qrel(f"q{n // 4}", f"p{n}", 0, examinations=10 - n % 4) for n in range(120)]
    skip = [row | {"examinations": row["examinations"] - 4} for row in every]
    outcome = grading.check_examination_rule(asking([], [], (every, skip)))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "the most examined document of a query was counted as examined in 100.0 % of the query's "
        "impressions before and in 60.0 % after (medians over queries): either examinations are "
        "counted differently or first results are not judged"
    )
    assert grading.check_examination_rule(asking([], [], (every, every))).is_construction is False
    assert grading.check_examination_rule(asking([], [], (skip, skip))).is_construction is None
    assert grading.check_examination_rule(asking([], [], (every[:9], skip))).is_construction is None


def test_deeper_clicks_are_no_other_rule_of_examination() -> None:
    """As many clicks at deeper ranks: all documents but the first are examined more often."""
    before = [qrel(f"q{n // 4}", f"p{n}", 0, examinations=10 - 2 * (n % 4)) for n in range(120)]
    after = [row | {"examinations": max(row["examinations"], 9)} for row in before]
    assert grading.check_examination_rule(asking([], [], (before, after))).is_construction is False


def test_grades_follow_clicks() -> None:
    before = [qrel("eau", f"p{n}", n % 2, clicks=3) for n in range(200)]
    after = [row | {"grade": 1} for row in before]
    same_clicks = grading.check_grade_shares(asking([], [], (before, after)))
    assert same_clicks.is_construction is True
    more = [row | {"clicks": 6} for row in after]
    assert grading.check_grade_shares(asking([], [], (before, more))).is_construction is None


def test_grades_that_do_not_recur_decide_nothing() -> None:
    """Of 120 pairs with grades 0, 1, 2, 0, ... a third has each grade, whatever moves."""
    before = [qrel("eau", f"p{n}", n % 3) for n in range(120)]
    same = grading.check_recurring_grades(asking([], [], (before, before)))
    assert same == Outcome(
        False,
        "the grades of 120 common pairs agree with a quadratic kappa of 1.00",
        {"pairs_common": 120, "kappa_quadratic": 1.0},
        "grades that agree no better than by chance",
    )
    moved = [row | {"grade": n // 3 % 3} for n, row in enumerate(before)]
    assert grading.check_recurring_grades(asking([], [], (before, moved))) == Outcome(
        None,
        "the grades of 120 common pairs agree with a quadratic kappa of 0.00: either users or "
        "rankings changed, or clicks are attached to other results",
        {"pairs_common": 120, "kappa_quadratic": 0.0},
    )
    few = grading.check_recurring_grades(asking([], [], (before[:99], moved)))
    assert few == Outcome(None, "fewer than 100 pairs are judged in both snapshots")
    ones = [row | {"grade": 1} for row in before]
    equal = grading.check_recurring_grades(asking([], [], (ones, ones)))
    assert equal == Outcome(None, "all pairs judged in both snapshots have the same grade")


def test_noise_in_clicks_is_no_change_of_grading() -> None:
    """As many clicks, spread otherwise: equal counts still get equal grades."""
    before = [qrel("eau", f"p{n}", 2 * (n % 2), clicks=6 * (n % 2)) for n in range(200)]
    before += [qrel("eau", f"r{n}", 1, clicks=3) for n in range(20)]
    after = [row | {"clicks": 3, "grade": 1} for row in before]
    outcome = grading.check_grade_shares(asking([], [], (before, after)))
    assert outcome.is_construction is False
    assert "0.0 % of 220 later judgements have another grade" in outcome.evidence


def cells(alpha: float, beta: float, most: int = 24) -> list[tuple[int, int, float, int]]:
    return [
        (c, e, (c + alpha) / (e + alpha + beta), 1 + c)
        for e in range(1, most + 1)
        for c in range(e + 1)
    ]


def test_priors_are_read_back() -> None:
    prior = recover_prior_from_scores(cells(1.2, 3.4))
    assert prior is not None
    assert (prior.alpha, prior.beta) == pytest.approx((1.2, 3.4), abs=1e-6)
    assert recover_prior_from_scores([(1, 2, 0.5, 1), (1, 3, 0.9, 1), (2, 3, 0.1, 1)]) is None
    assert recover_prior_from_scores([]) is None


def scored(alpha: float, beta: float, most: int = 24, **values: Any) -> Rows:
    return [
        qrel("eau", f"p{c}-{e}", 0, clicks=c, examinations=e, attractiveness=a, **values)
        for c, e, a, _ in cells(alpha, beta, most)
    ]


FITTED = {"clicks.model": "sdbn", "clicks.prior": "empirical_bayes"}
UNIFORM = {
    "clicks.model": "sdbn",
    "clicks.prior": "beta",
    "clicks.prior_alpha": 1.0,
    "clicks.prior_beta": 1.0,
}


def estimating(before: Rows, after: Rows, recorded: dict[str, Any] | None) -> Any:
    """Priors of two snapshots whose estimates are these rows, under recorded parameters."""
    nothing = (frame([], Queries), frame([], Qrels))
    connection = compare(nothing, nothing, {"from": recorded, "to": recorded} if recorded else {})
    for side, rows in (("from", before), ("to", after)):
        connection.execute(f"DROP VIEW click_estimates_{side}")
        connection.register(f"click_estimates_{side}", frame(rows, Qrels).to_arrow())
    return scoring.check_priors(connection)


def fitted(rate: float) -> Rows:
    """Pairs that are clicked at a rate, scored under the prior fitted to them."""
    draw = np.random.default_rng(3)
    examinations = draw.integers(1, 20, 400)
    clicks = draw.binomial(examinations, rate * draw.beta(0.8, 2.5, 400))
    prior = fit_beta(clicks, examinations, np.ones(400, np.int64))
    return [
        qrel("eau", f"p{n}", 0, clicks=c, examinations=e, attractiveness=a)
        for n, (c, e) in enumerate(zip(clicks.tolist(), examinations.tolist(), strict=True))
        for a in [(c + prior.alpha) / (e + prior.alpha + prior.beta)]
    ]


def test_a_prior_that_is_fitted_follows_its_clicks() -> None:
    """Attractiveness x .3: the strength of the prior moves by itself, and no rule changed."""
    outcome = estimating(fitted(1.0), fitted(0.3), FITTED)
    assert outcome.is_construction is False
    assert "each fitted to the clicks of its own snapshot" in outcome.evidence
    strengths = [sum(outcome.numbers[side]["prior"].values()) for side in ("from", "to")]
    assert max(strengths) > 1.8 * min(strengths)
    assert estimating(fitted(1.0), scored(2, 2), FITTED).is_construction is True


def test_a_prior_that_the_recorded_parameters_do_not_imply() -> None:
    assert estimating(scored(1, 1), scored(1, 1), UNIFORM).is_construction is False
    outcome = estimating(scored(1, 1), scored(4, 4), UNIFORM)
    assert outcome.is_construction is True
    assert "the prior of the later scores is Beta(4, 4), but the recorded prior is Beta(1, 1)" in (
        outcome.evidence
    )


def test_scores_of_another_click_model() -> None:
    other = [row | {"attractiveness": 0.1 + 0.8 * n / 400} for n, row in enumerate(scored(1, 1))]
    outcome = estimating(scored(1, 1), other, UNIFORM)
    assert outcome.is_construction is True
    assert "the later scores do not follow the recorded click model sdbn" in outcome.evidence
    assert estimating(scored(1, 1), other, None).is_construction is True
    assert estimating(other, other, None).is_construction is None


def test_nobody_knows_whether_priors_were_fitted() -> None:
    assert (
        scoring.check_priors(asking([], [], (scored(1, 1), scored(1, 1)))).is_construction is False
    )
    outcome = scoring.check_priors(asking([], [], (scored(1, 1), scored(4, 4))))
    assert outcome.is_construction is None
    assert outcome.detectable == "needs parameters that record how priors are chosen"
    assert scoring.check_priors(asking([], [], (scored(1, 1), []))).is_construction is None


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
    outcome = grading.check_grade_shares(asking([], [], (before, after)))
    assert outcome.is_construction is None
    assert "grade thresholds are the same" in outcome.evidence
    unscored = [row | {"score": None} for row in before]
    outcome = grading.check_grade_shares(asking([], [], (unscored, after)))
    assert outcome.is_construction is True


def test_which_score_is_graded() -> None:
    attractive = [
        row | {"score": row["attractiveness"], "satisfaction": 0.5} for row in scored(1, 1)
    ]
    relevant = [row | {"score": row["attractiveness"] * 0.5} for row in attractive]
    outcome = scoring.check_graded_score(asking([], [], (attractive, relevant)))
    assert outcome.is_construction is True
    assert outcome.numbers["to"] == "attractiveness x satisfaction"
    assert scoring.check_graded_score(asking([], [], (relevant, relevant))).is_construction is False
    assert scoring.check_graded_score(asking([], [], ([], relevant))).is_construction is None


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
        "the maximum number of judgements per query is 9 before and 60 after, all for pages that "
        "were shown for their query",
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
        outcomes.append(attachment.check_query_mentions(connection))
    assert [outcome.is_construction for outcome in outcomes] == [True, False, None, None]
    assert outcomes[3].evidence == (
        "100.0 % of judged pages before and 70.8 % after mention the rarest word of their query"
    )
    assert outcomes[3].detectable == "only a share that drops by half is conclusive"
    assert outcomes[0].numbers["from"] == {"pairs": 250, "mentions": 250}
    assert outcomes[0].numbers["to"]["mentions"] < 125
    for other, found in ((walled[:150] + texts[150:], False), (walled, None)):
        connection.register("documents_to", frame(other, Documents).to_arrow())
        connection.register("qrels_to", frame(right, Qrels).to_arrow())
        assert attachment.check_query_mentions(connection).is_construction is found


def test_repeated_texts() -> None:
    repeated = crawl(150)
    for n in range(40):
        repeated.append(page(f"https://site{n % 10}.fr/x{n}", "Titre", "page en travaux"))
    outcome = pages.check_repeated_texts(holding(crawl(150), repeated))
    assert outcome.is_construction is True
    assert "the most frequent text occurs 1 and 40 times" in outcome.evidence
    assert pages.check_repeated_texts(holding(crawl(150), crawl(150))).is_construction is False
    blind = pages.check_repeated_texts(holding(repeated, repeated))
    assert (blind.is_construction, blind.detectable[:20]) == (None, "only a difference of")
    assert pages.check_repeated_texts(holding(crawl(5), repeated)).is_construction is None


def change(number: int, **values: Any) -> dict[str, Any]:
    row = page(f"https://site{number % 10}.fr/{number}", "", "x")
    return {"doc_id": row["doc_id"], "status": "updated", "band": "cosmetic"} | values


def test_one_edit_on_many_pages() -> None:
    footer = [change(n, tokens_from=50 + n, tokens_to=57 + n) for n in range(60)]
    others = [change(100 + n, status="unchanged", band=None) for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], footer + others))
    assert outcome.is_construction is True
    assert "60 of 120 common pages changed their length by exactly +7 words" in outcome.evidence
    menu = [change(n, tokens_from=50 + n, tokens_to=60 + n, band="edited") for n in range(60)]
    outcome = pages.check_uniform_edits(holding(crawl(160), [], menu + others))
    assert outcome.evidence == (
        "60 of 120 common pages changed their length by exactly +10 words: text extraction "
        "changed, not the pages"
    )
    sentence = [change(n, tokens_from=50 + n, tokens_to=59 + n, band="edited") for n in range(60)]
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], sentence + others)).is_construction
        is False
    )
    varied = [change(n, tokens_from=50, tokens_to=51 + n) for n in range(60)]
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], varied + others)).is_construction is False
    )
    assert (
        pages.check_uniform_edits(holding(crawl(160), [], others + others)).is_construction is False
    )
    assert pages.check_uniform_edits(holding(crawl(160), [], footer[:5])).is_construction is None


def test_the_keyed_sample() -> None:
    moved = [row | {"sampled": n % 2 == 0} for n, row in enumerate(crawl(10))]
    outcome = pages.check_sample_membership(holding(crawl(10), moved))
    assert (outcome.is_construction, outcome.numbers) == (
        True,
        {"common": 10, "changed": 5, "outside": 5},
    )
    assert pages.check_sample_membership(holding(moved, moved)).is_construction is False
    assert pages.check_sample_membership(holding([], moved)).is_construction is None


def test_a_release_records_no_sample() -> None:
    """Its documents all count as sampled: it was clear that none entered or left the sample."""
    connection = holding(crawl(10), crawl(10))
    assert pages.check_sample_membership(connection) == Outcome(
        None, "every document counts as sampled, as in a release that records no sample"
    )
    for side in ("from", "to"):
        store_recorded_parameters(connection, side, {"documents.sample_share": 1.0})
    assert pages.check_sample_membership(connection).is_construction is False


@pytest.mark.parametrize(("unchanged", "found"), [(0, None), (1, None), (2, False), (100, False)])
def test_pages_that_keep_their_text(unchanged: int, found: bool | None) -> None:
    """Also texts with the same words, as after all letters were lowercased, are not the same."""
    rows = [change(n, status="unchanged", text_changed=n >= unchanged) for n in range(100)]
    added = change(101, status="added", text_changed=False)
    outcome = texts.check_unchanged_texts(holding([], [], [*rows, added]))
    assert outcome.is_construction is found
    says = f"{unchanged} of 100 common pages have the same text"
    assert outcome.evidence == says + (
        ": texts are extracted differently, or all were edited" if found is None else ""
    )
    assert outcome.numbers == {"common": 100, "unchanged": unchanged, "shorter": 0, "longer": 0}
    few = texts.check_unchanged_texts(holding([], [], rows[:99]))
    assert few == Outcome(None, "fewer than 100 documents are in both snapshots")


@pytest.mark.parametrize(("shorter", "found"), [(50, False), (51, None)])
def test_pages_that_lose_all_but_a_paragraph(shorter: int, found: bool | None) -> None:
    """Texts of one paragraph stay the same, and the others become shorter by different lengths."""
    rows = [
        change(n, status="updated", text_changed=True, tokens_from=90, tokens_to=80 - n)
        if n < shorter
        else change(n, status="unchanged", text_changed=False, tokens_from=90, tokens_to=90)
        for n in range(100)
    ]
    outcome = texts.check_unchanged_texts(holding([], [], rows))
    assert outcome.is_construction is found
    if found is None:
        assert outcome.evidence == (
            "49 of 100 common pages have the same text, 51 became shorter and 0 longer: either "
            "texts are extracted differently, or most pages were edited alike"
        )


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


def covering(before: Rows, after: Rows, kind: type[TableSchema] = Coverage) -> Any:
    """A connection with the coverage of two snapshots."""
    connection = compare(*[(frame([], Queries), frame([], Qrels))] * 2)
    name = "coverage" if kind is Coverage else "host_coverage"
    for side, rows in (("from", before), ("to", after)):
        connection.execute(f"DROP VIEW {name}_{side}")
        connection.register(f"{name}_{side}", frame(rows, kind).to_arrow())
    return connection


def held(shown: int, in_crawl: int, **values: Any) -> dict[str, Any]:
    """A row of `coverage` or `host_coverage`."""
    counts = {"shown": shown, "in_crawl": in_crawl, "impressions": shown}
    return {"scope": "kept_queries", "impressions_in_crawl": in_crawl} | counts | values


def test_a_partial_crawl() -> None:
    """Of 394 pages shown the crawl holds 273, a month before all 386."""
    connection = covering([held(386, 386)], [held(394, 273)])
    for side, in_crawl in (("from", 9), ("to", 6)):
        hosts = [held(9, in_crawl, host=f"h{n}.fr") for n in range(5)]
        connection.execute(f"DROP VIEW host_coverage_{side}")
        connection.register(f"host_coverage_{side}", frame(hosts, HostCoverage).to_arrow())
    outcome = crawling.check_crawl_coverage(connection)
    assert outcome.is_construction is True
    assert "the crawl contains 386 of 386 shown pages before (100.0 %) and 273 of 394 after" in (
        outcome.evidence
    )
    assert (
        crawling.check_crawl_coverage(covering([held(386, 386)], [held(394, 390)])).is_construction
        is False
    )
    few = crawling.check_crawl_coverage(covering([held(12, 12)], [held(12, 11)]))
    assert (few.is_construction, few.detectable[:20]) == (None, "only a difference of")
    assert crawling.check_crawl_coverage(covering([], [held(394, 273)])).is_construction is None


def test_hosts_that_a_crawl_lacks() -> None:
    before = [held(9, 9, host=f"h{n}.fr") for n in range(12)]
    after = [row | {"in_crawl": 0 if n < 4 else 9} for n, row in enumerate(before)]
    outcome = crawling.check_host_coverage(covering(before, after, HostCoverage))
    assert outcome.is_construction is True
    assert (
        "4 were crawled only in the earlier one and 0 only in the later one (h0.fr, h1.fr, h2.fr)"
        in outcome.evidence
    )
    one = [row | {"in_crawl": 0 if n < 1 else 9} for n, row in enumerate(before)]
    outcome = crawling.check_host_coverage(covering(before, one, HostCoverage))
    assert (outcome.is_construction, outcome.detectable) == (False, "2 hosts lost at the same time")
    assert (
        crawling.check_host_coverage(covering(before[:4], after, HostCoverage)).is_construction
        is None
    )


def long_texts(*, cut: int | None = None) -> Rows:
    rows = []
    for n in range(200):
        words = " ".join(f"mot{n}{k}" for k in range(40 + n))
        rows.append(page(f"https://site{n % 10}.fr/{n}", f"Page {n}", words[:cut]))
    return rows


def test_texts_that_end_at_one_length() -> None:
    outcome = texts.check_text_lengths(holding(long_texts(), long_texts(cut=400)))
    assert outcome.is_construction is True
    assert "% at 400 characters: texts are truncated differently" in outcome.evidence
    assert (
        texts.check_text_lengths(holding(long_texts(cut=400), long_texts())).is_construction is True
    )
    assert texts.check_text_lengths(holding(long_texts(), long_texts())).is_construction is False
    assert (
        texts.check_text_lengths(holding(long_texts()[:20], long_texts())).is_construction is None
    )


@pytest.mark.parametrize(
    ("change", "evidence"),
    [
        (lambda text: f"<p>{text}</p>", "HTML tags"),
        (lambda text: text.encode().decode("latin-1"), "wrongly decoded characters"),
        (lambda text: text.replace("é", "\ufffd"), "wrongly decoded characters"),
    ],
)
def test_texts_that_are_read_by_another_rule(change: Any, evidence: str) -> None:
    before = [page(f"https://site{n % 9}.fr/{n}", "T", f"été {n} à la mer") for n in range(100)]
    after = [row | {"text": change(row["text"])} for row in before]
    outcome = texts.check_text_damage(holding(before, after))
    assert outcome.is_construction is True
    assert f"before, 0.0 % of texts contain {evidence}; after, 100.0 %" in outcome.evidence
    assert texts.check_text_damage(holding(before, before)).is_construction is False
    assert texts.check_text_damage(holding(before[:9], after)).is_construction is None


def crawled(*patterns: tuple[str, int]) -> duckdb.DuckDBPyConnection:
    """A map of documents: the months whose crawl has them, and how many there are of each host."""
    rows = [
        {
            "doc_id": doc_id(key64(f"{months}{host}{n}")),
            "url_key": f"https://h{host}.fr/{n}",
            "crawled": [f"2022-0{month}" for month in months],
        }
        for months, count in patterns
        for host in range(5)
        for n in range(count)
    ]
    connection = duckdb.connect()
    connection.register("documents_map", frame(rows, DocumentsMap).to_arrow())
    return connection


def test_pages_that_one_crawl_alone_lacks() -> None:
    names = ("2022-06", "2022-07", "2022-08")
    ((name, outcome),) = check_missing_pages(crawled(("678", 70), ("68", 30), ("6", 9)), names)
    assert (name, outcome.is_construction) == ("2022-07", True)
    assert "the crawl lacks 150 of 500 pages that are in the crawls before and after it" in (
        outcome.evidence
    )
    ((_, whole),) = check_missing_pages(crawled(("678", 70), ("67", 30), ("8", 9)), names)
    assert whole.is_construction is False
    ((_, few),) = check_missing_pages(crawled(("678", 2)), names)
    assert few.is_construction is None
    assert list(check_missing_pages(crawled(("67", 2)), names[:2])) == []


def recording(before: dict[str, Any] | None, after: dict[str, Any] | None) -> Any:
    nothing = (frame([], Queries), frame([], Qrels))
    sides = {"from": before, "to": after}
    return compare(nothing, nothing, {side: rows for side, rows in sides.items() if rows})


def test_recorded_parameters() -> None:
    old = {"select.min_users": 5, "qrels.cuts": [0.15, 0.4]}
    assert check_parameters(recording(old, dict(old))).is_construction is False
    outcome = check_parameters(recording(old, old | {"select.min_users": 3}))
    assert outcome == Outcome(
        True,
        "recorded parameters differ: select.min_users 5 -> 3",
        {"changed": {"select.min_users": {"from": 5, "to": 3}}},
    )
    assert check_parameters(recording(None, old)).is_construction is None


def test_formats_of_raw_files_that_differ() -> None:
    """Another field of the clicks was called clear, although it may be another kind of click."""
    old = {"select.min_users": 5, "log.fields": {"clicks": "clicks", "user": "user"}}
    new = old | {"log.fields": {"clicks": "long_clicks", "user": "user"}}
    assert check_parameters(recording(old, new)) == Outcome(
        None,
        "the raw files are read differently, and whether that is right depends on the files: "
        "log.fields.clicks clicks -> long_clicks",
        {"changed": {"log.fields.clicks": {"from": "clicks", "to": "long_clicks"}}},
    )
    both = check_parameters(recording(old, new | {"crawl.text_format": "html"}))
    assert both.is_construction is True
    assert both.evidence == (
        "recorded parameters differ: crawl.text_format None -> html; "
        "log.fields.clicks clicks -> long_clicks"
    )


@pytest.mark.parametrize(
    ("foreign", "found"), [(0, False), (9, False), (10, None), (13, None), (14, True), (40, True)]
)
def test_a_difference_that_may_be_chance_is_not_clear(foreign: int, found: bool | None) -> None:
    """0 of 200 against k of 200 has p = 2 C(200, k) / C(400, k): 2.0e-4 at 13, 9.6e-5 at 14."""
    shares = ShareComparison((0, 200), (foreign, 200), min_difference=0.05)
    outcome = compare_shares(shares, "says", "conclusion", {})
    assert outcome.is_construction is found
    assert shares.min_detectable_difference == 0.07
    if found is None:
        assert outcome.detectable == "a difference below 7.0 points may be due to chance"


def test_the_smallest_visible_difference_is_the_first_that_is_found() -> None:
    for rows, part in ((150, 0), (150, 40), (2_000, 1_990), (100_000, 0)):
        shares = ShareComparison((part, rows), (part, rows), min_difference=0.05)
        step = round(shares.min_detectable_difference * rows) * (1 if part <= rows / 2 else -1)
        assert ShareComparison((part, rows), (part + step, rows), min_difference=0.05).is_changed
        assert shares.min_detectable_difference >= shares.min_difference
    assert ShareComparison((0, 9), (9, 9), min_difference=0.05).min_detectable_difference > 0.5
    assert ShareComparison((0, 0), (0, 9), min_difference=0.05).min_detectable_difference == 1.0
