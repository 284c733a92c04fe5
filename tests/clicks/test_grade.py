"""The stage `grades`: what is judged, what is not, frozen cuts, manual grades, sensitivity."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest

from builder.clicks.click_grades import read_priors
from builder.clicks.grading import _snapshot_with_fitted_thresholds
from builder.clicks.priors import BetaPrior, Priors
from builder.errors import DataError, FormatError
from builder.io.sources import Source
from builder.io.tables import Table, table_at
from builder.parameters import ClickParameters, QrelParameters
from schemas import ClickEstimates, GradeCuts, GradeSensitivity, JudgedQueries, Rejects

UNIFORM = (1.0, 1.0, 1.0, 1.0)


def row(
    query: int, doc: int, e: int, c: int, last: int, other: int | None = None
) -> tuple[Any, ...]:
    """An estimate under uniform priors from its counts."""
    a = (c + 1) / (e + 2) if e else None
    s = (last + 1) / (c + 2) if e else None
    product = None if a is None or s is None else a * s
    return (query, doc, max(e, 1), e, c, last, a, s, product, other, *UNIFORM)


ROWS = [
    row(1, 11, 8, 0, 0, 2),  # .1
    row(1, 12, 8, 1, 1, 3),  # .2
    row(1, 13, 8, 4, 1, 8),  # .5
    row(1, 14, 2, 2, 2, 2),  # too few examinations
    row(1, 15, 0, 0, 0, 0),  # never examined
    row(1, 16, 9, 9, 9, 9),  # not in the crawl
    row(2, 21, 8, 4, 4, 8),  # alone in its query
]
PARAMS = QrelParameters(cuts=(0.2, 0.5), min_examinations=3, min_judged=3)
CRAWL = (11, 12, 13, 14, 15, 21)


@pytest.fixture
def graded(run_grade: Any, table: Any, candidates: Any, documents: Any) -> Any:
    """The stage on `ROWS`, with changes."""

    def run(rows: Any = ROWS, params: QrelParameters = PARAMS, **changes: Any) -> Any:
        arguments = {
            "candidates": candidates(1, 2),
            "documents": documents(*changes.pop("crawl", CRAWL)),
            **changes,
        }
        out, ledger = run_grade(table(rows, ClickEstimates), params=params, **arguments)
        return out, ledger, pl.read_parquet(out / "graded_pairs.parquet")

    return run


def test_pair_with_the_minimum_of_examinations_is_graded(graded: Any) -> None:
    rows = [row(1, 11, 3, 3, 3), row(1, 12, 3, 0, 0), row(1, 13, 4, 0, 0)]
    _, _, qrels = graded(rows)
    assert qrels.select("examinations", "grade").rows() == [(3, 2), (3, 1), (4, 0)]


def test_hand_graded_pairs(graded: Any) -> None:
    out, ledger, qrels = graded()
    assert (ledger.unit, ledger.rows_in, ledger.rows_out) == ("pairs", 7, 3)
    assert dict(ledger.rejected) == {
        "query_not_candidate": 0,
        "never_examined": 1,
        "too_few_examinations": 1,
        "document_not_in_crawl": 1,
        "query_has_too_few_judged": 1,
    }
    Rejects.validate(pl.read_parquet(out / "rejects.parquet"))
    columns = ("query_id", "doc_id", "grade", "score", "examinations", "clicks", "source")
    assert qrels.select(columns).rows() == [
        ("q0000000000000001", "d000000000000000b", 0, 0.1, 8, 0, "click"),
        ("q0000000000000001", "d000000000000000c", 1, 0.2, 8, 1, "click"),
        ("q0000000000000001", "d000000000000000d", 2, 0.5, 8, 4, "click"),
    ]
    # P(Beta(1, 9) < .2) and P(Beta(5, 5) >= .5)
    assert qrels["stability"][0] == pytest.approx(1 - 0.8**9, abs=1e-6)
    assert qrels["stability"][2] == pytest.approx(0.5, abs=1e-6)
    assert qrels["score_low"][0] == pytest.approx(1 - 0.95 ** (1 / 9), abs=1e-6)
    assert qrels["score_high"][0] == pytest.approx(1 - 0.05 ** (1 / 9), abs=1e-6)
    assert qrels["manual_grade"].null_count() == 3
    cuts = pl.read_parquet(out / "grade_cuts.parquet").select("grade", "cut", "policy")
    assert cuts.rows() == [(1, 0.2, "fixed"), (2, 0.5, "fixed")]


def priors_of(rows: list[tuple[float | None, ...]]) -> Priors | None:
    """Read the priors of estimates of which nothing else is given."""
    kinds = ("attractiveness", "satisfaction")
    names = [f"{kind}_{part}" for kind in kinds for part in ("alpha", "beta")]
    frame = pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row")
    with duckdb.connect() as connection:
        connection.register("click_estimates", frame.to_arrow())
        return read_priors(connection)


ALL_NULL, ONE, OTHER = (None,) * 4, (0.5, 2.0, 3.0, 0.25), (0.5, 2.0, 3.0, 0.75)


@pytest.mark.parametrize(
    ("rows", "priors"),
    [
        ([], Priors(BetaPrior(1, 1), BetaPrior(1, 1))),
        ([ALL_NULL, ALL_NULL], None),
        ([ONE, ONE], Priors(BetaPrior(0.5, 2), BetaPrior(3, 0.25))),
    ],
)
def test_priors_are_read_from_the_estimates(
    rows: list[tuple[float | None, ...]], priors: Priors | None
) -> None:
    assert priors_of(rows) == priors


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([ONE, OTHER], "(0.5, 2.0, 3.0, 0.25) and (0.5, 2.0, 3.0, 0.75)"),
        ([ALL_NULL, ONE], "(None, None, None, None) and (0.5, 2.0, 3.0, 0.25)"),
        ([(0.5, 2.0, None, None)], "(0.5, 2.0, None, None)"),
    ],
)
def test_priors_that_differ_are_refused(rows: list[tuple[float | None, ...]], found: str) -> None:
    with pytest.raises(DataError) as refused:
        priors_of(rows)
    start, _, end = str(refused.value).partition(", found ")
    assert start == (
        "click estimates: expected the same prior (alpha and beta of attractiveness, then of "
        "satisfaction) in every row"
    )
    priors, _, advice = end.partition("; ")
    assert sorted(priors.split(" and ")) == sorted(found.split(" and "))
    assert advice == (
        "to merge the estimates of several logs, add their counts instead of concatenating the "
        "tables"
    )


def test_pairs_that_were_never_examined_lack_no_score(graded: Any) -> None:
    _, ledger, qrels = graded(rows=[row(1, 15, 0, 0, 0)])
    assert (ledger.rows_in, ledger.rejected["never_examined"], qrels.height) == (1, 1, 0)


@pytest.mark.parametrize(
    ("policy", "snapshot", "expected"),
    [
        ("target_shares", "2022-06", ()),
        ("target_shares", "2022-07", ("2022-06",)),
        ("target_shares", "2022-08", ("2022-06",)),
        ("fixed", "2022-07", ()),
        ("credible", "2022-07", ()),
    ],
)
def test_fitted_cuts_are_reused_in_all_later_snapshots(
    policy: Any, snapshot: str, expected: tuple[str, ...]
) -> None:
    names = ("2022-06", "2022-07", "2022-08")
    workflow: Any = SimpleNamespace(snapshot_names=names, qrels=QrelParameters(policy=policy))
    assert _snapshot_with_fitted_thresholds(workflow, snapshot) == expected


def test_judged_queries_count_their_judgements(graded: Any) -> None:
    out, _, _ = graded(params=PARAMS.model_copy(update={"min_judged": 1}))
    queries = pl.read_parquet(out / "graded_queries.parquet")
    JudgedQueries.validate(queries)
    assert queries.select("query_id", "text", "judged", "relevant").rows() == [
        ("q0000000000000001", "query 1", 3, 2),
        ("q0000000000000002", "query 2", 1, 1),
    ]


def test_the_score_may_be_the_relevance(graded: Any) -> None:
    params = PARAMS.model_copy(update={"score": "relevance", "cuts": (0.1, 0.13)})
    _, _, qrels = graded(params=params)
    assert qrels["score"].to_list() == pytest.approx([0.1 / 2, 0.2 * 2 / 3, 0.5 * 2 / 6])
    assert qrels["grade"].to_list() == [0, 2, 2]


def test_cuts_of_the_first_snapshot_hold_for_the_next(graded: Any) -> None:
    params = QrelParameters(policy="target_shares", shares=(0.25, 0.6, 0.15), min_judged=1)
    first, _, qrels = graded(params=params)
    assert qrels["grade"].to_list() == [0, 1, 1, 1]  # the two scores of .5 cannot be told apart
    cuts = table_at(first, "grade_cuts", GradeCuts)
    GradeCuts.validate(cuts.scan().collect())
    # fitted to the four pairs that are judged: halfway between .1 and .2, and just above .5
    assert cuts.scan().select("grade", "cut").collect().rows() == [
        (1, pytest.approx(0.15)),
        (2, 0.5000000000000001),
    ]
    later = [row(1, doc, 20, clicks, clicks) for doc, clicks in ((11, 9), (12, 10), (13, 19))]
    frozen, _, qrels = graded(rows=later, params=params, cuts=[cuts])
    assert qrels["grade"].to_list() == [1, 1, 2]
    assert table_at(frozen, "grade_cuts", GradeCuts).scan().collect().equals(cuts.scan().collect())
    _, _, refitted = graded(rows=later, params=params)
    assert refitted["grade"].to_list() != [1, 1, 2]


def test_sensitivity_counts_flips(graded: Any) -> None:
    out, _, _ = graded()
    table = pl.read_parquet(out / "grade_sensitivity.parquet")
    GradeSensitivity.validate(table)
    flips = {scenario: [] for scenario in table["scenario"].unique()}
    for scenario, grade, other, pairs in table.rows():
        flips[scenario] += [(grade, other)] * pairs
    assert flips["published"] == [(0, 0), (1, 1), (2, 2)]
    assert flips["cuts_10_percent_lower"] == [(0, 0), (1, 1), (2, 2)]
    assert flips["cuts_10_percent_higher"] == [(0, 0), (1, 0), (2, 1)]
    # other examinations 2 (too few), 3 (a = 2/5) and 8 (a = .5)
    assert flips["other_no_click_rule"] == [(0, -1), (1, 1), (2, 2)]


def test_cuts_are_moved_by_a_tenth(graded: Any) -> None:
    """Scores of .17, .19, .21 and .23 beside a cut of .2, and of .46, .48 and .53 beside .5."""
    counts = ((98, 16), (98, 18), (98, 20), (98, 22), (48, 22), (48, 23), (98, 52))
    rows = [row(1, 11 + n, e, c, c, e if n else None) for n, (e, c) in enumerate(counts)]
    out, _, qrels = graded(rows=rows, crawl=range(11, 20))
    assert qrels["grade"].to_list() == [0, 0, 1, 1, 1, 1, 2]
    table = pl.read_parquet(out / "grade_sensitivity.parquet")
    columns = ("grade", "other_grade", "pairs")
    found = {
        name: sorted(part.select(columns).rows()) for (name,), part in table.group_by("scenario")
    }
    # the pair with .17, whose examinations under the other rule are unknown, is not counted
    assert found == {
        "published": [(0, 0, 1), (1, 1, 4), (2, 2, 1)],
        "cuts_10_percent_lower": [(0, 1, 1), (1, 1, 2), (1, 2, 2), (2, 2, 1)],
        "cuts_10_percent_higher": [(0, 0, 1), (1, 0, 1), (1, 1, 3), (2, 1, 1)],
        "other_no_click_rule": [(0, 0, 1), (1, 1, 4), (2, 2, 1)],
    }


def test_sensitivity_counts_every_graded_pair(graded: Any) -> None:
    """Those with the minimum of examinations, too: all three graded pairs have eight."""
    out, _, pairs = graded(params=PARAMS.model_copy(update={"min_examinations": 8}))
    table = pl.read_parquet(out / "grade_sensitivity.parquet").filter(scenario="published")
    counts = sorted(table.select("grade", "other_grade", "pairs").rows())
    assert counts == [(0, 0, 1), (1, 1, 1), (2, 2, 1)]
    assert pairs["grade"].drop_nulls().len() == 3


def test_fitted_prior_is_refitted_under_the_other_rule(
    run_estimate: Any, run_grade: Any, candidates: Any, documents: Any
) -> None:
    log = []
    for n in range(600):
        results = [n % 5 * 10 + k for k in range(6)]
        log.append((None, n % 5, results, [1 + (n // 5) % 6] if n % 4 == 0 else []))
    every, other = (
        run_estimate(log, ClickParameters(no_click=rule))[0] for rule in ("all_examined", "skip")
    )
    docs = documents(*range(60))
    params = QrelParameters(cuts=(0.05, 0.25), min_judged=1)
    arguments = {"candidates": candidates(*range(5)), "documents": docs, "params": params}
    out, _ = run_grade(every, **arguments)
    elsewhere, _ = run_grade(other, **arguments)
    found = pl.read_parquet(out / "grade_sensitivity.parquet").filter(pl.col("other_grade") >= 0)
    predicted = (
        found.filter(scenario="other_no_click_rule")
        .group_by("other_grade")
        .agg(pl.col("pairs").sum())
    )
    real = pl.read_parquet(elsewhere / "graded_pairs.parquet")["grade"].value_counts()
    assert sorted(predicted.rows()) == sorted(real.rows())


def judged(tmp_path: Path, *rows: tuple[int, int, str, int]) -> list[Source]:
    """A sheet of judgements by people."""
    lines = [f"q{q:016x}\td{d:016x}\t{who}\t{grade}" for q, d, who, grade in rows]
    path = tmp_path / "sheet.tsv"
    path.write_text("\n".join(["query_id\tdoc_id\tassessor\tgrade", *lines]) + "\n", "utf-8")
    return [Source(path, "sheet.tsv")]


def test_manual_grades_win_and_both_are_kept(graded: Any, tmp_path: Path) -> None:
    sheets = judged(
        tmp_path,
        (1, 11, "ann", 2),
        (1, 11, "bob", 1),  # a tie: the lower one
        (1, 12, "ann", 0),
        (1, 14, "ann", 1),  # too few examinations by clicks
        (1, 15, "bob", 0),  # never examined
        (1, 99, "bob", 2),  # not in the crawl
        (3, 11, "bob", 2),  # no candidate
    )
    _, ledger, qrels = graded(judgements=sheets)
    assert (ledger.rows_in, ledger.rows_out) == (9, 5)
    assert ledger.rejected["query_not_candidate"] == 1
    assert ledger.rejected["document_not_in_crawl"] == 2
    columns = ("doc_id", "grade", "source", "click_grade", "manual_grade")
    assert [(row[0][-1], *row[1:]) for row in qrels.select(columns).rows()] == [
        ("b", 1, "manual", 0, 1),
        ("c", 0, "manual", 1, 0),
        ("d", 2, "click", 2, None),
        ("e", 1, "manual", None, 1),
        ("f", 0, "manual", None, 0),
    ]
    _, _, qrels = graded(
        judgements=sheets, params=PARAMS.model_copy(update={"manual": "fills_gaps"})
    )
    assert qrels["grade"].to_list() == [0, 1, 2, 1, 0]
    assert qrels["source"].to_list() == ["click", "click", "click", "manual", "manual"]
    assert qrels["manual_grade"].to_list() == [1, 0, None, 1, 0]


def test_an_assessor_may_not_judge_a_pair_twice(graded: Any, tmp_path: Path) -> None:
    with pytest.raises(
        FormatError,
        match="several by ann for query q0000000000000001 and document d000000000000000b",
    ):
        graded(judgements=judged(tmp_path, (1, 11, "ann", 2), (1, 11, "ann", 1)))


def test_rows_of_several_estimates_are_refused(graded: Any) -> None:
    other = (*ROWS[0][:1], 99, *ROWS[0][2:10], 0.5, 2.0, 1.0, 1.0)
    with pytest.raises(DataError, match="expected the same prior "):
        graded(rows=[*ROWS, other])


@pytest.mark.parametrize("policy", ["fixed", "target_shares", "credible"])
@pytest.mark.parametrize("score", ["attractiveness", "relevance"])
def test_nothing_judged_gives_empty_tables(graded: Any, policy: Any, score: Any) -> None:
    params = PARAMS.model_copy(update={"policy": policy, "score": score})
    for rows, crawl in (([], CRAWL), (ROWS, ())):
        out, ledger, qrels = graded(rows=rows, params=params, crawl=crawl)
        assert (ledger.rows_out, qrels.height) == (0, 0)
        assert pl.read_parquet(out / "graded_queries.parquet").height == 0


def test_estimates_of_a_stage_are_graded(run_estimate: Any, graded: Any) -> None:
    out, _ = run_estimate([(None, 1, [11, 12, 13], [1 + n % 3]) for n in range(60)])
    estimates: Table = table_at(out, "click_estimates", ClickEstimates)
    _, _, qrels = graded(rows=estimates.scan().collect().rows())
    assert qrels["grade"].to_list() == [1, 2, 2]  # clicked in 20 of 60, of 40, of 20
    assert (qrels["score_low"] <= qrels["score"]).all()
    assert (qrels["score"] <= qrels["score_high"]).all()
