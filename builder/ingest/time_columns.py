"""Converts columns of times to Unix seconds; values that must be parsed one by one become null.

Accepts numbers, timestamps and ISO 8601 strings. Other formats, and local times with an ambiguous
UTC offset, become null; `timestamps.parse_time`, the reference implementation, parses them.
"""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from builder.ingest.timestamps import DATE_NUMBERS, LATEST, UNITS
from builder.parameters import TimeParameters

Seconds = NDArray[np.int64]

ISO = (
    r"^(?:197[1-9]|19[89][0-9]|2[01][0-9]{2})-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-5][0-9]"
    r"(?:\.[0-9]{3}|\.[0-9]{6})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])?$"
)
"""Matches unambiguous ISO 8601 strings, which have seconds up to 59 and optionally a fraction and a
UTC offset; the fraction is dropped when they are parsed."""
OFFSET = r"([+-])([0-9]{2}):([0-9]{2})$"
INTEGER = r"^[0-9]{1,19}$"
SLOT_SECONDS = 900
"""Length in seconds of the slots of local time for which a UTC offset is looked up."""
EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times are counted from it


def to_unix_seconds(times: pa.Array, params: TimeParameters) -> pa.Array:
    """Convert a column of times to Unix seconds (int64); null for unusual or ambiguous times.

    Args:
        times: Integers, floats, timestamps or strings.
        params: Unit of numbers, format of strings and numbers, and zone of times without a UTC
            offset. If a format is set, strings and numbers become null.
    """
    if pa.types.is_timestamp(times.type):
        return _timestamps_to_unix_seconds(times, params)
    if params.time_format is not None:
        return pa.nulls(len(times), pa.int64())
    if pa.types.is_string(times.type):
        return _strings_to_unix_seconds(times, params)
    kind = pa.float64() if pa.types.is_floating(times.type) else pa.int64()
    return _numbers_to_unix_seconds(times.cast(kind), params)


def _numbers_to_unix_seconds(times: pa.Array, params: TimeParameters) -> pa.Array:
    """Convert numbers to Unix seconds.

    Numbers that are out of range or look like a date (such as 20220601) become null.
    """
    is_null = times.is_null().to_numpy(zero_copy_only=False)
    numbers = times.fill_null(0).to_numpy()
    is_date = (numbers >= DATE_NUMBERS[0]) & (numbers <= DATE_NUMBERS[1])
    with np.errstate(invalid="ignore"):
        seconds = numbers // UNITS[params.time_unit]
        is_certain = (seconds >= -LATEST) & (
            seconds <= LATEST
        )  # the absolute of -2**63 is negative
        is_certain &= ~is_date & ~is_null
    whole = np.where(is_certain, seconds, 0).astype(np.int64)
    return pa.array(whole, mask=~is_certain)


def _timestamps_to_unix_seconds(times: pa.Array, params: TimeParameters) -> pa.Array:
    """Convert Arrow timestamps to Unix seconds; null if before 1970 or with an ambiguous offset."""
    counts = times.cast(pa.int64())
    is_null = counts.is_null().to_numpy(zero_copy_only=False)
    values = counts.fill_null(0).to_numpy()
    seconds = values // UNITS[times.type.unit]
    if times.type.tz is None:
        offsets, is_certain = _utc_offsets(seconds, params)
        seconds = seconds - offsets
        is_null = is_null | ~is_certain
    return pa.array(seconds, mask=is_null | (values < 0) | (seconds > LATEST))


def _strings_to_unix_seconds(times: pa.Array, params: TimeParameters) -> pa.Array:
    """Convert numeric or ISO 8601 strings to Unix seconds; other strings become null.

    If any string is numeric, ISO 8601 strings become null, too.
    """
    text = pl.col("text")
    local = text.str.replace(" ", "T", literal=True).str.slice(0, 19)
    parts = pl.DataFrame({"text": pl.Series(pl.from_arrow(times), dtype=pl.String)}).select(
        number=pl.when(text.str.contains(INTEGER)).then(text.str.to_integer(strict=False)),
        local=pl.when(text.str.contains(ISO)).then(
            local.str.to_datetime("%Y-%m-%dT%H:%M:%S", strict=False).dt.epoch("s")
        ),
        is_naive=~text.str.contains(r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"),
        offset=_utc_offset_expression(text),
    )
    if parts["number"].null_count() < len(parts):
        return _numbers_to_unix_seconds(parts["number"].to_arrow(), params)
    seconds = parts["local"].fill_null(0).to_numpy() - parts["offset"].to_numpy()
    is_certain = parts["local"].is_not_null().to_numpy()
    is_naive = parts["is_naive"].fill_null(value=False).to_numpy() & is_certain
    if is_naive.any():
        offsets, is_stable = _utc_offsets(seconds, params)
        seconds = np.where(is_naive, seconds - offsets, seconds)
        is_certain = is_certain & (is_stable | ~is_naive)
    return pa.array(seconds, mask=~is_certain)


def _utc_offset_expression(time_strings: pl.Expr) -> pl.Expr:
    """Return an expression for the UTC offset at the end of each string, in seconds; 0 if none."""
    hours, minutes = (
        time_strings.str.extract(OFFSET, group).cast(pl.Int64, strict=False) for group in (2, 3)
    )
    size = (hours * 3600 + minutes * 60).fill_null(0)
    return pl.when(time_strings.str.extract(OFFSET, 1) == "-").then(-size).otherwise(size)


def _utc_offsets(
    local_seconds: Seconds, params: TimeParameters
) -> tuple[Seconds, NDArray[np.bool_]]:
    """Return the UTC offset of the configured time zone at each local time.

    Args:
        local_seconds: Local times, in seconds since 1970-01-01 00:00 local time.
        params: Section of the definition that sets the time zone.

    Returns:
        UTC offsets in seconds, and a Boolean mask of the times whose offset is unambiguous.
    """
    if params.time_zone == "UTC":
        return np.zeros_like(local_seconds), np.ones(len(local_seconds), dtype=bool)
    zone = ZoneInfo(params.time_zone)
    slots, inverse = np.unique(local_seconds // SLOT_SECONDS, return_inverse=True)
    slot_offsets = [_utc_offset_of_slot(int(slot) * SLOT_SECONDS, zone) for slot in slots]
    offsets = np.array([offset or 0 for offset in slot_offsets], dtype=np.int64)
    return offsets[inverse], np.array([offset is not None for offset in slot_offsets])[inverse]


def _utc_offset_of_slot(slot_start: int, zone: ZoneInfo) -> int | None:
    """Return the UTC offset in seconds during a slot of `SLOT_SECONDS` of local time.

    Return None if the offset changes during the slot or is not a whole number of seconds.
    """
    try:
        ends = [EPOCH + timedelta(seconds=slot_start + second) for second in (0, SLOT_SECONDS - 1)]
    except OverflowError:
        return None
    first, last = (zone.utcoffset(end) for end in ends)
    if first is None or first != last or first.microseconds:
        return None
    return first // timedelta(seconds=1)
