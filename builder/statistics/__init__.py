"""Statistics on arrays: rater agreement, rank correlation, tests, regression and bootstrap.

Tests and distributions come from scipy, regression from statsmodels. This package adds only what
they lack: the exact p-value of the Durbin-Watson test, a bootstrap with reproducible draws on every
machine, rank-biased overlap, and agreement coefficients on integer counts that do not need
statsmodels. Other packages must not implement statistics themselves.
"""
