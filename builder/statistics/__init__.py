"""The only definition of each statistic: agreement, rankings, tests, regression, bootstrap.

Tests and distributions are those of scipy, regression and normality those of statsmodels. Ours are
what they lack: the exact p-value of Durbin and Watson, a bootstrap with the same draws on every
machine, rank-biased overlap, and coefficients of agreement on integer counts, which the core uses
without statsmodels. Pure functions of arrays; they know nothing of snapshots, runs or files.
"""
