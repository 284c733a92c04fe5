"""PyClick on a log, in a process of its own: `python -m tests.bench.pyclick_peer LOG`.

Prints the seconds of loading and of training, its peak of memory, and a digest of its counts. The
program lies in the folder that the environment variable PYCLICK names; it is in no package index.
"""

import hashlib
import json
import os
import sys
import time

import pyarrow.parquet as pq

from tests.bench.peak import peak_bytes


def main(log: str) -> None:
    """Load, train, report."""
    sys.path.insert(0, os.environ["PYCLICK"])
    from pyclick.click_models.SDBN import SDBN
    from pyclick.search_session.SearchResult import SearchResult
    from pyclick.search_session.SearchSession import SearchSession

    begun = time.perf_counter()
    sessions = []
    columns = ["query", "results", "clicks"]
    for batch in pq.ParquetFile(log).iter_batches(50_000, columns=columns):
        for query, results, clicks in zip(*(batch[c].to_pylist() for c in columns), strict=True):
            session = SearchSession(query)
            clicked = set(clicks)
            for rank, url in enumerate(results, start=1):
                session.web_results.append(SearchResult(url, int(rank in clicked)))
            sessions.append(session)
    loaded = time.perf_counter()
    model = SDBN()
    model.train(sessions)
    trained = time.perf_counter()
    report = {
        "load": loaded - begun,
        "train": trained - loaded,
        "peak_mib": peak_bytes() // 2**20,
        "counts": _digest(model),
    }
    sys.stdout.write(json.dumps(report) + "\n")


def _digest(model: object) -> str:
    """Of `query, url, examinations, clicks, last clicks` of every pair, in order."""
    names = model.param_names  # type: ignore[attr-defined]
    attraction, satisfaction = (
        model.params[name]._container
        for name in (names.attr, names.sat)  # type: ignore[attr-defined]
    )
    rows = (
        (query, url, a._denominator - 2, a._numerator - 1, satisfaction[query][url]._numerator - 1)
        for query, urls in attraction.items()
        for url, a in urls.items()
    )
    digest = hashlib.md5(usedforsecurity=False)
    for row in sorted(rows):
        digest.update("\t".join(map(str, row)).encode() + b"\n")
    return digest.hexdigest()


if __name__ == "__main__":
    main(sys.argv[1])
