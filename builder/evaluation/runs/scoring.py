"""Scores run files and tables of scores against the relevance judgements of their snapshots."""

from pathlib import Path

from builder.errors import DataError
from builder.evaluation.measures.effectiveness import RunScorer, RunScores
from builder.evaluation.runs.assignment import RunFile
from builder.evaluation.runs.score_tables import is_score_table, read_run_scores
from builder.trec.released import read_snapshot_run


def score_run_file(
    file: RunFile, snapshot_folder: Path, depth: int | None, scorer: RunScorer
) -> RunScores:
    """Score a run file, or read the scores if the file is a table of per-query scores.

    Args:
        file: Run file or table of scores.
        snapshot_folder: Folder of the snapshot, used to convert document ids to those of the qrels.
        depth: Number of documents evaluated per query; None for all.
        scorer: Scorer with the relevance judgements of the snapshot.

    Raises:
        FormatError: The file is malformed.
        DataError: The file has no results for any judged query.
    """
    if is_score_table(file.path):
        scores = read_run_scores(file.path, scorer, file.snapshot)
    else:
        scores = scorer.score(read_snapshot_run(file.path, depth, snapshot_folder))
    require_judged_queries(scores, scorer, file)
    return scores


def require_judged_queries(scores: RunScores, scorer: RunScorer, file: RunFile) -> None:
    """Raise an error if a run has no results for any judged query.

    Raises:
        DataError: There are judged queries, but the run has results for none of them.
    """
    if scorer.query_ids and scores.missing.all():
        raise DataError(
            f"{file.path}: expected results for judged queries of {file.snapshot}, such as "
            f"{scorer.query_ids[0]!r}, found only {scores.unjudged} other queries; correct the "
            "query ids, or omit the file"
        )
