"""Checks of how scores become grades."""

from builder.drift.checks import (
    grading,
    scoring,
)
from builder.drift.checks.outcome import Outcome
from tests.drift.checks.rows import asking, scored
from tests.drift.worlds import Rows, qrel


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
    outcome = grading.check_grade_thresholds(asking([], [], (blurred, graded(0.9))))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "the earlier grades do not increase with the scores: either they were assigned by another "
        "rule or the rule uses more than the score"
    )


def test_grades_that_only_one_snapshot_has() -> None:
    """Grades 0, 1 and 2 begin at .0, .3 and .6; later, no grade is above 1, or none is 0."""
    three = [row | {"grade": row["grade"] + (n >= 60)} for n, row in enumerate(graded(0.3))]
    capped = [row | {"grade": min(row["grade"], 1)} for row in three]
    outcome = grading.check_grade_thresholds(asking([], [], (three, capped)))
    assert outcome.is_construction is True
    assert outcome.evidence == (
        "the threshold of grade 2 was between 0.590 and 0.600 and is now above 0.990: the grade "
        "thresholds changed"
    )
    raised = [row | {"grade": max(row["grade"], 1)} for row in three]
    outcome = grading.check_grade_thresholds(asking([], [], (three, raised)))
    assert "was between 0.290 and 0.300 and is now at most 0.000" in outcome.evidence
    for part in (three[:50], three[40:]):  # without grade 2, without grade 0
        outcome = grading.check_grade_thresholds(asking([], [], (three, part)))
        assert (outcome.is_construction, outcome.detectable) == (
            None,
            "needs judgements of every grade in both snapshots",
        )


def test_rule_of_examination() -> None:
    every = [qrel(f"q{n // 4}", f"p{n}", 0, examinations=10 - n % 4) for n in range(120)]
    skip = [row | {"examinations": row["examinations"] - 4} for row in every]
    outcome = grading.check_examination_rule(asking([], [], (every, skip)))
    assert outcome.is_construction is None
    assert outcome.evidence == (
        "for the median query, the most examined document was counted as examined in 100.0 % of "
        "the impressions in the earlier snapshot and in 60.0 % in the later one: either "
        "examinations are counted differently or first results are not judged"
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
        "the grades of 120 common pairs agree with a quadratic weighted kappa of 1.00",
        {"pairs_common": 120, "kappa_quadratic": 1.0},
        "grades that agree no better than chance",
    )
    moved = [row | {"grade": n // 3 % 3} for n, row in enumerate(before)]
    assert grading.check_recurring_grades(asking([], [], (before, moved))) == Outcome(
        None,
        "the grades of 120 common pairs agree with a quadratic weighted kappa of 0.00: either "
        "users or rankings changed, or clicks are attached to the wrong results",
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
    assert "0.0 % of 220 later judgements have a different grade" in outcome.evidence


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


def test_grades_that_are_swapped() -> None:
    """The scores follow the same prior; the grades of equal clicks do not."""
    before = [
        row | {"score": row["attractiveness"], "grade": int(row["attractiveness"] >= 0.3)}
        for row in scored(1, 3)
    ]
    swapped = [row | {"grade": 1 - row["grade"]} for row in before]
    outcome = grading.check_grade_shares(asking([], [], (before, swapped)))
    assert outcome.is_construction is True
    assert "100.0 % of 324 later judgements have a different grade" in outcome.evidence


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
