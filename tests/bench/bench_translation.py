"""Speed of translation beside the bare engine, what a second snapshot costs, and quality.

The stage is measured against `translate_batch` of CTranslate2 on the same sentences, tokenized and
sorted by length beforehand, in the same run. Quality is BLEU and chrF on the public test sets
beside the project, where they are there.
"""

import json
import shutil
import tempfile
import time
from pathlib import Path

import ctranslate2
import polars as pl

from builder.io.tables import Table, write_frame
from builder.models import bundled_model_folder
from builder.parameters import TranslationParameters
from builder.runtime.limits import ResourceLimits
from builder.runtime.progress import NoProgress
from builder.translation import translate
from builder.translation.engine import CTranslate2Engine
from builder.translation.layout import split_into_sentences
from schemas import Documents, Queries

SHARED = Path(__file__).parents[3] / "shared" / "data"
THREADS = 2
Row = dict[str, object]


def run_bench(quick: bool = False) -> list[Row]:
    """One row per piece of work: name, seconds, peer, peer_seconds, ratio, note."""
    pages = _pages(60 if quick else 400)
    with tempfile.TemporaryDirectory() as folder:
        return [*_throughput(Path(folder), *pages), *([] if quick else _quality())]


def _pages(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A site on two dates: some of its real pages where there are any, else simulated ones."""
    crawls = sorted((SHARED / "crawl").glob("*.jsonl.gz"))[:2]
    if len(crawls) < 2:
        texts = [f"La page {n} parle de la ville. Elle est ouverte." for n in range(count)]
        frame = _documents([f"https://a.example/{n}" for n in range(count)], texts)
        return frame, frame
    first, second = (pl.read_ndjson(path).unique("url").sort("url") for path in crawls)
    every = max(first.height // count, 1)
    urls = pl.concat([first["url"], second["url"]]).unique().sort().gather_every(every)
    frames = [f.filter(pl.col("url").is_in(urls.implode())) for f in (first, second)]
    return tuple(_documents(f["url"].to_list(), f["text"].to_list()) for f in frames)  # type: ignore[return-value]


def _documents(urls: list[str], texts: list[str]) -> pl.DataFrame:
    ids = [f"d{n:016x}" for n in range(len(urls))]
    blank = {
        name: pl.Series([None] * len(urls), dtype=kind) for name, kind in Documents.dtypes().items()
    }
    return pl.DataFrame(blank).with_columns(
        doc_id=pl.Series(ids), url=pl.Series(urls), title=pl.lit(""), text=pl.Series(texts)
    )


def _throughput(folder: Path, first: pl.DataFrame, second: pl.DataFrame) -> list[Row]:
    params = TranslationParameters(model=bundled_model_folder(), retry=False)
    limits = ResourceLimits(scratch=folder, threads=THREADS, memory=2 * 2**30)
    engine = CTranslate2Engine.load(bundled_model_folder(), params, THREADS)
    sentences = {s.text for text in first["text"] for s in split_into_sentences(text).segments}
    seconds = _stage(folder, "first", first, params, limits)
    decoded = _decoded(engine, sorted(sentences), params)
    again = _stage(folder, "second", second, params, limits)
    note = f"{len(sentences):,} sentences of {first.height:,} pages"
    later = {s.text for text in second["text"] for s in split_into_sentences(text).segments}
    new = sum(map(len, later - sentences)) / sum(map(len, sentences))
    return [
        {
            "name": "translate, all sentences new",
            "seconds": round(seconds, 1),
            "peer": "translate_batch alone",
            "peer_seconds": round(decoded, 1),
            "ratio": round(decoded / seconds, 3),
            "note": note,
        },
        {
            "name": "the same pages a month later",
            "seconds": round(again, 2),
            "peer": "the first time",
            "peer_seconds": round(seconds, 1),
            "ratio": round(again / seconds, 3),
            "note": f"with the translation memory; new text: {new:.3f} of the first",
        },
    ]


def _stage(
    folder: Path,
    name: str,
    pages: pl.DataFrame,
    params: TranslationParameters,
    limits: ResourceLimits,
) -> float:
    """Seconds of the stage on some pages."""
    home = folder / name
    out = home / "out"
    out.mkdir(parents=True)
    write_frame(pages, home / "gathered.parquet", Documents)
    write_frame(pl.DataFrame(schema=Queries.dtypes()), home / "queries.parquet", Queries)
    memory = folder / "memory"
    memory.mkdir(exist_ok=True)
    start = time.perf_counter()
    translate(
        out,
        gathered=Table((home / "gathered.parquet",), Documents),
        split_queries=Table((home / "queries.parquet",), Queries),
        params=params,
        limits=limits,
        progress=NoProgress(),
        memory=memory,
    )
    seconds = time.perf_counter() - start
    shutil.rmtree(out)
    return seconds


def _decoded(
    engine: CTranslate2Engine, sentences: list[str], params: TranslationParameters
) -> float:
    """Seconds of the bare engine on the parts that the stage decodes, tokenized and sorted."""
    source, _ = engine.model.load_tokenizers()
    parts = sorted(
        {text for s in sentences for text, copied in engine.split_sentence(s).parts if not copied}
    )
    tokens = sorted(source.encode([text.strip() for text in parts], out_type=str), key=len)
    translator = ctranslate2.Translator(
        str(engine.model.folder), compute_type="int8", inter_threads=THREADS, intra_threads=1
    )
    start = time.perf_counter()
    translator.translate_batch(
        tokens,
        beam_size=params.beam_size,
        max_batch_size=params.batch_tokens,
        batch_type="tokens",
        max_decoding_length=params.max_target_pieces,
    )
    return time.perf_counter() - start


def _quality() -> list[Row]:
    """BLEU and chrF of the bundled model on every test set."""
    tests = SHARED / "parallel" / "test"
    if not tests.is_dir():
        return []
    from workflows.train_translator.evaluate import evaluate

    start = time.perf_counter()
    found = evaluate(bundled_model_folder(), tests)
    seconds = time.perf_counter() - start
    return [
        {
            "name": f"bundled model, {name}",
            "seconds": round(seconds / len(found["scores"]), 1),
            "note": f"BLEU {s['bleu']}, chrF {s['chrf']}, {s['sentences']:,} sentences",
        }
        for name, s in found["scores"].items()
    ]


if __name__ == "__main__":
    print(json.dumps(run_bench(quick=True), indent=1))  # noqa: T201 - a report is its purpose
