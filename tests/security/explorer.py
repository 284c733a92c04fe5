"""A collection whose every text is hostile, and the explorer's application of it."""

import json
import shutil
from pathlib import Path

import polars as pl

import builder
from builder.trec.runs import Run, write_run

HOSTILE = (
    "</script><script>document.title='owned'</script>"
    "<img src=x onerror=\"document.title='owned'\">' OR 1=1; --\u202e{{7*7}}"
)
RUN = "<b onmouseover=alert(1)>'\"&"


def hostile_copy(version: Path, folder: Path) -> Path:
    """A copy of a version with hostile names, queries, titles, texts, addresses and files."""
    copy = folder / "hostile [1]'s" / "1.0.0"
    shutil.copytree(version, copy)
    manifest = json.loads((copy / "manifest.json").read_text("utf-8"))
    manifest["name"] = HOSTILE
    (copy / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    for path in copy.rglob("*.parquet"):
        rows = pl.read_parquet(path, glob=False)
        columns = set(rows.columns)
        texts = columns & {"text", "title", "text_en", "title_en", "url", "url_key", "label"}
        texts |= columns & {"file", "fr", "en", "key", "folded_en", "trained_text"}
        strings = [name for name in texts if rows.schema[name] == pl.String]
        rows.with_columns(
            pl.when(pl.col(name).is_not_null()).then(pl.lit(HOSTILE) + pl.col(name)).alias(name)
            for name in strings
        ).write_parquet(path)
    return copy


def hostile_runs(version: Path, folder: Path) -> Path:
    """Runs of systems with hostile names."""
    collection = builder.open_collection(version)
    for name in collection.snapshots:
        qrels = collection.snapshot(name).qrels.collect()
        scores = qrels.select("query_id", "doc_id", score="clicks")
        for system in (RUN, "plain"):
            write_run(Run.from_scores(scores, "tag"), folder / system / f"{name}.txt")
    return folder
