"""Generates notes about empty input files and about frequent reject reasons."""

from collections.abc import Iterator, Mapping, Sequence

from builder.io.sources import Source

LOG_ADVICE = {
    "click_not_shown": "clicked ranks start at 1; if clicks are flags or ids, set log.click_form",
    "bad_clicks": "if clicks are flags or ids, set log.click_form",
    "bad_list": "if list items have a different separator, set log.list_separator",
    "bad_time": "if times have a different format, set log.time_format or log.time_unit",
    "repeated_impression": 'if times are precise only to the minute, set log.repeats = "keep"',
}
"""Advice on how to avoid rejects of a query log, by reject reason."""

CRAWL_ADVICE = {
    "bad_url": "if URLs are in a different field, set crawl.fields.url; if pages have ids instead "
    "of URLs, set crawl.address",
    "bad_time": "if times are in a different field or format, set crawl.fields.time, "
    "crawl.time_unit or crawl.time_format",
    "bad_text": "if texts are in a different field, set crawl.fields.text",
}
"""Advice on how to avoid rejects of a crawl, by reject reason."""

MAX_NAMES = 10
"""Maximum number of file names in a note."""
MIN_SHARE = 0.1
"""Advice is given if more than this share of the records is rejected for the same reason."""


def advise_on_rejects(
    reject_counts: Mapping[str, int], record_count: int, advice: Mapping[str, str]
) -> Iterator[str]:
    """Yield a note with advice for each frequent reject reason.

    Args:
        reject_counts: Number of rejected records by reason.
        record_count: Number of records read.
        advice: Advice by reject reason, such as `LOG_ADVICE`; reasons without advice are ignored.
    """
    for reason in frequent_reasons(reject_counts, record_count, advice):
        rows = reject_counts[reason]
        yield f"{rows:,} of {record_count:,} records were rejected as {reason}: {advice[reason]}"


def frequent_reasons(
    reject_counts: Mapping[str, int], record_count: int, advice: Mapping[str, str]
) -> list[str]:
    """Return the reject reasons in `advice` that apply to more than `MIN_SHARE` of the records."""
    return [reason for reason in advice if reject_counts.get(reason, 0) > MIN_SHARE * record_count]


def note_empty_files(files: Sequence[Source]) -> Iterator[str]:
    """Yield one note that lists the empty files (0 bytes), if there are any."""
    empty = [file.name for file in files if not file.path.stat().st_size]
    if empty:
        more = f" and {len(empty) - MAX_NAMES:,} more" if len(empty) > MAX_NAMES else ""
        verb = "is" if len(empty) == 1 else "are"
        yield f"{', '.join(empty[:MAX_NAMES])}{more} {verb} empty (0 bytes)"
