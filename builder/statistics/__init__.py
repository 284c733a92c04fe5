"""Statistics on arrays: rater agreement, rank correlation, tests, regression and bootstrap.

Tests and distributions come from scipy, regression from statsmodels. This package adds only what
they lack: the exact p-value of the Durbin-Watson test, a bootstrap with reproducible draws on every
machine, rank-biased overlap, and agreement coefficients of integer counts that do not need
statsmodels. Other packages must call this package instead of implementing statistics.
"""
