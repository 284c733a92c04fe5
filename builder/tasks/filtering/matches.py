"""Warnings about truth files and runs that do not match each other or the measures."""

from collections.abc import Iterator

from builder.tasks.filtering.score import FilteringResult


def mismatch_warnings(result: FilteringResult) -> Iterator[str]:
    """Yield a warning if no document is relevant, and one per run with a problem.

    A run has a problem if it returns no judged document, or if its confidences are at most 1.

    Args:
        result: Scores of the runs.
    """
    parameters = result.parameters
    if not result.whole["targets_true"].sum():
        yield (
            "no document of the truth file is relevant, so precision and recall are undefined: "
            f"expected ratings of {parameters.relevance} or more by {parameters.assessors} of its "
            "assessors; see --relevance and --assessors"
        )
    is_counted = parameters.unjudged == "false_positive"
    for row in result.runs.iter_rows(named=True):
        if row["lines"] == row["below_rating"]:
            yield (
                f"{row['system']}: the run returns no document: found {row['lines']} lines, of "
                f"which {row['below_rating']} are ignored because of their rating"
            )
        elif row["pairs"] == (row["unjudged"] if is_counted else 0):
            yield (
                f"{row['system']}: none of the returned documents is judged for its target; check "
                "that the run and the truth file use the same stream ids and targets"
            )
        highest = result.max_confidences[row["system"]]
        if highest is not None and highest <= 1:
            yield (
                f"{row['system']}: all confidences are at most 1, but their scale ends at 1000; "
                "multiply probabilities by 1000"
            )
