"""Statistics on arrays: rater agreement, rank correlation, tests, regression and bootstrap.

Tests and distributions come from scipy, regression from statsmodels. This package adds only what is
missing from both: the exact p-value of the Durbin-Watson test, a bootstrap whose draws are the same
on every machine, rank-biased overlap, and agreement coefficients that are computed from integer
counts without statsmodels. Other packages must call this package instead of implementing
statistics.
"""
