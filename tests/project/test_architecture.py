"""Packages import downwards only, and the public names are these."""

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import builder

ROOT = Path(__file__).parents[2]
LAYERS = (
    "errors",
    "extras",
    "statistics",
    "text",
    "io",
    "plugins",
    "parameters",
    "models",
    "definition",
    "runtime",
    "reporting",
    "trec",
    "ingest",
    "queries",
    "judging",
    "clicks",
    "documents",
    "translation",
    "alignment",
    "drift",
    "collection",
    "evaluation",
    "tasks",
    "explore",
    "simulation",
    "pipeline",
    "commands",
    "cli",
)
"""Packages and modules of `builder`, lowest first: each imports only what stands before it."""


def _imports(path: Path) -> set[tuple[str, str]]:
    """Module and name of everything that a file imports from `builder`."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("builder."):
            names |= {(node.module or "", alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {(a.name, "") for a in node.names if a.name.startswith("builder.")}
    return names


def _files(layer: str) -> list[Path]:
    folder = ROOT / "builder" / layer
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def test_every_package_has_a_layer() -> None:
    found = {path.name.removesuffix(".py") for path in (ROOT / "builder").glob("[a-z]*")}
    assert found - {"py.typed"} == set(LAYERS)


def test_imports_go_downwards_only() -> None:
    for number, layer in enumerate(LAYERS):
        for path in _files(layer):
            for module, name in _imports(path):
                imported = module.split(".")[1]
                assert imported in LAYERS[: number + 1], (
                    f"{path.relative_to(ROOT)} imports {name} from {module}"
                )


def test_no_package_imports_a_private_name_of_another() -> None:
    for layer in LAYERS:
        for path in _files(layer):
            for module, name in _imports(path):
                private = any(part.startswith("_") for part in (*module.split("."), name))
                own = module.split(".")[1] == layer
                assert own or not private, f"{path.relative_to(ROOT)}: {name} of {module}"


def test_everything_imported_is_declared() -> None:
    """Any release of a declared package may drop a package that it brings along today."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(one for extra in extras for one in extra)]
    declared = {re.split("[<>=]", one)[0] for one in wanted}
    distributions = packages_distributions()
    for path in [*(ROOT / "builder").rglob("*.py"), *(ROOT / "schemas").rglob("*.py")]:
        for module in _modules(path) - sys.stdlib_module_names - {"builder", "schemas"}:
            names = {name.lower().replace("_", "-") for name in distributions.get(module, [module])}
            assert names & declared, f"{path.relative_to(ROOT)} imports {module}"


def _modules(path: Path) -> set[str]:
    """First-level names that a file imports, wherever it does."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and not node.level:
            names.add((node.module or "").split(".")[0])
        elif isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
    return names


def test_the_contracts_import_nothing_of_the_program() -> None:
    for path in (ROOT / "schemas").glob("*.py"):
        assert "builder" not in path.read_text("utf-8")


def test_nobody_asks_parquet_about_its_columns() -> None:
    """Arrow ends the process where a damaged file contradicts itself in what it says of them."""
    asking = re.compile(r"metadata\.row_group\(|RowGroupMetaData|ColumnChunkMetaData")
    for path in (ROOT / "builder").rglob("*.py"):
        assert not asking.search(path.read_text("utf-8")), path


def test_nobody_takes_names_of_files_for_patterns() -> None:
    """The engines do, unless they are told not to; see `builder.io.parquet`."""
    asking = re.compile(r"(scan|read)_(parquet|csv|ipc|ndjson|json)\((?![^)]*glob=False)")
    own = re.compile(r"(pa\.json|pyarrow\.csv|self)\.read_(json|csv)|_read_parquet")
    for path in (ROOT / "builder").rglob("*.py"):
        if path.name != "parquet.py":
            text = re.sub(r"\(\s+", "(", path.read_text("utf-8"))
            found = [line for line in text.splitlines() if asking.search(line)]
            assert not [line for line in found if not own.search(line)], path


def test_public_names() -> None:
    assert sorted(builder.__all__) == [
        "BuildReport",
        "Collection",
        "DataError",
        "LongEvalError",
        "SimulationParameters",
        "Snapshot",
        "UsageError",
        "__version__",
        "build",
        "compare",
        "demo",
        "export",
        "import_release",
        "open_collection",
        "simulate",
        "simulate_over_crawls",
        "validate",
        "verify",
    ]
    for name in builder.__all__:
        assert getattr(builder, name) is not None
    assert callable(builder.build)
    assert callable(builder.demo)
