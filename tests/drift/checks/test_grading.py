"""Checks of how scores become grades."""

from typing import Any

import pytest

from builder.drift.checks import grading
from builder.drift.checks.outcome import Outcome
from tests.drift.checks.rows import asking, scored
from tests.drift.worlds import Rows, qrel


def graded(cut: float) -> Rows:
    return [qrel("eau", f"p{n}", int(n / 100 >= cut), score=n / 100) for n in range(100)]


NO_SCORES = Outcome(
    None, "a snapshot has no scores, or no grade threshold has scores on both sides"
)


def test_cuts_of_scores() -> None:
    bounds = [
        {"below_1": cut - 0.01, "from_1": cut, "below_2": 0.99, "from_2": None}
        for cut in (0.3, 0.5)
    ]
    moved = grading.check_grade_thresholds(asking([], [], (graded(0.3), graded(0.5))))
    assert moved == Outcome(
        True,
        "the threshold of grade 1 was between 0.290 and 0.300 and is now between 0.490 and 0.500: "
        "the grade thresholds changed",
        {"from": bounds[0], "to": bounds[1]},
    )
    assert grading.check_grade_thresholds(
        asking([], [], (graded(0.5), graded(0.3)))
    ).is_construction
    same = grading.check_grade_thresholds(asking([], [], (graded(0.3), graded(0.3))))
    assert same == Outcome(
        False,
        "the grade thresholds may be the same",
        {"from": bounds[0], "to": bounds[0]},
        "a change in a grade threshold by 0.010",
    )
    unscored = [row | {"score": None} for row in graded(0.3)]
    manual = [row | {"source": "manual", "doc_id": f"m{n}"} for n, row in enumerate(graded(0.9))]
    for pair in (
        (unscored, graded(0.3)),
        (graded(0.3), manual),
        (graded(2), graded(2)),
        (graded(0), graded(0)),
    ):
        assert grading.check_grade_thresholds(asking([], [], pair)) == NO_SCORES
    mixed = asking([], [], (graded(0.3), [*graded(0.3), *manual]))
    assert grading.check_grade_thresholds(mixed).is_construction is False
    blurred = [row | {"grade": n % 2} for n, row in enumerate(graded(0.3))]
    for pair, which in (
        ((blurred, graded(0.9)), "earlier"),
        ((graded(0.9), blurred), "later"),
        ((blurred, blurred), "earlier and later"),
    ):
        assert grading.check_grade_thresholds(asking([], [], pair)) == Outcome(
            None,
            f"the {which} grades do not increase with the scores: either they were assigned by "
            "another rule or the rule uses more than the score",
        )


def bounded(*bounds: float) -> Rows:
    """Four judgements: the highest scores of grades 0 and 1, and the lowest of grades 1 and 2."""
    return [
        qrel("eau", f"p{n}", grade, score=score)
        for n, (grade, score) in enumerate(zip((0, 1, 1, 2), bounds, strict=True))
    ]


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ((0.30, 0.31, 0.60, 0.61), False),
        ((0.25, 0.30, 0.60, 0.61), False),  # the bounds of grade 1 meet at .3
        ((0.35, 0.40, 0.60, 0.61), False),  # and at .35
        ((0.36, 0.40, 0.60, 0.61), True),
        ((0.25, 0.29, 0.60, 0.61), True),
        ((0.30, 0.31, 0.67, 0.68), True),
        ((0.30, 0.31, 0.57, 0.6699), False),
        ((0.30, 0.31, 0.56, 0.67), None),  # the threshold may lie anywhere between
        ((0.30, 0.31, 0.60, 0.60 - 1e-10), False),  # rounded
        ((0.30, 0.31, 0.60, 0.60 - 1e-8), None),
    ],
)
def test_thresholds_that_scores_leave_open(
    later: tuple[float, float, float, float], found: bool | None
) -> None:
    """Before, grade 1 begins between .3 and .35, and grade 2 between .6 and .65."""
    before = bounded(0.30, 0.35, 0.60, 0.65)
    for pair in ((before, bounded(*later)), (bounded(*later), before)):
        assert grading.check_grade_thresholds(asking([], [], pair)).is_construction is found


def test_a_change_of_a_threshold_that_would_be_seen() -> None:
    before, after = bounded(0.30, 0.35, 0.60, 0.65), bounded(0.30, 0.32, 0.58, 0.70)
    outcome = grading.check_grade_thresholds(asking([], [], (before, after)))
    assert (outcome.is_construction, outcome.detectable) == (
        None,
        "a change in a grade threshold by 0.120",
    )
    wide = bounded(0.10, 0.20, 0.60, 0.65)
    outcome = grading.check_grade_thresholds(asking([], [], (wide, wide)))
    assert (outcome.is_construction, outcome.detectable) == (
        False,
        "a change in a grade threshold by 0.100",
    )
    exact = bounded(0.30, 0.30, 0.60, 0.60)
    outcome = grading.check_grade_thresholds(asking([], [], (exact, exact)))
    assert (outcome.is_construction, outcome.detectable) == (
        False,
        "a change in a grade threshold by 0.001",
    )
    both = grading.check_grade_thresholds(asking([], [], (exact, bounded(0.4, 0.5, 0.7, 0.8))))
    assert both.evidence == (
        "the threshold of grade 1 was between 0.300 and 0.300 and is now between 0.400 and 0.500; "
        "the threshold of grade 2 was between 0.600 and 0.600 and is now between 0.700 and 0.800: "
        "the grade thresholds changed"
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
    assert outcome.numbers == {
        "from": {"queries": 30, "examined": 1.0},
        "to": {"queries": 30, "examined": 0.6},
    }
    rare = [row | {"impressions": 4, "examinations": 0} for row in every[80:]]
    manual = [row | {"doc_id": f"m{n}", "source": "manual"} for n, row in enumerate(skip)]
    first = (
        "for the median query, the most examined document was counted as examined in {} of the "
        "impressions in the earlier snapshot and in {} in the later one"
    )
    five = [row | {"impressions": 5, "examinations": 5} for row in every[76:80]]
    before = [*every[:76], *five, *rare]
    outcome = grading.check_examination_rule(asking([], [], (before, skip[:80])))
    assert outcome.numbers["from"] == {"queries": 20, "examined": 1.0}
    same = grading.check_examination_rule(asking([], [], ([*every, *manual], every)))
    assert same == Outcome(
        False,
        first.format("100.0 %", "100.0 %"),
        {"from": {"queries": 30, "examined": 1.0}, "to": {"queries": 30, "examined": 1.0}},
        "examinations not counted in impressions without a click",
    )
    seldom = grading.check_examination_rule(asking([], [], (skip, skip)))
    assert seldom == Outcome(
        None,
        first.format("60.0 %", "60.0 %"),
        {"from": {"queries": 30, "examined": 0.6}, "to": {"queries": 30, "examined": 0.6}},
        "needs documents examined in 90.0 % of impressions",
    )
    few = Outcome(None, "fewer than 20 queries have judgements derived from clicks")
    for pair in ((every[:76], skip), (skip, every[:76]), ([*every[:76], *rare], skip)):
        assert grading.check_examination_rule(asking([], [], pair)) == few


@pytest.mark.parametrize(
    ("examined", "evidence"),
    [
        ((9, 8), "either examinations are counted differently or first results are not judged"),
        ((9, 9), ""),
        ((8, 8), ""),
    ],
)
def test_documents_that_are_examined_in_nine_or_in_eight_of_ten_impressions(
    examined: tuple[int, int], evidence: str
) -> None:
    sides = [[qrel(f"q{n}", "p", 0, examinations=count) for n in range(20)] for count in examined]
    outcome = grading.check_examination_rule(asking([], [], (sides[0], sides[1])))
    assert outcome.is_construction is (False if examined == (9, 9) else None)
    assert outcome.evidence.partition("later one")[2] == (f": {evidence}" if evidence else "")
    needed = "needs documents examined in 90.0 % of impressions"
    assert (outcome.detectable == needed) is (examined == (8, 8))


def test_deeper_clicks_are_no_other_rule_of_examination() -> None:
    """As many clicks at deeper ranks: all documents but the first are examined more often."""
    before = [qrel(f"q{n // 4}", f"p{n}", 0, examinations=10 - 2 * (n % 4)) for n in range(120)]
    after = [row | {"examinations": max(row["examinations"], 9)} for row in before]
    assert grading.check_examination_rule(asking([], [], (before, after))).is_construction is False


def test_grades_follow_clicks() -> None:
    before = [qrel("eau", f"p{n}", n % 2, clicks=3) for n in range(200)]
    after = [row | {"grade": 1} for row in before]
    says = (
        "on 200 common pairs, the shares of grades 0, 1 and 2 are 50.0 % / 50.0 % / 0.0 % before "
        "and 0.0 % / 100.0 % / 0.0 % after"
    )
    numbers = {"transitions": [[0, 100, 0], [0, 100, 0], [0, 0, 0]], "total_variation": 0.5}
    same_clicks = grading.check_grade_shares(asking([], [], (before, after)))
    assert same_clicks == Outcome(
        True,
        f"{says}, and 100.0 % of 200 later judgements have a different grade from earlier ones "
        "with equal clicks and examinations: the grading rule changed, not the users",
        numbers | {"same_evidence": {"judgements": 200, "regraded": 200}},
    )
    more = [row | {"clicks": 6} for row in after]
    assert grading.check_grade_shares(asking([], [], (before, more))) == Outcome(
        None,
        f"{says}; too few judgements have equal click counts",
        numbers | {"same_evidence": {"judgements": 0, "regraded": 0}},
    )
    few = Outcome(None, "fewer than 100 pairs are judged in both snapshots")
    assert grading.check_grade_shares(asking([], [], (before[:99], after))) == few
    assert grading.check_grade_shares(asking([], [], (before[:100], after))).is_construction


def moved(count: int, **values: Any) -> tuple[Rows, Rows]:
    """100 judgements, of which those with grade 0 get grade 1, with as many clicks."""
    before = [qrel("eau", f"p{n}", 0 if n < count else 2, clicks=n) for n in range(100)]
    after = [row | {"grade": max(row["grade"], 1)} | values for row in before]
    return before, after


def test_a_tenth_of_the_grades_must_move() -> None:
    few = grading.check_grade_shares(asking([], [], moved(9)))
    assert few == Outcome(
        False,
        "on 100 common pairs, the shares of grades 0, 1 and 2 are 9.0 % / 0.0 % / 91.0 % before "
        "and 0.0 % / 9.0 % / 91.0 % after",
        {"transitions": [[0, 9, 0], [0, 0, 0], [0, 0, 91]], "total_variation": 0.09},
        "grade shares of common pairs that differ by 10.0 points",
    )
    tenth = grading.check_grade_shares(asking([], [], moved(10)))
    assert tenth.is_construction is True
    assert tenth.numbers["same_evidence"] == {"judgements": 100, "regraded": 10}
    unknown = grading.check_grade_shares(asking([], [], moved(10, examinations=0)))
    assert unknown.numbers["same_evidence"] == {"judgements": 0, "regraded": 0}
    manual = grading.check_grade_shares(asking([], [], moved(10, source="manual")))
    assert manual.numbers["same_evidence"] == {"judgements": 0, "regraded": 0}


@pytest.mark.parametrize(("others", "regraded"), [(1, 20), (2, 0)])
def test_the_mean_grade_of_equal_counts_must_move_by_a_half(others: int, regraded: int) -> None:
    """Of pairs with 3 clicks, half have grade 0 before, or a third; later all have grade 1."""
    before = [qrel("eau", f"a{n}", 0, clicks=3) for n in range(10)]
    before += [qrel("eau", f"b{n}", 1, clicks=3) for n in range(10 * others)]
    rest = [qrel("eau", f"c{n}", 2, clicks=4) for n in range(80)]
    after = [row | {"grade": 1} for row in before[:20]]
    outcome = grading.check_grade_shares(asking([], [], ([*before, *rest], [*after, *rest])))
    assert outcome.numbers["same_evidence"] == {"judgements": 100, "regraded": regraded}
    assert outcome.is_construction is (regraded > 0)


def rescored(rows: Rows, **values: Any) -> Rows:
    """Judgements whose score is their attractiveness, with grade 1 from .3."""
    return [
        row | {"score": row["attractiveness"], "grade": int(row["attractiveness"] >= 0.3)} | values
        for row in rows
    ]


def test_grades_that_follow_the_same_scores() -> None:
    """Clicks double, and with them the share of grade 1; prior and threshold stay."""
    pairs = [(1, 20), (2, 20), (3, 20), (4, 20), (5, 20), (6, 20), (7, 20), (8, 20)] * 20

    def clicked(factor: int) -> Rows:
        return rescored(
            [
                qrel("eau", f"p{n}", 0, clicks=c, examinations=e, attractiveness=(c + 1) / (e + 2))
                for n, (c, e) in enumerate((factor * c, e) for c, e in pairs)
            ]
        )

    outcome = grading.check_grade_shares(asking([], [], (clicked(1), clicked(2))))
    assert outcome == Outcome(
        False,
        "on 160 common pairs, the shares of grades 0, 1 and 2 are 62.5 % / 37.5 % / 0.0 % before "
        "and 25.0 % / 75.0 % / 0.0 % after; scores and grade thresholds follow the same rules",
        {"transitions": [[40, 60, 0], [0, 60, 0], [0, 0, 0]], "total_variation": 0.375},
        "any change in scores or grade thresholds",
    )
    vague = [row for row in clicked(2) if not 0.22 < row["score"] < 0.35]
    outcome = grading.check_grade_shares(asking([], [], (clicked(1), vague)))
    assert outcome.is_construction is None
    assert outcome.evidence.endswith("; grade thresholds may be the same")
    assert outcome.detectable == "a change in a grade threshold by 0.273"


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
    enough = grading.check_recurring_grades(asking([], [], (before[:100], before)))
    assert (enough.is_construction, enough.numbers["pairs_common"]) == (False, 100)
    ones = [row | {"grade": 1} for row in before]
    equal = grading.check_recurring_grades(asking([], [], (ones, ones)))
    assert equal == Outcome(None, "all pairs judged in both snapshots have the same grade")


def test_noise_in_clicks_is_no_change_of_grading() -> None:
    """As many clicks, spread otherwise: equal counts still get equal grades."""
    before = [qrel("eau", f"p{n}", 2 * (n % 2), clicks=6 * (n % 2)) for n in range(200)]
    before += [qrel("eau", f"r{n}", 1, clicks=3) for n in range(20)]
    after = [row | {"clicks": 3, "grade": 1} for row in before]
    outcome = grading.check_grade_shares(asking([], [], (before, after)))
    assert (outcome.is_construction, outcome.detectable) == (
        False,
        "different grades for 10.0 % of judgements with equal counts",
    )
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
    assert outcome.evidence.endswith("; grade thresholds are the same")
    assert outcome.detectable == "needs parameters that record how priors are chosen"
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
