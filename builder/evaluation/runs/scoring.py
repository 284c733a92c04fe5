"""Scores run files and tables of scores against the relevance judgements of their snapshots."""

from pathlib import Path

from builder.errors import DataError
from builder.evaluation.measures.effectiveness import RunScorer, RunScores
from builder.evaluation.runs.assignment import RunFile
from builder.evaluation.runs.score_tables import is_score_table, scores_from_table
from builder.trec.released import read_snapshot_run


def score_file(file: RunFile, folder: Path, depth: int | None, scorer: RunScorer) -> RunScores:
    """Score a run file, or read its scores from a table.

    Args:
        file: Run file or table of scores.
        folder: Folder of the snapshot, whose ids the run may use.
        depth: Documents evaluated per query; None for all.
        scorer: Scorer of the snapshot.

    Raises:
        FormatError: The file is malformed.
        DataError: The file has no results for any judged query.
    """
    if is_score_table(file.path):
        scores = scores_from_table(file.path, scorer)
    else:
        scores = scorer.score(read_snapshot_run(file.path, depth, folder))
    require_judged_queries(scores, scorer, file)
    return scores


def require_judged_queries(scores: RunScores, scorer: RunScorer, file: RunFile) -> None:
    """Check that a run has results for a judged query, if there are judgements.

    Raises:
        DataError: All queries of the run are unjudged.
    """
    if scorer.query_ids and scores.missing.all():
        raise DataError(
            f"{file.path}: expected results for judged queries of {file.snapshot}, such as "
            f"{scorer.query_ids[0]!r}, found none, but {scores.unjudged} other queries; correct "
            "the query ids, or leave the file out"
        )
