"""A snapshot in TREC formats.

```
<language>/documents/part-*.trec   <DOC> <DOCNO> <DOCID> <TEXT>, each tag on its own line
<language>/topics.tsv              qid<TAB>text
<language>/topics.trec             <top><num><title>
qrels.txt                          qid 0 docid grade
urls.tsv                           docid<TAB>url
```
Page text that imitates a tag of the format is escaped, reversibly: see `escape_markup`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from builder.parameters import ExportParameters
from builder.progress import Progress
from builder.resources import Limits
from builder.tables import Ledger, RejectWriter, Table

_TAGS = "DOC|DOCNO|DOCID|TEXT|TITLE|HEADLINE|top|num|title|desc|narr"
_MARKUP = re.compile(rf"<(?=/?(?:{_TAGS})\b)|&(?=(?:amp;)*lt;/?(?:{_TAGS})\b)", re.IGNORECASE)
_ESCAPED = re.compile(
    rf"&lt;(?=/?(?:{_TAGS})\b)|&amp;(?=(?:amp;)*lt;/?(?:{_TAGS})\b)", re.IGNORECASE
)
_LINE_BREAKS = re.compile(r"[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def escape_markup(text: str) -> str:
    """Escape what a TREC reader would take for a tag; other text is left alone.

    `<DOC>` becomes `&lt;DOC>`, and `&lt;DOC>` becomes `&amp;lt;DOC>`, so that
    `unescape_markup(escape_markup(text)) == text` for every text.
    """
    return _MARKUP.sub(lambda m: "&lt;" if m[0] == "<" else "&amp;", text)


def unescape_markup(text: str) -> str:
    """Undo `escape_markup`."""
    return _ESCAPED.sub(lambda m: "<" if m[0].lower() == "&lt;" else "&", text)


def one_line(text: str) -> str:
    """Text without the characters that would break a line-based file."""
    return " ".join(text.split())


def export_trec(
    out: Path,
    *,
    documents: Table,
    queries: Table,
    qrels: Table,
    params: ExportParameters,
    limits: Limits,  # noqa: ARG001 - every stage has them
    progress: Progress,
) -> Ledger:
    """Write a snapshot as TREC documents, topics and qrels, in every language it has."""
    ledger = Ledger("documents")
    with RejectWriter(out, "trec", ledger):
        if params.trec:
            for language, suffix in _languages(queries).items():
                folder = out / language
                rows = _write_documents(folder, documents, suffix, progress)
                _write_topics(folder, queries, suffix)
            _write_qrels(out, qrels)
            _write_urls(out, documents)
            ledger.rows_in = ledger.rows_out = rows
    return ledger


def _languages(queries: Table) -> dict[str, str]:
    """Column suffix of each language: English only where it was translated."""
    translated = queries.scan().select("text_en").collect()["text_en"].null_count() == 0
    return {"fr": "", "en": "_en"} if translated else {"fr": ""}


def _write_documents(folder: Path, documents: Table, suffix: str, progress: Progress) -> int:
    (folder / "documents").mkdir(parents=True)
    columns = ["doc_id", f"title{suffix}", f"text{suffix}"]
    rows = 0
    for number, part in enumerate(documents.paths):
        path = folder / "documents" / f"part-{number:05d}.trec"
        with path.open("w", encoding="utf-8", newline="\n") as file:
            for batch in Table((part,), documents.contract).batches(columns, rows=1024):
                fields = (batch.column(i).to_pylist() for i in range(3))
                for doc_id, title, text in zip(*fields, strict=True):
                    file.writelines(document_lines(doc_id, title or "", text or ""))
                rows += batch.num_rows
                progress.advance(batch.num_rows)
    return rows


def document_lines(doc_id: str, title: str, text: str) -> Iterator[str]:
    """The lines of one TREC document; the title is its first line of text."""
    yield f"<DOC>\n<DOCNO>{doc_id}</DOCNO>\n<DOCID>{doc_id}</DOCID>\n<TEXT>\n"
    for line in (title, *_LINE_BREAKS.sub("\n", text).split("\n")):
        if line.strip():
            yield escape_markup(line.strip()) + "\n"
    yield "</TEXT>\n</DOC>\n"


def _write_topics(folder: Path, queries: Table, suffix: str) -> None:
    frame = queries.scan().select("query_id", text=f"text{suffix}").collect()
    with (folder / "topics.tsv").open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{q}\t{one_line(text)}\n" for q, text in frame.iter_rows())
    with (folder / "topics.trec").open("w", encoding="utf-8", newline="\n") as file:
        for query, text in frame.iter_rows():
            title = escape_markup(one_line(text))
            file.write(f"<top>\n<num>{query}</num>\n<title>{title}</title>\n</top>\n")


def _write_qrels(out: Path, qrels: Table) -> None:
    with (out / "qrels.txt").open("w", encoding="utf-8", newline="\n") as file:
        for batch in qrels.batches(["query_id", "doc_id", "grade"]):
            columns = (batch.column(i).to_pylist() for i in range(3))
            file.writelines(f"{q} 0 {d} {g}\n" for q, d, g in zip(*columns, strict=True))


def _write_urls(out: Path, documents: Table) -> None:
    with (out / "urls.tsv").open("w", encoding="utf-8", newline="\n") as file:
        for batch in documents.batches(["doc_id", "url"]):
            columns = (batch.column(i).to_pylist() for i in range(2))
            file.writelines(f"{d}\t{one_line(url)}\n" for d, url in zip(*columns, strict=True))
