"""Parses the results and clicks of a log record.

Results are URLs or ids in rank order, or objects; clicks are ranks, URLs, ids, flags or objects.
Clicks are sorted by time if each click has a time.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeGuard

from builder.ingest.fields import parse_id
from builder.ingest.logs.scalars import parse_click_order, parse_integer
from builder.ingest.rejects import RejectError
from builder.ingest.texts import canonical_url
from builder.ingest.timestamps import parse_time_with_fraction
from builder.parameters import LogParameters


def parse_results(
    results: object, clicks: object, params: LogParameters
) -> tuple[list[str], list[int]]:
    """Parse the results and clicks of a log record.

    Args:
        results: List of URLs or ids, or of objects with `url` and optional `rank` and `clicked`.
        clicks: List of ranks, URLs, ids, objects with `rank` or `url`, or flags (see
            `log.click_form`); a single URL or id need not be in a list. None means no clicks.
            However, if results are given as objects, None or an empty list means that clicks are
            read from the field `clicked` of the results.
        params: Section `[log]` of the definition.

    Returns:
        URLs or ids in rank order, and the 1-based ranks of the clicked results in click order.

    Raises:
        RejectError: a value has an unsupported type, there are no results or too many, or a click
            is on a result that was not shown.
    """
    if not isinstance(results, list):
        raise RejectError("bad_results")
    if len(results) > params.max_results:
        raise RejectError("too_many_results")
    if any(isinstance(result, dict) for result in results):
        return _parse_result_objects(results, clicks, params)
    if not results:
        raise RejectError("no_results")
    urls = _parse_urls_or_ids(results)
    if params.click_form == "flags":
        clicks = _flags_to_clicked_ranks(clicks, range(1, len(urls) + 1))
    return urls, _clicked_result_positions(clicks, urls, params)


def _parse_result_objects(
    results: list[Any], clicks: object, params: LogParameters
) -> tuple[list[str], list[int]]:
    """Parse results given as objects; clicks given as ranks refer to the `rank` of the objects."""
    if not all(isinstance(result, dict) for result in results):
        raise RejectError("bad_results")
    names = _parse_urls_or_ids([result.get("url") for result in results])
    ranks = [result.get("rank") for result in results]
    if all(rank is None for rank in ranks):
        ranks = list(range(1, len(results) + 1))
    ranks = [parse_integer(rank) for rank in ranks]
    if any(rank is None or rank < 0 for rank in ranks) or len(set(ranks)) < len(ranks):
        raise RejectError("bad_rank")
    by_rank = sorted(zip(ranks, names, results, strict=True), key=itemgetter(0))
    urls = [name for _, name, _ in by_rank]
    if clicks == []:
        clicks = None
    if params.click_form == "flags":
        clicks = _flags_to_clicked_ranks(clicks, ranks)
    if clicks is None:
        orders = [parse_click_order(result.get("clicked")) for _, _, result in by_rank]
        clicked = [position for position, order in enumerate(orders, 1) if order]
        return urls, sorted(clicked, key=lambda position: orders[position - 1])
    positions = {rank: position for position, (rank, _, _) in enumerate(by_rank, 1)}
    return urls, _clicked_result_positions(clicks, urls, params, positions)


def _parse_urls_or_ids(values: list[Any]) -> list[str]:
    """Convert URLs or numeric ids to strings.

    Raises:
        RejectError: a value is missing or is neither a string nor an integer.
    """
    names = [name for value in values if (name := parse_id(value))]
    if len(names) < len(values):
        raise RejectError("bad_results")
    return names


def _is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is an integer and not a Boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def _flags_to_clicked_ranks(flags: object, result_ranks: Sequence[int]) -> list[int] | None:
    """Convert click flags, one per result, to clicked ranks; return None if `flags` is None.

    Surplus flags, which pad some lists to a fixed length, are ignored if they are all 0.

    Raises:
        RejectError: there are fewer flags than results, a flag is invalid, or a surplus flag is
            set.
    """
    if flags is None:
        return None
    if not isinstance(flags, list) or len(flags) < len(result_ranks):
        raise RejectError("bad_clicks")
    if any(flag is None for flag in flags):
        raise RejectError("bad_clicks")
    clicked = [parse_click_order(flag) > 0 for flag in flags]
    if any(clicked[len(result_ranks) :]):
        raise RejectError("click_not_shown")
    return sorted(
        rank for rank, is_clicked in zip(result_ranks, clicked, strict=False) if is_clicked
    )


def _clicked_result_positions(
    clicks: object,
    urls: list[str],
    params: LogParameters,
    positions: Mapping[int, int] | None = None,
) -> list[int]:
    """Return the 1-based position of each clicked result among the results, in click order.

    Args:
        clicks: Clicks of the record, as logged.
        urls: URLs or ids of the results in rank order.
        params: Section `[log]` of the definition.
        positions: Position of each result by its logged rank; None if each rank is the position.
    """
    if clicks is None:
        return []
    clicks_are_ids = params.click_form == "ids"
    if isinstance(clicks, str) or (clicks_are_ids and _is_integer(clicks)):
        clicks = [clicks]
    if not isinstance(clicks, list):
        raise RejectError("bad_clicks")
    found = [
        _clicked_result_position(click, urls, positions, clicks_are_ids=clicks_are_ids)
        for click in clicks
    ]
    if 0 in found:
        raise RejectError("click_not_shown")
    times = [click.get("time") if isinstance(click, dict) else None for click in clicks]
    click_times = [
        parse_time_with_fraction(time, params, accepts_date_numbers=False)
        for time in times
        if time is not None
    ]
    if not click_times or len(click_times) < len(found):
        return found
    return [
        position for _, position in sorted(zip(click_times, found, strict=True), key=itemgetter(0))
    ]


def _clicked_result_position(
    click: object, urls: list[str], positions: Mapping[int, int] | None, *, clicks_are_ids: bool
) -> int:
    """Return the 1-based position of a clicked result among the results; 0 if it was not shown."""
    if isinstance(click, list):
        click = click[0] if click else None
    if isinstance(click, dict):
        rank = click.get("rank")
        click = parse_id(click.get("url")) if rank is None else rank
    elif clicks_are_ids:
        click = parse_id(click)
    if isinstance(click, str) and (clicks_are_ids or click in urls or "://" in click):
        return _position_of_url(click, urls)
    rank = None if isinstance(click, str) else parse_integer(click)
    if rank is None:  # text that matches no result may be an id, never a rank
        raise RejectError("bad_clicks")
    if positions is not None:
        return positions.get(rank, 0)
    return rank if 1 <= rank <= len(urls) else 0


def _position_of_url(clicked_url: str, urls: list[str]) -> int:
    """Return the 1-based position of a clicked URL or id among the results; 0 if it was not shown.

    If no result equals the clicked text, the first result with the same canonical URL is used.
    """
    if clicked_url in urls:
        return urls.index(clicked_url) + 1
    key = canonical_url(clicked_url)
    keys = map(canonical_url, urls if key is not None else ())
    return next((position for position, other in enumerate(keys, 1) if other == key), 0)
