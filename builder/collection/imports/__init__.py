"""A published LongEval release -> a collection: `longeval import`.

In: the folder of a release in one of `LAYOUTS`, with or without documents. Out: a
version folder with the tables of every collection (documents, queries, qrels, maps, changes,
`drift.json`, report), so that everything that reads a collection reads the release; what was left
out is in `rejects`, what was irregular in `irregularities`, ids of the release in `release_ids`.
"""

from builder.collection.imports.found import LAYOUTS
from builder.collection.imports.release import import_release

__all__ = ["LAYOUTS", "import_release"]
