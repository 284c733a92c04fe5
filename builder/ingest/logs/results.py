"""Results and clicks of one record.

In: results as URLs or ids in rank order, or as objects; clicks as ranks, URLs, ids, flags or
objects. Out: URLs or ids in rank order and 1-based ranks in click order, or the reason for
rejecting the record. If every click has a time, clicks are ordered by time.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeGuard

from builder.ingest.fields import name_of
from builder.ingest.logs.spellings import click_order, parse_integer
from builder.ingest.moments import parse_moment
from builder.ingest.rejects import RejectError
from builder.parameters import LogParameters


def read_results(
    results: object, clicks: object, params: LogParameters
) -> tuple[list[str], list[int]]:
    """URLs or ids in rank order, and 1-based ranks of the clicks in click order.

    Args:
        results: URLs or ids, or objects with `url` and optional `rank` and `clicked`.
        clicks: Ranks or URLs, objects with `rank` or `url`, or flags (`click_form`); a single URL
            or id need not be a list; None: the `clicked` fields of the results.
        params: `[log]`.

    Raises:
        RejectError: unknown form, too many results, or a click on a result that was not shown.
    """
    if not isinstance(results, list):
        raise RejectError("bad_results")
    if len(results) > params.max_results:
        raise RejectError("too_many_results")
    if any(isinstance(result, dict) for result in results):
        return _read_objects(results, clicks, params)
    if not results:
        raise RejectError("no_results")
    urls = _names(results)
    if params.click_form == "flags":
        clicks = _flagged(clicks, range(1, len(urls) + 1))
    return urls, _clicks(clicks, urls, params)


def _read_objects(
    results: list[Any], clicks: object, params: LogParameters
) -> tuple[list[str], list[int]]:
    """As `read_results` for result objects; clicks refer to the ranks in the objects."""
    if not all(isinstance(result, dict) for result in results):
        raise RejectError("bad_results")
    names = _names([result.get("url") for result in results])
    ranks = [result.get("rank") for result in results]
    if all(rank is None for rank in ranks):
        ranks = list(range(1, len(results) + 1))
    ranks = [parse_integer(rank) for rank in ranks]
    if None in ranks or len(set(ranks)) < len(ranks):
        raise RejectError("bad_rank")
    by_rank = sorted(zip(ranks, names, results, strict=True), key=itemgetter(0))
    urls = [name for _, name, _ in by_rank]
    if params.click_form == "flags":
        clicks = _flagged(clicks, ranks)
    if clicks is None:
        orders = [click_order(result.get("clicked")) for _, _, result in by_rank]
        clicked = [position for position, order in enumerate(orders, 1) if order]
        return urls, sorted(clicked, key=lambda position: orders[position - 1])
    positions = {rank: position for position, (rank, _, _) in enumerate(by_rank, 1)}
    return urls, _clicks(clicks, urls, params, positions)


def _names(values: list[Any]) -> list[str]:
    """URLs or ids as text."""
    names = [name for value in values if (name := name_of(value))]
    if len(names) < len(values):
        raise RejectError("bad_results")
    return names


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _flagged(flags: object, ranks: Sequence[int]) -> list[int] | None:
    """Ranks of the clicked results by one flag a result; None without flags.

    There may be more flags than results if all of those are 0: lists padded to one length.
    """
    if flags is None:
        return None
    if not isinstance(flags, list) or len(flags) < len(ranks):
        raise RejectError("bad_clicks")
    if any(flag is None for flag in flags):
        raise RejectError("bad_clicks")
    clicked = [click_order(flag) > 0 for flag in flags]
    if any(clicked[len(ranks) :]):
        raise RejectError("click_not_shown")
    return sorted(rank for rank, is_clicked in zip(ranks, clicked, strict=False) if is_clicked)


def _clicks(
    value: object,
    urls: list[str],
    params: LogParameters,
    positions: Mapping[int, int] | None = None,
) -> list[int]:
    """Positions of clicks; `positions` maps the ranks of result objects to them."""
    if value is None:
        return []
    are_ids = params.click_form == "ids"
    if isinstance(value, str) or (are_ids and _is_integer(value)):
        value = [value]
    if not isinstance(value, list):
        raise RejectError("bad_clicks")
    found = [_position(click, urls, positions, are_ids=are_ids) for click in value]
    if 0 in found:
        raise RejectError("click_not_shown")
    times = [click.get("time") if isinstance(click, dict) else None for click in value]
    moments = [parse_moment(time, params) for time in times if time is not None]
    if not moments or len(moments) < len(found):
        return found
    return [position for _, position in sorted(zip(moments, found, strict=True), key=itemgetter(0))]


def _position(
    click: object, urls: list[str], positions: Mapping[int, int] | None, *, are_ids: bool
) -> int:
    """Position of a click given as a rank, a URL, or an object or list with one; 0 if not shown."""
    if isinstance(click, list):
        click = click[0] if click else None
    if isinstance(click, dict):
        rank = click.get("rank")
        click = name_of(click.get("url")) if rank is None else rank
    elif are_ids:
        click = name_of(click)
    if isinstance(click, str) and (are_ids or click in urls or "://" in click):
        return urls.index(click) + 1 if click in urls else 0
    rank = None if isinstance(click, str) else parse_integer(click)
    if rank is None:  # a text that is not shown may be an id: never take it for a rank
        raise RejectError("bad_clicks")
    if positions is not None:
        return positions.get(rank, 0)
    return rank if 1 <= rank <= len(urls) else 0
