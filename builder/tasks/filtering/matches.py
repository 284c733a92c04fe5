"""Warnings about truth files without relevant documents, and about runs that match no judgement."""

from collections.abc import Iterator

from builder.tasks.filtering.score import FilteringResult


def mismatch_warnings(result: FilteringResult) -> Iterator[str]:
    """Yield a warning if no document is relevant, and warnings about suspicious runs.

    A run is suspicious if it returns no judged document, or if all its confidences are at most 1.

    Args:
        result: Scores of the runs.
    """
    parameters = result.parameters
    if not result.whole["targets_true"].sum():
        yield (
            "no document of the truth file is relevant, so precision and recall are undefined; "
            f"a document is relevant if {parameters.assessors} of its assessors rate it "
            f"{parameters.relevance} or higher (see --relevance and --assessors)"
        )
    is_counted = parameters.unjudged == "false_positive"
    for row in result.runs.iter_rows(named=True):
        if row["lines"] == row["below_rating"]:
            low = f"all of its {row['lines']} lines have a rating below {parameters.relevance}"
            reason = low if row["lines"] else "it has no lines"
            yield f"{row['system']}: the run returns no document, because {reason}"
        elif row["pairs"] == row["unjudged"] == 0 < row["outside_period"]:
            yield (
                f"{row['system']}: all {row['outside_period']} returned documents are outside the "
                "period; check its start and end"
            )
        elif row["pairs"] == (row["unjudged"] if is_counted else 0):
            yield (
                f"{row['system']}: none of the returned documents is judged for its target; check "
                "that the run and the truth file use the same stream ids and targets"
            )
        highest = result.max_confidences[row["system"]]
        if highest is not None and highest <= 1:
            yield (
                f"{row['system']}: all confidences are at most 1, but KBA confidences range up to "
                "1000; multiply probabilities by 1000"
            )
