"""What an export reads: the tables of one snapshot of a published collection."""

from dataclasses import dataclass

import polars as pl

from builder.collection.export.trec import query_texts
from builder.collection.read import Collection
from builder.io import parquet
from builder.io.tables import Table, table_at
from schemas import Documents, Qrels, Queries


@dataclass(frozen=True)
class SnapshotTables:
    """Documents, queries and judgements of a snapshot; one that is damaged is a `FormatError`."""

    collection: Collection
    name: str

    def _table(self, name: str, contract: type[Documents | Queries | Qrels]) -> Table:
        snapshot = self.collection.snapshot(self.name)
        table = table_at(snapshot.folder, name, contract)
        if name == "documents":
            parquet.check(*snapshot.documents_parts())
        else:
            parquet.check(snapshot.folder / f"{name}.parquet")
        return table

    @property
    def documents(self) -> Table:
        """Documents; no parts where the collection holds none."""
        return self._table("documents", Documents)

    @property
    def queries(self) -> Table:
        """Queries."""
        return self._table("queries", Queries)

    @property
    def qrels(self) -> Table:
        """Judgements."""
        return self._table("qrels", Qrels)

    def query_texts(self, suffix: str) -> pl.DataFrame:
        """`query_id`, `text` and `split` of the queries that have a text in a language."""
        return query_texts(self.queries, suffix).collect()

    def judgements(self) -> pl.DataFrame:
        """`query_id`, `doc_id` and `grade` of all judgements."""
        return self.qrels.scan().select("query_id", "doc_id", "grade").collect()
