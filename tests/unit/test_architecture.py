"""The shape of the house, read from the source: what may import what, and who may look around."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pincite

ROOT = Path(pincite.__file__).parent

#: Parts of pincite, lowest first. A module imports from its own layer's files only where `WITHIN` says so, and else
#: from layers before its own. A folder's name stands for everything in it.
LAYERS = (
    ("types", "errors", "suspicion", "address_forms", "analysis", "coverage", "blocks", "sentences", "normal_text"),
    (
        "protocols",
        "words",
        "numerals",
        "markers",
        "sources",
        "http_endpoint",
        "processes",
        "validity",
        "differences",
        "prompt_template",
    ),
    ("roles", "reservations", "quotation_marks", "near_quotes", "links", "trust"),
    ("claims", "fusion", "assemble", "marginalize", "missing", "steering"),
    # Below the generators, which answer with them.
    ("scorers", "quotes", "statements"),
    (
        "loaders",
        "chunkers",
        "encoders",
        "store",
        "generators",
        "retrieve",
        "reading",
        "citations",
        "outgoing",
        "followups",
        "contrary",
    ),
    # Above the parts they reuse: a cross-encoder runs in the encoders' runtimes and reads what they read.
    ("rerankers", "support", "conflicts", "settle"),
    ("identity", "indexing", "calibration", "evidence"),
    ("abstaining",),
    ("portable_records",),
    ("adding", "answering", "portable"),
    ("syncing",),
    ("pipeline",),
    ("verify",),
    ("evaluation", "lab", "web_sources"),
    ("config",),
    ("answer_models", "formats"),
    ("support_models",),
    ("build", "worker"),
    ("cli",),
    ("__init__", "__main__"),
)

#: Modules of a part's folder that are no implementations: what their siblings share.
SHARED = {
    "loaders": {
        "chart_data",
        "alive",
        "choose",
        "clean",
        "decode",
        "docx_looks",
        "docx_numbering",
        "frames",
        "formula_text",
        "hidden",
        "hypertext",
        "hypertext_hiding",
        "hypertext_tables",
        "hypertext_writer",
        "ids",
        "message",
        "numbering",
        "ocr",
        "odf_text",
        "office_package",
        "parts",
        "pdf_columns",
        "pdf_furniture",
        "pdf_headings",
        "pdf_hidden",
        "pdf_hyphens",
        "pdf_lines",
        "pdf_pages",
        "pdf_scans",
        "pdf_set_lines",
        "pdf_statute",
        "pdf_text",
        "pdf_typography",
        "read",
        "records",
        "sheet_facts",
        "sheet_text",
        "slide_shapes",
        "statute_text",
        "table_text",
        "writer",
    },
    "chunkers": {"context", "ids", "pack", "packing", "plan"},
    # The two runtimes are shared too: `minilm` and `sentence_transformer` only say what they run and with which files.
    "encoders": {"base", "batching", "folder", "pairs", "pooling", "tokenizer", "onnx", "transformer"},
    "store": {
        "building",
        "care",
        "catalogue",
        "client",
        "engine",
        "exchange",
        "invariants",
        "ivfpq",
        "locks",
        "migrate",
        "moment",
        "opening",
        "payload",
        "placing",
        "plan",
        "points",
        "reads",
        "recall",
        "rendezvous",
        "room",
        "runs",
        "schema",
        "search",
        "serving",
        "visible",
        "wire",
    },
    "generators": {"few_shot", "gemma", "scored"},
    "rerankers": {"ordering"},
    "support": {"sentences"},
    # The two that `choose` chooses from are shared with it.
    "scorers": {
        "base",
        "causal",
        "encoder_decoder",
        "endpoint_reading",
        "endpoint_replies",
        "endpoint_words",
        "llama_vocabulary",
        "seq2seq",
    },
}

#: The modules that look at the environment; all others are told.
READS_ENVIRONMENT = {"answer_models", "build", "cli.common"}


def modules() -> dict[str, ast.Module]:
    """Every module by its name below ``pincite``; a folder's own is named for the folder."""
    found = {}
    for file in sorted(ROOT.rglob("*.py")):
        parts = list(file.relative_to(ROOT).with_suffix("").parts)
        if parts[-1] == "__init__" and len(parts) > 1:
            parts.pop()
        found[".".join(parts)] = ast.parse(file.read_text(encoding="utf-8"), str(file))
    return found


MODULES = modules()


def at_run_time(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but those that only a type checker reads."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        yield node
        yield from at_run_time(node)


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a module imports, as (package, module below the package), inside functions as well."""
    for node in at_run_time(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                package, _, below = alias.name.partition(".")
                yield package, below
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            package, _, below = (node.module or "").partition(".")
            for alias in node.names:
                inner = f"{below}.{alias.name}".lstrip(".")
                yield package, inner if package == "pincite" and inner in MODULES else below or "__init__"


def own_imports(name: str) -> set[str]:
    return {below for package, below in imports(MODULES[name]) if package == "pincite"}


def layer(name: str) -> int:
    part = name.partition(".")[0]
    return next(i for i, each in enumerate(LAYERS) if part in each)


def test_every_module_has_its_layer() -> None:
    placed = {part for each in LAYERS for part in each}
    assert {name.partition(".")[0] for name in MODULES} - {"demo"} == placed


@pytest.mark.parametrize("name", sorted(MODULES))
def test_imports_go_downwards(name: str) -> None:
    part = name.partition(".")[0]
    for other in own_imports(name):
        if name.startswith("cli") and other == "__init__":
            continue  # the version, for --version
        if other.partition(".")[0] != part:
            assert layer(other) < layer(name), f"{name} imports {other}"


@pytest.mark.parametrize("folder", sorted(SHARED))
def test_implementations_do_not_import_their_siblings(folder: str) -> None:
    inside = [name for name in MODULES if name.startswith(f"{folder}.")]
    assert {f"{folder}.{each}" for each in SHARED[folder]} <= set(inside)
    for name in inside:
        for other in own_imports(name):
            if other.startswith(f"{folder}."):
                assert other.split(".")[1] in SHARED[folder], f"{name} imports {other}"
            if name.split(".")[1] in SHARED[folder]:
                assert other.partition(".")[0] != folder or other.split(".")[1] in SHARED[folder]


def test_only_the_top_reads_settings_and_the_environment() -> None:
    for name, tree in MODULES.items():
        if layer(name) < layer("config"):
            assert "config" not in own_imports(name), name
        names = {f"{ast.unparse(node)}" for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        imported = {
            alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and node.module == "os"
            for alias in node.names
        }
        looks = bool(names & {"os.environ", "os.getenv", "os.environb"} or imported & {"environ", "getenv", "environb"})
        assert looks == (name in READS_ENVIRONMENT), name


@pytest.mark.parametrize(
    ("package", "places"),
    [("qdrant_edge", {"store.engine", "store.points", "store.search"}), ("faiss", {"store.ivfpq"})],
)
def test_an_engine_is_imported_in_its_place(package: str, places: set[str]) -> None:
    users = {name for name, tree in MODULES.items() if any(package == each for each, _ in imports(tree))}
    assert users == places


@pytest.mark.parametrize("package", ["pickle", "shelve", "marshal", "dill", "cloudpickle", "joblib"])
def test_nothing_is_unpickled(package: str) -> None:
    for name, tree in MODULES.items():
        assert package not in {each for each, _ in imports(tree)}, name


def test_nothing_prints_evaluates_or_catches_everything() -> None:
    for name, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in {"print", "eval", "exec", "breakpoint"}, f"{name}:{node.lineno}"
            if isinstance(node, ast.ExceptHandler):
                assert node.type is not None, f"{name}:{node.lineno}"
            if isinstance(node, ast.Call):
                assert "allow_pickle" not in {keyword.arg for keyword in node.keywords}, f"{name}:{node.lineno}"


def test_the_rules_above_can_fail() -> None:
    tree = ast.parse(
        "if TYPE_CHECKING:\n    import numpy\nimport pickle\ndef f():\n    from pincite.store import edge\n"
    )
    assert set(imports(tree)) == {("pickle", ""), ("pincite", "store.edge")}
