"""Columns of times as a log has them -> unix seconds, where there is no doubt.

Numbers, moments and ISO 8601 texts. What is null afterwards must be looked at one by one, with
`moments.parse_time`, whose rules these are.
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from builder.ingest.moments import LATEST
from builder.parameters import TimeParameters

Seconds = NDArray[np.int64]

ISO = (
    r"^(?:197[1-9]|19[89][0-9]|2[01][0-9]{2})-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-5][0-9]"
    r"(?:\.[0-9]{3}|\.[0-9]{6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$"
)
"""Texts of which no reading differs from another: fractions are cut, no second is a leap second."""
OFFSET = r"([+-])([0-9]{2}):([0-9]{2})$"
WHOLE = r"^[0-9]{1,15}$"
SLOT = 900
"""Seconds within which the offset of a zone is looked up once."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are counted from it
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def unix_seconds(times: pa.Array, params: TimeParameters) -> pa.Array:
    """Unix seconds (int64) of times; null where there is doubt.

    Args:
        times: Integers, floats, timestamps or texts.
        params: The unit of numbers, the zone of times without an offset.
    """
    if pa.types.is_string(times.type):
        is_iso = params.time_format is None
        return _of_texts(times, params) if is_iso else pa.nulls(len(times), pa.int64())
    if pa.types.is_timestamp(times.type):
        return _of_moments(times, params)
    if pa.types.is_floating(times.type):
        return _of_numbers(times.cast(pa.float64()).fill_null(np.nan).to_numpy(), params)
    return _of_numbers(times.cast(pa.int64()).fill_null(LATEST * 10_000).to_numpy(), params)


def _of_numbers(
    values: NDArray[np.int64] | NDArray[np.float64], params: TimeParameters
) -> pa.Array:
    with np.errstate(invalid="ignore"):
        seconds = values // (1000 if params.time_unit == "ms" else 1)
        sure = (seconds >= -LATEST) & (seconds <= LATEST)  # the absolute of -2**63 is negative
    whole = np.where(sure, seconds, 0).astype(np.int64)
    return pa.array(whole, mask=~sure)


def _of_moments(times: pa.Array, params: TimeParameters) -> pa.Array:
    counts = times.cast(pa.int64())
    unknown = counts.is_null().to_numpy(zero_copy_only=False)
    values = counts.fill_null(0).to_numpy()
    seconds = values // UNITS[times.type.unit]
    if times.type.tz is None:
        offsets, sure = _offsets(seconds, params)
        seconds = seconds - offsets
        unknown = unknown | ~sure
    return pa.array(seconds, mask=unknown | (values < 0) | (seconds > LATEST))


def _of_texts(times: pa.Array, params: TimeParameters) -> pa.Array:
    text = pl.col("text")
    local = text.str.replace(" ", "T", literal=True).str.slice(0, 19)
    parts = pl.DataFrame({"text": pl.Series(pl.from_arrow(times), dtype=pl.String)}).select(
        number=pl.when(text.str.contains(WHOLE)).then(text.str.to_integer(strict=False)),
        local=pl.when(text.str.contains(ISO)).then(
            local.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False).dt.epoch("s")
        ),
        naive=~text.str.contains(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"),
        offset=_offset_in(text),
    )
    if parts["number"].null_count() < len(parts):
        return _of_numbers(parts["number"].fill_null(LATEST * 10_000).to_numpy(), params)
    seconds = parts["local"].fill_null(0).to_numpy() - parts["offset"].to_numpy()
    sure = parts["local"].is_not_null().to_numpy()
    naive = parts["naive"].fill_null(value=False).to_numpy() & sure
    if naive.any():
        offsets, known = _offsets(seconds, params)
        seconds = np.where(naive, seconds - offsets, seconds)
        sure = sure & (known | ~naive)
    return pa.array(seconds, mask=~sure)


def _offset_in(text: pl.Expr) -> pl.Expr:
    """Seconds of the offset that a text ends with; 0 without one."""
    hours, minutes = (
        text.str.extract(OFFSET, group).cast(pl.Int64, strict=False) for group in (2, 3)
    )
    size = (hours * 3600 + minutes * 60).fill_null(0)
    return pl.when(text.str.extract(OFFSET, 1) == "-").then(-size).otherwise(size)


def _offsets(local: Seconds, params: TimeParameters) -> tuple[Seconds, NDArray[np.bool_]]:
    """Offset of the zone from UTC at local times, and whether it is the same all around them."""
    if params.time_zone == "UTC":
        return np.zeros_like(local), np.ones(len(local), dtype=bool)
    zone = ZoneInfo(params.time_zone)
    slots, places = np.unique(local // SLOT, return_inverse=True)
    found = [_offset_of(int(slot) * SLOT, zone) for slot in slots]
    offsets = np.array([offset or 0 for offset in found], dtype=np.int64)
    return offsets[places], np.array([offset is not None for offset in found])[places]


def _offset_of(start: int, zone: ZoneInfo) -> int | None:
    """The offset of a slot of local time; None where it changes within, or is beyond reason."""
    try:
        ends = [EPOCH + timedelta(seconds=start + second) for second in (0, SLOT - 1)]
    except OverflowError:
        return None
    first, last = (zone.utcoffset(end) for end in ends)
    if first is None or first != last or first.microseconds:
        return None
    return first // timedelta(seconds=1)
