"""A published LongEval release -> a collection: `longeval import`.

In: the folder of a release in the layout of 2023 or of 2025, with or without documents. Out: a
version folder with the tables of every collection (documents, queries, qrels, maps, changes,
`drift.json`, report), so that everything that reads a collection reads the release; what was left
out is in `rejects`, what was irregular in `irregularities`, ids of the release in `release_ids`.
"""

from builder.collection.imports.release import IMPORTED_LAYOUTS, import_release

__all__ = ["IMPORTED_LAYOUTS", "import_release"]
