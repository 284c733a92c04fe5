"""Click behavior of simulated users: the dynamic Bayesian network of Chapelle & Zhang (2009).

A user examines results from rank 1 downward, clicks an examined result with a probability equal to
its attractiveness, and stops after a click with a probability equal to its satisfaction.
"""

import numpy as np
import numpy.typing as npt

from builder.simulation.rng import FloatArray

BoolArray = npt.NDArray[np.bool_]


def simulate_clicks(
    attractiveness: FloatArray,
    satisfaction: FloatArray,
    click_draws: FloatArray,
    stop_draws: FloatArray,
) -> BoolArray:
    """Simulate the clicks of a batch of impressions.

    Args:
        attractiveness: float64[impressions, ranks]; click probability of an examined result.
        satisfaction: float64[impressions, ranks]; probability of stopping after a click.
        click_draws: float64[impressions, ranks]; uniform random numbers that decide clicks.
        stop_draws: float64[impressions, ranks]; uniform random numbers that decide stops.

    Returns:
        bool[impressions, ranks]; whether the result at each rank was clicked.
    """
    clicks = np.zeros(attractiveness.shape, dtype=np.bool_)
    examines = np.ones(len(attractiveness), dtype=np.bool_)
    for rank in range(attractiveness.shape[1]):
        clicks[:, rank] = examines & (click_draws[:, rank] < attractiveness[:, rank])
        examines &= ~(clicks[:, rank] & (stop_draws[:, rank] < satisfaction[:, rank]))
    return clicks
