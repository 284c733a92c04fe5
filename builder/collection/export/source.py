"""Opens the documents, queries and qrels of a snapshot for an export."""

from dataclasses import dataclass

import polars as pl

from builder.collection.export.trec import query_texts
from builder.collection.read import Collection
from builder.io import parquet
from builder.io.tables import Table, table_at
from schemas import Documents, Qrels, Queries


@dataclass(frozen=True)
class SnapshotTables:
    """The documents, queries and qrels tables of a snapshot.

    Accessing a table raises a `FormatError` if a file is damaged.
    """

    collection: Collection
    name: str

    def _open_table(self, name: str, schema: type[Documents | Queries | Qrels]) -> Table:
        snapshot = self.collection.snapshot(self.name)
        table = table_at(snapshot.folder, name, schema)
        if name == "documents":
            parquet.check_readable(*snapshot.document_files())
        else:
            parquet.check_readable(snapshot.folder / f"{name}.parquet")
        return table

    @property
    def documents(self) -> Table:
        """Table of documents; `paths` is empty if the snapshot has no documents."""
        return self._open_table("documents", Documents)

    @property
    def queries(self) -> Table:
        """Table of queries."""
        return self._open_table("queries", Queries)

    @property
    def qrels(self) -> Table:
        """Table of relevance judgements."""
        return self._open_table("qrels", Qrels)

    def query_texts(self, suffix: str) -> pl.DataFrame:
        """Return `query_id`, `text` and `split` of all queries that have text in a language.

        Args:
            suffix: Column suffix of the language, such as `""` or `"_en"`.
        """
        return query_texts(self.queries, suffix).collect()

    def qrel_rows(self) -> pl.DataFrame:
        """Return one row per judgement, with columns `query_id`, `doc_id` and `grade`."""
        return self.qrels.scan().select("query_id", "doc_id", "grade").collect()
