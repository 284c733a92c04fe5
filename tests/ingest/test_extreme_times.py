"""Numbers at the edge of what can be a time."""

import pyarrow as pa
import pytest

from builder.ingest.time_columns import to_unix_seconds
from builder.parameters import TimeParameters


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, -253_402_300_800, 253_402_300_800])
def test_integers_that_are_not_unix_seconds_need_a_closer_look(number: int) -> None:
    found = to_unix_seconds(pa.array([number, 5], pa.int64()), TimeParameters())
    assert found.to_pylist() == [None, 5]
