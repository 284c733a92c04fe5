"""The page of one record of a log: which results it shows, and which of them were clicked.

In: results as addresses or ids in rank order, or as objects, and clicks as ranks or as objects.
Out: addresses or ids in rank order and ranks of clicks in click order, or the reason why they are
no page.
Clicks that all have a time are in the order of their times.
"""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeGuard

from builder.ingest.fields import name_of
from builder.ingest.moments import parse_moment
from builder.ingest.rejects import RejectError
from builder.parameters import LogParameters


def read_page(
    results: object, clicks: object, params: LogParameters
) -> tuple[list[str], list[int]]:
    """Addresses or ids in rank order, and the ranks that were clicked, from 1.

    Args:
        results: Addresses or ids, or objects with `url`, and perhaps `rank` and `clicked`.
        clicks: Ranks or URLs, objects with `rank` or `url`, or flags (`click_form`); one URL or id
            may stand alone; None: what results say themselves.
        params: `[log]`.

    Raises:
        RejectError: they are not of these forms, too many, or a click is on none of the results.
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
    """As `read_page`; clicks by rank mean the ranks that the objects have."""
    if not all(isinstance(result, dict) for result in results):
        raise RejectError("bad_results")
    names = _names([result.get("url") for result in results])
    ranks = [result.get("rank") for result in results]
    if all(rank is None for rank in ranks):
        ranks = list(range(1, len(results) + 1))
    if not all(map(_is_integer, ranks)) or len(set(ranks)) < len(ranks):
        raise RejectError("bad_rank")
    by_rank = sorted(zip(ranks, names, results, strict=True), key=itemgetter(0))
    urls = [name for _, name, _ in by_rank]
    if params.click_form == "flags":
        clicks = _flagged(clicks, ranks)
    if clicks is None:
        clicked = (_is_clicked(result) for _, _, result in by_rank)
        return urls, [place for place, is_clicked in enumerate(clicked, 1) if is_clicked]
    places = {rank: place for place, (rank, _, _) in enumerate(by_rank, 1)}
    return urls, _clicks(clicks, urls, params, places)


def _names(values: list[Any]) -> list[str]:
    """Addresses or ids as texts."""
    names = [name for value in values if (name := name_of(value))]
    if len(names) < len(values):
        raise RejectError("bad_results")
    return names


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_clicked(result: dict[str, Any]) -> bool:
    clicked = result.get("clicked")
    if clicked is None or clicked in (0, 1):
        return bool(clicked)
    raise RejectError("bad_clicks")


def _flagged(flags: object, ranks: Sequence[int]) -> list[int] | None:
    """The ranks of results that were clicked; None where nothing is told.

    There may be more flags than results, all 0: pages filled up to one length.
    """
    if flags is None:
        return None
    if not isinstance(flags, list) or len(flags) < len(ranks):
        raise RejectError("bad_clicks")
    if not all(isinstance(flag, int | float) and flag >= 0 for flag in flags):
        raise RejectError("bad_clicks")
    if any(flags[len(ranks) :]):
        raise RejectError("click_not_shown")
    return sorted(rank for rank, flag in zip(ranks, flags, strict=False) if flag)


def _clicks(
    value: object,
    urls: list[str],
    params: LogParameters,
    places: Mapping[int, int] | None = None,
) -> list[int]:
    """Places of clicks; `places` has those of ranks where these are not the places themselves."""
    if value is None:
        return []
    are_ids = params.click_form == "ids"
    if isinstance(value, str) or (are_ids and _is_integer(value)):
        value = [value]
    if not isinstance(value, list):
        raise RejectError("bad_clicks")
    found = [_place(click, urls, places, are_ids=are_ids) for click in value]
    if 0 in found:
        raise RejectError("click_not_shown")
    times = [click.get("time") if isinstance(click, dict) else None for click in value]
    moments = [parse_moment(time, params) for time in times if time is not None]
    if not moments or len(moments) < len(found):
        return found
    return [place for _, place in sorted(zip(moments, found, strict=True), key=itemgetter(0))]


def _place(
    click: object, urls: list[str], places: Mapping[int, int] | None, *, are_ids: bool
) -> int:
    """The place of a click given as a rank, a URL, or an object or a list with one; 0: none."""
    if isinstance(click, list):
        click = click[0] if click else None
    if isinstance(click, dict):
        rank = click.get("rank")
        click = name_of(click.get("url")) if rank is None else rank
    elif are_ids:
        click = name_of(click)
    if isinstance(click, str) and (are_ids or click in urls or "://" in click):
        return urls.index(click) + 1 if click in urls else 0
    if not _is_integer(click):
        raise RejectError("bad_clicks")
    if places is not None:
        return places.get(click, 0)
    return click if 1 <= click <= len(urls) else 0
