"""`python -m tests.bench [--quick] [ROOM...]`: speed and memory, each beside a peer or a limit.

Every module `bench_<room>.py` beside this one has `run_bench(quick)`, which returns or yields rows
with at least `name` and `seconds`. Each row is printed to standard error when it arrives. Results
are printed as tables and written to `bench-results/`.
"""

import argparse
import importlib
import inspect
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from builder.cli.output import format_table
from workflows.machine import benchmark

ENGINES = ("polars", "duckdb", "pyarrow", "ctranslate2")


def main() -> int:
    """Run the benches that are asked for; all without a name."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("rooms", nargs="*", help="such as clicks; default: all")
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    options = parser.parse_args()
    names = options.rooms or [p.stem[6:] for p in sorted(Path(__file__).parent.glob("bench_*.py"))]
    machine = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: version(name) for name in ENGINES},
    }
    results: dict[str, Any] = {"machine": machine}
    with benchmark():
        _measure(names, options.quick, results)
    folder = Path("bench-results")
    folder.mkdir(exist_ok=True)
    (folder / "bench.json").write_text(json.dumps(results, indent=1, default=str) + "\n")
    return 0


def _measure(names: list[str], quick: bool, results: dict[str, Any]) -> None:
    """Run modules and print their rows; background work of this user waits meanwhile."""
    for name in names:
        module = importlib.import_module(f"tests.bench.bench_{name}")
        takes_quick = "quick" in inspect.signature(module.run_bench).parameters
        measured = module.run_bench(quick=quick) if takes_quick else module.run_bench()
        rows = results[name] = []
        for row in measured:
            print(json.dumps(row, default=str), file=sys.stderr, flush=True)  # noqa: T201 - see above
            rows.append(row)
        columns = list(dict.fromkeys(key for row in rows for key in row))
        print(f"\n{name}")  # noqa: T201 - a report is its purpose
        print(format_table([[_cell(row.get(c)) for c in columns] for row in rows], columns))  # noqa: T201


def _cell(value: object) -> object:
    return f"{value:.3g}" if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
