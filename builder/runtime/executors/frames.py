"""Pickles Polars frames and series as Arrow IPC streams, so that executors can send them.

Polars pickles a chunked frame in its thread pool without releasing the interpreter lock. If all
threads of the pool wait for that lock at the same time, because they run Python functions of
`map_batches` for another thread, the process hangs.
"""

import copyreg
from collections.abc import Callable

import polars as pl
import pyarrow as pa


def register_arrow_pickling() -> None:
    """Pickle `polars.DataFrame` and `polars.Series` as Arrow IPC streams, process-wide."""
    copyreg.pickle(pl.DataFrame, _pickle_dataframe)
    copyreg.pickle(pl.Series, _pickle_series)


def _pickle_dataframe(frame: pl.DataFrame) -> tuple[Callable[[bytes], pl.DataFrame], tuple[bytes]]:
    return _unpickle_dataframe, (_to_ipc_stream(frame),)


def _pickle_series(series: pl.Series) -> tuple[Callable[[bytes], pl.Series], tuple[bytes]]:
    return _unpickle_series, (_to_ipc_stream(series.to_frame()),)


def _to_ipc_stream(frame: pl.DataFrame) -> bytes:
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpickle_dataframe(stream: bytes) -> pl.DataFrame:
    with pa.ipc.open_stream(stream) as reader:
        return pl.DataFrame(reader.read_all())


def _unpickle_series(stream: bytes) -> pl.Series:
    return _unpickle_dataframe(stream).to_series()
