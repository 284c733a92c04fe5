"""The stage `grades`: click estimates and manual judgements in, graded qrels with evidence out.

A pair is judged when people judged it, or when it was examined often enough; it is kept when its
document is in the crawl and its query has enough judged documents.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import numpy as np
import polars as pl

from builder.clicks.point_scores import PointScores
from builder.clicks.policies import (
    Cuts,
    assign_grades,
    fit_cuts,
    scores_of,
    stability,
    target_shares,
)
from builder.clicks.posterior import Evidence, Posterior
from builder.clicks.priors import Beta, Priors
from builder.clicks.sensitivity import write_sensitivity
from builder.clicks.statistics import ENGINE_SHARE
from builder.definition.model import Workflow
from builder.errors import DataError, UsageError
from builder.io.engine import set_variables
from builder.io.sources import Source
from builder.io.tables import Table, write_frame, write_query
from builder.judging.merging import read_judgements
from builder.parameters import QrelParameters
from builder.runtime.ledger import Ledger, RejectWriter
from builder.runtime.limits import Limits
from builder.runtime.progress import Progress
from builder.runtime.references import Files, Located, Same
from builder.runtime.stage import stage
from schemas import (
    ClickEstimates,
    Gathered,
    GradeCuts,
    GradedPairs,
    GradedQueries,
    GradeSensitivity,
    JudgedQueries,
    KeptCandidates,
    Qrels,
)

REASONS = (
    "query_not_candidate",
    "never_examined",
    "too_few_examinations",
    "document_not_in_crawl",
    "query_has_too_few_judged",
)

PAIRS = """
CREATE TEMP TABLE pairs AS
WITH crawled AS (
    SELECT ('0x' || substr(doc_id, 2))::UBIGINT AS doc FROM documents
),
scored AS (
    SELECT query, doc, coalesce(impressions, 0) AS impressions,
           coalesce(examinations, 0) AS examinations, coalesce(clicks, 0) AS clicks,
           coalesce(last_clicks, 0) AS last_clicks, other_examinations,
           CASE WHEN getvariable('by_relevance') THEN relevance ELSE attractiveness END AS score,
           attractiveness, satisfaction, manual_grade
    FROM click_estimates FULL JOIN manual_grades USING (query, doc)
),
ruled AS (
    SELECT *,
           CASE WHEN query NOT IN (SELECT query FROM candidates) THEN 'query_not_candidate'
                WHEN manual_grade IS NULL AND (examinations = 0 OR score IS NULL)
                    THEN 'never_examined'
                WHEN manual_grade IS NULL AND examinations < getvariable('min_examinations')
                    THEN 'too_few_examinations'
                WHEN doc NOT IN (SELECT doc FROM crawled) THEN 'document_not_in_crawl'
           END AS reason
    FROM scored
),
judged AS (
    SELECT query, count(*) AS judged FROM ruled WHERE reason IS NULL GROUP BY query
)
SELECT ruled.* EXCLUDE (reason),
       CASE WHEN reason IS NULL AND judged < getvariable('min_judged')
            THEN 'query_has_too_few_judged' ELSE reason END AS reason
FROM ruled LEFT JOIN judged USING (query)
"""

ACCOUNT = "SELECT reason, count(*) FROM pairs GROUP BY reason"

PRIORS = """
SELECT DISTINCT attractiveness_alpha, attractiveness_beta, satisfaction_alpha, satisfaction_beta
FROM click_estimates LIMIT 2
"""

EVIDENCE = """
SELECT examinations, clicks, last_clicks, score, count(*) AS pairs
FROM pairs
WHERE reason IS NULL AND examinations >= getvariable('min_examinations') AND score IS NOT NULL
GROUP BY ALL ORDER BY ALL
"""

HAS_SCORES = """
SELECT count(*) FILTER (examinations > 0) = 0
    OR count(CASE WHEN getvariable('by_relevance') THEN relevance ELSE attractiveness END) > 0
FROM click_estimates
"""

QRELS = """
CREATE VIEW qrels AS
WITH merged AS (
    SELECT *, CASE WHEN getvariable('manual_wins')
                   THEN manual_grade IS NOT NULL ELSE click_grade IS NULL END AS is_manual
    FROM pairs LEFT JOIN click_grades USING (examinations, clicks, last_clicks, score)
    WHERE reason IS NULL
)
SELECT query, doc,
       'q' || lpad(lower(to_hex(query)), 16, '0') AS query_id,
       'd' || lpad(lower(to_hex(doc)), 16, '0') AS doc_id,
       CASE WHEN is_manual THEN manual_grade ELSE click_grade END::UTINYINT AS grade,
       score, attractiveness, satisfaction, impressions, examinations, clicks, last_clicks,
       CASE WHEN is_manual THEN 'manual' ELSE 'click' END AS source,
       score_low, score_high, stability,
       click_grade::UTINYINT AS click_grade, manual_grade::UTINYINT AS manual_grade
FROM merged
"""

ORDERED_QRELS = "SELECT * FROM qrels ORDER BY query, doc"

JUDGED_QUERIES = """
WITH judged AS (
    SELECT query, count(*) AS judged, count(*) FILTER (grade > 0) AS relevant
    FROM qrels GROUP BY query
)
SELECT 'q' || lpad(lower(to_hex(query)), 16, '0') AS query_id,
       text, topics, impressions, users, clicks, judged, relevant, variant_set
FROM candidates JOIN judged USING (query)
ORDER BY query
"""


def _first_snapshot(workflow: Workflow, key: str) -> tuple[str, ...]:
    """The first snapshot, if its fitted grade cuts also apply to this one."""
    first = workflow.names[0]
    return (first,) if workflow.qrels.policy == "target_shares" and key != first else ()


FittedCuts = Annotated[Sequence[Table[GradeCuts]], Located(_first_snapshot)]


@stage("grades", version="2", writes=(GradedPairs, GradedQueries, GradeCuts, GradeSensitivity))
def grade(
    out: Path,
    *,
    click_estimates: Same[ClickEstimates],
    candidates: Same[KeptCandidates],
    documents: Same[Gathered],
    params: QrelParameters,
    limits: Limits,
    progress: Progress,
    cuts: FittedCuts = (),
    judgements: Annotated[Sequence[Source], Files(lambda w, key: w.snapshot(key).judgements)] = (),
) -> Ledger:
    """Turn click estimates, and judgements by people where there are any, into graded qrels.

    Writes `graded_pairs`, `graded_queries`, `grade_cuts`, `grade_sensitivity` and `rejects`.

    Args:
        out: Empty folder of the stage.
        click_estimates: Estimates of every pair shown (contract `ClickEstimates`).
        candidates: Queries that may enter the collection (contract `Candidates`).
        documents: Documents of the snapshot; only `doc_id` is read.
        params: Score, policy, minimum evidence, how manual grades are merged.
        limits: Threads, memory and scratch space.
        progress: Reports the pairs graded.
        cuts: Under `target_shares`, the `grade_cuts` of the first snapshot; none on the first
            snapshot itself, where they are fitted.
        judgements: Files of judgements by people (TSV or Parquet, contract `Judgements`).

    Returns:
        The account in pairs, shown or judged by people, by `REASONS`.

    Raises:
        FormatError: a file of judgements is not one.
        DataError: the estimates carry more than one prior.
        UsageError: the click model does not estimate what `params` grades.
    """
    with limits.connect(ENGINE_SHARE) as connection:
        click_estimates.view(connection, "click_estimates")
        candidates.view(connection, "candidates")
        documents.view(connection, "documents")
        connection.register("manual_grades", read_judgements(judgements).to_arrow())
        set_variables(
            connection,
            min_examinations=params.min_examinations,
            min_judged=params.min_judged,
            by_relevance=params.score == "relevance",
            manual_wins=params.manual == "wins",
        )
        priors = read_priors(connection)
        _check_scores(connection, priors, params)
        connection.execute(PAIRS)
        ledger = _account(connection, out)
        used = _grade_by_clicks(connection, priors, params, cuts)
        _write_cuts(out, used, params)
        connection.execute(QRELS)
        write_query(connection, ORDERED_QRELS, out / "graded_pairs.parquet", Qrels)
        write_query(connection, JUDGED_QUERIES, out / "graded_queries.parquet", JudgedQueries)
        write_sensitivity(connection, priors, used, params, out / "grade_sensitivity.parquet")
        progress.advance(ledger.rows_in)
    return ledger


def _account(connection: duckdb.DuckDBPyConnection, out: Path) -> Ledger:
    counts = dict(connection.execute(ACCOUNT).fetchall())
    ledger = Ledger("pairs", rows_in=sum(counts.values()), rows_out=counts.get(None, 0))
    with RejectWriter(out, "grades", ledger) as rejects:
        for reason in REASONS:
            rejects.add(reason, rows=counts.get(reason, 0))
    return ledger


def read_priors(connection: duckdb.DuckDBPyConnection) -> Priors | None:
    """The priors that the view `click_estimates` records; uniform where it has no row.

    Returns:
        None where the estimates are those of a model that has no posterior.

    Raises:
        DataError: it records several.
    """
    found = connection.execute(PRIORS).fetchall()
    if not found:
        return Priors()
    if len(found) == 1 and set(found[0]) == {None}:
        return None
    if len(found) > 1 or None in found[0]:
        raise DataError(
            "click estimates: expected the same four prior columns in every row, found "
            f"{found}; estimates of several logs are merged by adding their counts and "
            "estimating again, not by appending their rows"
        )
    return Priors(Beta(*found[0][:2]), Beta(*found[0][2:]))


def _check_scores(
    connection: duckdb.DuckDBPyConnection, priors: Priors | None, params: QrelParameters
) -> None:
    """Raise a UsageError when the estimates lack what is graded; plug-ins are known only here."""
    if not connection.execute(HAS_SCORES).fetchall()[0][0]:
        raise UsageError(
            f'qrels.score = "{params.score}": the click model has no {params.score}; set '
            "qrels.score to what it estimates, or take another clicks.model, such as sdbn"
        )
    if priors is None and params.policy == "credible":
        raise UsageError(
            'qrels.policy = "credible" needs the posterior of a score, and the click model gives a '
            'point estimate; set qrels.policy = "fixed" or "target_shares", or clicks.model = '
            '"sdbn"'
        )


def _grade_by_clicks(
    connection: duckdb.DuckDBPyConnection,
    priors: Priors | None,
    params: QrelParameters,
    cuts: Sequence[Table],
) -> Cuts:
    """Grade every distinct kind of evidence into the table `click_grades`; returns the cuts."""
    counts = connection.execute(EVIDENCE).fetchnumpy()
    columns = ("examinations", "clicks", "last_clicks")
    evidence = Evidence(*(np.asarray(counts[name], dtype=np.int64) for name in columns))
    score = np.asarray(counts["score"], dtype=np.float64)
    posterior = scores_of(evidence, priors, score, params)
    pairs = np.asarray(counts["pairs"], dtype=np.int64)
    used = _read_cuts(cuts) if cuts else _own_cuts(posterior, pairs, params)
    grades = assign_grades(posterior, used, params)
    low, high = posterior.interval(params.credibility)
    frame = pl.DataFrame(
        {
            **{name: getattr(evidence, name) for name in columns},
            "score": score,
            "click_grade": grades,
            "score_low": low,
            "score_high": high,
            "stability": stability(posterior, grades, used),
        }
    )
    connection.register("click_grades", frame.fill_nan(None).to_arrow())
    return used


def _own_cuts(
    posterior: Posterior | PointScores, pairs: np.ndarray, params: QrelParameters
) -> Cuts:
    if params.policy == "target_shares":
        return fit_cuts(posterior.mean(), pairs, target_shares(params))
    return Cuts(*params.cuts)


def _read_cuts(cuts: Sequence[Table]) -> Cuts:
    values = cuts[0].scan().sort("grade").collect()["cut"].to_list()
    return Cuts(*values)


def _write_cuts(out: Path, cuts: Cuts, params: QrelParameters) -> None:
    frame = pl.DataFrame(
        {"grade": [1, 2], "cut": [cuts.relevant, cuts.highly], "policy": [params.policy] * 2}
    )
    write_frame(frame, out / "grade_cuts.parquet", GradeCuts)
