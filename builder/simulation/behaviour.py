"""What users do with a result page: a dynamic Bayesian network (Chapelle & Zhang 2009).

The user looks at rank 1; clicks with the result's attractiveness; after a click stops with its
satisfaction; else goes on to the next rank. Whole blocks of impressions at once.
"""

import numpy as np
import numpy.typing as npt

from builder.simulation.draw import Floats

Clicks = npt.NDArray[np.bool_]


def click(attractiveness: Floats, satisfaction: Floats, chances: Floats, stops: Floats) -> Clicks:
    """Clicks on result pages.

    Args:
        attractiveness: float64[impressions, ranks], in rank order.
        satisfaction: The same shape.
        chances: Uniform numbers of that shape, for clicks.
        stops: Uniform numbers of that shape, for stopping.

    Returns:
        bool[impressions, ranks].
    """
    clicks = np.zeros(attractiveness.shape, dtype=np.bool_)
    looking = np.ones(len(attractiveness), dtype=np.bool_)
    for rank in range(attractiveness.shape[1]):
        clicks[:, rank] = looking & (chances[:, rank] < attractiveness[:, rank])
        looking &= ~(clicks[:, rank] & (stops[:, rank] < satisfaction[:, rank]))
    return clicks
