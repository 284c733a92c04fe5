"""How numbers are written for people."""

LEAST_DECIMAL = 5e-5
"""The least number that four decimals show."""


def decimal(value: float) -> str:
    """A number of four decimals, or of two digits and a power of ten where those are all 0."""
    return f"{value:.1e}" if 0 < abs(value) < LEAST_DECIMAL else f"{value:.4f}"
