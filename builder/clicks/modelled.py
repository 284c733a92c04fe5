"""Estimates of any click model but sDBN: distinct pages in, a value for every pair out.

The pages are kept in arrays while the model is trained, within the memory that `encode` checks. The
evidence columns are those of sDBN, so that a minimum of examinations means the same for all models.
"""

import duckdb
import numpy as np
import pyarrow as pa

from builder.clicks.encoding import ALL_PAGES, encode
from builder.clicks.models import Trained, Training, model_of
from builder.parameters import ClickParameters
from builder.runtime.limits import Limits

ESTIMATES = """
CREATE VIEW estimates AS
SELECT pair_counts.*, attractiveness, satisfaction, relevance,
       NULL::DOUBLE AS attractiveness_alpha, NULL::DOUBLE AS attractiveness_beta,
       NULL::DOUBLE AS satisfaction_alpha, NULL::DOUBLE AS satisfaction_beta
FROM pair_counts JOIN encoded_pairs USING (query, doc) JOIN model_estimates USING (pair)
"""

ESTIMATED = ("attractiveness", "satisfaction", "relevance")


def create_model_estimates(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, limits: Limits
) -> None:
    """Train a model and create the view `estimates` of what it says, in no order.

    Args:
        connection: Has the tables `pages` and `pair_counts`; see `count_pairs`.
        params: The model and its options.
        limits: The memory that its arrays may take.

    Raises:
        UsageError: no such model, or a log too large for the memory.
    """
    pages = encode(connection, ALL_PAGES, limits).train
    trained = model_of(params.model)(pages, Training(params))
    columns = {name: _column(trained, name, pages.pairs) for name in ESTIMATED}
    connection.register("model_estimates", pa.table({"pair": np.arange(pages.pairs), **columns}))
    connection.execute(ESTIMATES)


def _column(trained: Trained, name: str, pairs: int) -> pa.Array:
    """Estimates by pair; null where the model has none, or no evidence of the pair."""
    values = getattr(trained, name)
    if values is None:
        return pa.nulls(pairs, pa.float64())
    return pa.array(values, mask=None if trained.has_evidence is None else ~trained.has_evidence)
