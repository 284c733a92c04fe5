"""How a collection changes over time: statistics, findings, a report.

In: the tables of a collection, or two crawls. Out: `drift.json`, `report.html`, and the same
numbers as values.
"""

from builder.drift.crawls import compare_crawls
from builder.drift.measure import measure
from builder.drift.report import render_report

__all__ = ["compare_crawls", "measure", "render_report"]
