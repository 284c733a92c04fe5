"""How a collection changes over time: statistics, findings, a report.

In: the tables of a collection, two crawls, or the runs of one system on two snapshots. Out:
`drift.json`, `report.html`, the same numbers as values, and where a change of score comes from.
"""

from builder.drift.attribution import Attribution, Evaluated, attribute
from builder.drift.crawls import compare_crawls
from builder.drift.measure import measure
from builder.drift.pairs import of_pair
from builder.drift.report import render_report

__all__ = [
    "Attribution",
    "Evaluated",
    "attribute",
    "compare_crawls",
    "measure",
    "of_pair",
    "render_report",
]
