"""Implements `longeval import`, which imports a published LongEval release as a collection.

Input: the folder of a release in one of `LAYOUTS`, with or without documents. Output: a version
folder with the same tables as a built collection (documents, queries, qrels, maps, changes,
`drift.json`, report). Rejected records are listed in `rejects`, irregular lines in
`irregularities`, and the ids of the release in `release_ids`.
"""

from builder.collection.imports.layouts import LAYOUTS
from builder.collection.imports.release import import_release

__all__ = ["LAYOUTS", "import_release"]
