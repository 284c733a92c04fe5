"""Advice for a log of which many records are rejected for a reason that a parameter can mend."""

from collections.abc import Iterator, Mapping

ADVICE = {
    "click_not_shown": "ranks in clicks start at 1; if they are flags or ids, set log.click_form",
    "bad_clicks": "if clicks are flags or ids, set log.click_form",
    "bad_list": "if lists have another separator, set log.list_separator",
    "bad_time": "if times have another format, set log.time_format or log.time_unit",
    "repeated_impression": 'if times have the precision of a minute, set log.repeats = "keep"',
}
"""Possible cause and remedy by reject reason."""

MIN_SHARE = 0.1
"""Minimum share of the records with a reject reason for which advice is given."""


def advise_on_rejects(rejected: Mapping[str, int], records: int) -> Iterator[str]:
    """Yield a note for each reject reason in `ADVICE` that is frequent.

    Args:
        rejected: Number of rejected records by reason.
        records: Number of records read.
    """
    for reason, advice in ADVICE.items():
        rows = rejected.get(reason, 0)
        if rows > MIN_SHARE * records:
            yield f"{rows:,} of {records:,} records were rejected as {reason}: {advice}"
