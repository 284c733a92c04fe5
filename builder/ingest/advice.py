"""Generates notes about empty input files and about frequent reject reasons."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from builder.io.sources import Source
from builder.reporting.numbers import pluralize
from builder.text.listing import join_names

REPEATED = "repeated_impression"
LOG_ADVICE = {
    "click_not_shown": "clicked ranks start at 1; if clicks are flags or ids, set log.click_form",
    "bad_clicks": "if clicks are flags or ids, set log.click_form",
    "bad_list": "if list items have a different separator, set log.list_separator",
    "bad_time": "if times have a different format, set log.time_format or log.time_unit",
    "not_json": "each line must be one JSON object (NaN is not valid JSON); if the files have a "
    "different format, set log.format or convert them",
    "bot_rate": "if one user id stands for many users, such as 0 for a missing id, remove it from "
    'the log; if these users are not bots, set log.bot_rate or log.bots = "keep"',
    REPEATED: "if no record is listed twice, but times are precise only to the minute, set "
    'log.repeats = "keep"',
}
"""Advice on how to avoid rejects of a query log, by reject reason."""
CLICK_REASONS = ("click_not_shown", "bad_clicks")
"""Reject reasons that concern the clicks of a record."""

CRAWL_ADVICE = {
    "bad_url": "if URLs are in a different field, set crawl.fields.url; if pages have ids instead "
    "of URLs, set crawl.address",
    "bad_time": "if times are in a different field or format, set crawl.fields.time, "
    "crawl.time_unit or crawl.time_format",
    "bad_text": "if texts are in a different field, set crawl.fields.text",
    "not_json": "each line must be one JSON object (NaN is not valid JSON); if the files have a "
    "different format, set crawl.format or convert them",
    "bad_title": "if titles are in a different field, set crawl.fields.title",
}
"""Advice on how to avoid rejects of a crawl, by reject reason."""

MIN_SHARE = 0.1
"""Advice is given if more than this share of the records is rejected for the same reason."""
LATE_SHARE = 1 / 3
"""Impressions are reported as split if at least this share of them begins after the most common
first rank; for example, at 11 instead of 1."""
SINGLE_SHARE = 0.9
"""Impressions are reported as split if at least this share of them has a single result."""
MIN_SINGLES = 10
"""Smallest number of impressions for which a high share of single results is reported."""
SPLIT_ADVICE = (
    "only rows with the same time, user and query form one impression; if the rows of a search "
    "have different times, set log.fields.time to a column with the time of the search, or write "
    "the time of the first result into all rows of the search"
)


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
        records, verb = pluralize(record_count, "record"), "was" if rows == 1 else "were"
        yield f"{rows:,} of {records} {verb} rejected as {reason}: {advice[reason]}"


def frequent_reasons(
    reject_counts: Mapping[str, int], record_count: int, advice: Mapping[str, str]
) -> list[str]:
    """Return the reject reasons in `advice` that apply to more than `MIN_SHARE` of the records."""
    return [reason for reason in advice if reject_counts.get(reason, 0) > MIN_SHARE * record_count]


def note_rejected_clicks(
    reject_counts: Mapping[str, int], record_count: int, clicked_count: int
) -> Iterator[str]:
    """Yield a note with advice if many records with clicks are rejected because of their clicks.

    In a log with few clicks, these rejects may be too small a share of all records for
    `advise_on_rejects` to mention them, although the remaining clicks are probably misread too.

    Args:
        reject_counts: Number of rejected records by reason.
        record_count: Number of records read.
        clicked_count: Number of records with clicks that were not rejected because of the clicks.
    """
    noted = frequent_reasons(reject_counts, record_count, LOG_ADVICE)
    for reason in CLICK_REASONS:
        rows = reject_counts.get(reason, 0)
        total = rows + clicked_count
        if reason not in noted and rows > MIN_SHARE * total:
            advice = LOG_ADVICE[reason]
            records, verb = pluralize(total, "record"), "was" if rows == 1 else "were"
            yield f"{rows:,} of {records} with clicks {verb} rejected as {reason}: {advice}"


def advise_on_split_impressions(
    impressions_by_first_rank: Counter[float], impressions_by_size: Counter[int]
) -> Iterator[str]:
    """Yield a note with advice if the searches of a log in long format seem to have been split up.

    The likely cause is that the rows of a search have different times, so that they do not form a
    single impression.

    Args:
        impressions_by_first_rank: Number of impressions by the rank of their first result.
        impressions_by_size: Number of impressions by their number of results.
    """
    counts = impressions_by_first_rank
    total = counts.total()
    usual = min(counts, key=lambda rank: (-counts[rank], rank), default=0)
    late = sum(count for rank, count in counts.items() if rank > usual)
    singles = impressions_by_size[1]
    if late and late >= LATE_SHARE * total:
        yield f"{late:,} of {total:,} impressions begin after rank {usual:.0f}: {SPLIT_ADVICE}"
    elif total >= MIN_SINGLES and singles >= SINGLE_SHARE * total:
        yield f"{singles:,} of {total:,} impressions have a single result: {SPLIT_ADVICE}"


def note_files_without_records(
    files: Sequence[Source], record_counts: Mapping[int, int]
) -> Iterator[str]:
    """Yield one note that lists the files of a crawl that are not empty but have no records.

    Args:
        files: Files of the crawl.
        record_counts: Number of records in each file, kept or rejected, by index of the file.
    """
    names = [
        file.name
        for index, file in enumerate(files)
        if not record_counts.get(index) and file.path.stat().st_size
    ]
    if names:
        yield (
            f"no pages were found in {join_names(names, separator=', ')}; expected rows or, in "
            "WARC files, records of type response, resource or conversion"
        )


def note_empty_files(files: Sequence[Source]) -> Iterator[str]:
    """Yield one note that lists the empty files (0 bytes), if there are any."""
    empty = [file.name for file in files if not file.path.stat().st_size]
    if empty:
        verb = "is" if len(empty) == 1 else "are"
        yield f"{join_names(empty, separator=', ')} {verb} empty (0 bytes)"
