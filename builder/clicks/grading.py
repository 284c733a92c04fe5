"""The stage `grades`: converts click estimates and manual judgements to graded qrels.

A query-document pair is judged if it has a manual grade or enough examinations. It is kept if its
document is in the crawl and its query has enough judged documents.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import duckdb
import polars as pl

from builder.clicks.click_grades import check_required_scores, create_click_grades, read_priors
from builder.clicks.policies import GradeThresholds
from builder.clicks.sensitivity import write_grade_sensitivity
from builder.clicks.statistics import ENGINE_SHARE
from builder.definition.model import Workflow
from builder.io.engine import set_sql_variables
from builder.io.sources import Source
from builder.io.tables import Table, write_frame, write_query_result
from builder.judging.merging import read_majority_votes
from builder.parameters import QrelParameters
from builder.runtime.ledger import RejectWriter, RowLedger
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import Progress
from builder.runtime.references import FileReference, Same, TableReference
from builder.runtime.stage import stage
from schemas import (
    ClickEstimates,
    GatheredDocuments,
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

REASON_COUNTS = "SELECT reason, count(*) FROM pairs GROUP BY reason"

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


def _snapshot_with_fitted_thresholds(workflow: Workflow, snapshot: str) -> tuple[str, ...]:
    """Return a tuple with the snapshot whose thresholds `snapshot` reuses, empty if none.

    Under the policy `target_shares`, the thresholds are fitted to the first snapshot and reused in
    all later ones.
    """
    first = workflow.snapshot_names[0]
    return (first,) if workflow.qrels.policy == "target_shares" and snapshot != first else ()


FittedCuts = Annotated[Sequence[Table[GradeCuts]], TableReference(_snapshot_with_fitted_thresholds)]


@stage("grades", version="2", writes=(GradedPairs, GradedQueries, GradeCuts, GradeSensitivity))
def grade_pairs(
    out: Path,
    *,
    click_estimates: Same[ClickEstimates],
    candidates: Same[KeptCandidates],
    documents: Same[GatheredDocuments],
    params: QrelParameters,
    limits: ResourceLimits,
    progress: Progress,
    cuts: FittedCuts = (),
    judgements: Annotated[
        Sequence[Source], FileReference(lambda w, key: w.snapshot(key).judgements)
    ] = (),
) -> RowLedger:
    """Grade query-document pairs by click estimates and, if available, manual judgements.

    Writes `graded_pairs`, `graded_queries`, `grade_cuts`, `grade_sensitivity` and `rejects`.

    Args:
        out: Empty output folder of the stage.
        click_estimates: Estimates of every pair shown (schema `ClickEstimates`).
        candidates: Candidate queries of the collection (schema `KeptCandidates`).
        documents: Documents of the snapshot; only `doc_id` is read.
        params: Score, policy, minimum evidence, precedence of manual grades.
        limits: Limits for threads, memory and scratch space.
        progress: Receives the number of pairs graded.
        cuts: The table `grade_cuts` of the first snapshot, reused on later snapshots under the
            policy `target_shares`; otherwise empty.
        judgements: Files of manual judgements (TSV or Parquet, schema `Judgements`).

    Returns:
        The ledger: numbers of query-document pairs, shown or judged manually, that were read, kept
        and rejected. Reject reasons: `REASONS`.

    Raises:
        FormatError: a file does not contain valid judgements.
        DataError: the estimates have more than one prior.
        UsageError: the click model does not estimate `qrels.score`, or has no posterior for the
            policy `credible`.
    """
    with limits.connect_to_duckdb(ENGINE_SHARE) as connection:
        click_estimates.create_view(connection, "click_estimates")
        candidates.create_view(connection, "candidates")
        documents.create_view(connection, "documents")
        connection.register("manual_grades", read_majority_votes(judgements).to_arrow())
        set_sql_variables(
            connection,
            min_examinations=params.min_examinations,
            min_judged=params.min_judged,
            by_relevance=params.score == "relevance",
            manual_wins=params.manual == "wins",
        )
        priors = read_priors(connection)
        check_required_scores(connection, priors, params)
        connection.execute(PAIRS)
        ledger = _write_rejects(connection, out)
        used = create_click_grades(connection, priors, params, cuts)
        _write_grade_thresholds(out, used, params)
        connection.execute(QRELS)
        write_query_result(connection, ORDERED_QRELS, out / "graded_pairs.parquet", Qrels)
        write_query_result(
            connection, JUDGED_QUERIES, out / "graded_queries.parquet", JudgedQueries
        )
        write_grade_sensitivity(connection, priors, used, params, out / "grade_sensitivity.parquet")
        progress.advance(ledger.rows_in)
    return ledger


def _write_rejects(connection: duckdb.DuckDBPyConnection, out: Path) -> RowLedger:
    """Write the table `rejects`, and return the ledger with the row counts of the stage."""
    counts = dict(connection.execute(REASON_COUNTS).fetchall())
    ledger = RowLedger("pairs", rows_in=sum(counts.values()), rows_out=counts.get(None, 0))
    with RejectWriter(out, "grades", ledger) as rejects:
        for reason in REASONS:
            rejects.add(reason, rows=counts.get(reason, 0))
    return ledger


def _write_grade_thresholds(out: Path, thresholds: GradeThresholds, params: QrelParameters) -> None:
    """Write the table `grade_cuts`, with the minimum score of each grade."""
    frame = pl.DataFrame(
        {
            "grade": [1, 2],
            "cut": [thresholds.relevant, thresholds.highly_relevant],
            "policy": [params.policy] * 2,
        }
    )
    write_frame(frame, out / "grade_cuts.parquet", GradeCuts)
