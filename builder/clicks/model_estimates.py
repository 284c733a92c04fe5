"""Trains click models other than sDBN on distinct result pages, and creates a view of estimates.

Pages are kept in arrays during training; `encode_pages` checks that they fit in memory. Clicks and
examinations are counted as for sDBN, so that the minimum number of examinations has the same
meaning for all models.
"""

import duckdb
import numpy as np
import pyarrow as pa

from builder.clicks.encoding import ALL_PAGES, encode_pages
from builder.clicks.models import TrainedModel, TrainingOptions, get_fit_function
from builder.parameters import ClickParameters
from builder.runtime.limits import ResourceLimits

ESTIMATES = """
CREATE VIEW estimates AS
SELECT pair_counts.*, attractiveness, satisfaction, relevance,
       NULL::DOUBLE AS attractiveness_alpha, NULL::DOUBLE AS attractiveness_beta,
       NULL::DOUBLE AS satisfaction_alpha, NULL::DOUBLE AS satisfaction_beta
FROM pair_counts JOIN encoded_pairs USING (query, doc) JOIN model_estimates USING (pair)
"""

ESTIMATED = ("attractiveness", "satisfaction", "relevance")


def create_model_estimates(
    connection: duckdb.DuckDBPyConnection, params: ClickParameters, limits: ResourceLimits
) -> None:
    """Train a click model, and create the unsorted view `estimates` with one row per pair.

    Args:
        connection: DuckDB connection with the tables `pages` and `pair_counts`; see
            `create_pair_counts`.
        params: Click model and its options.
        limits: Memory limit for arrays.

    Raises:
        UsageError: unknown model, or the log does not fit in memory.
    """
    pages = encode_pages(connection, ALL_PAGES, limits).train
    trained = get_fit_function(params.model)(pages, TrainingOptions(params))
    columns = {name: _estimates_column(trained, name, pages.pairs) for name in ESTIMATED}
    connection.register("model_estimates", pa.table({"pair": np.arange(pages.pairs), **columns}))
    connection.execute(ESTIMATES)


def _estimates_column(trained: TrainedModel, estimate_name: str, num_pairs: int) -> pa.Array:
    """Return the estimate `estimate_name` of each pair; null for pairs without evidence.

    All values are null if the model does not provide this estimate.
    """
    values = getattr(trained, estimate_name)
    if values is None:
        return pa.nulls(num_pairs, pa.float64())
    return pa.array(values, mask=None if trained.has_evidence is None else ~trained.has_evidence)
