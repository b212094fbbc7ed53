from __future__ import annotations

import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module, metadata

import pytest

import pincite


def test_every_public_name_is_listed_once_in_order_and_resolves() -> None:
    assert list(pincite.__all__) == sorted(set(pincite.__all__))
    for name in pincite.__all__:
        assert getattr(pincite, name) is not None
    assert set(pincite.__all__) <= set(dir(pincite))


def test_every_public_name_has_one_home_and_is_public_there() -> None:
    homes = [(module, name) for module, names in pincite._HOME.items() for name in names]
    assert sorted(name for _, name in homes) == pincite.__all__
    for module, name in homes:
        assert getattr(import_module(module), name) is getattr(pincite, name)
        assert name in import_module(module).__all__, f"{module}.{name}"


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(inspect.getsource(pincite))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    seen = {
        node.module: tuple(alias.name for alias in node.names)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
    }
    assert seen == pincite._HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'pincite' has no attribute 'Pincites'"):
        pincite.Pincites  # noqa: B018
    assert not hasattr(pincite, "numpy")


def test_star_import_works_in_a_fresh_process() -> None:
    program = "from pincite import *; print(Pincite.__name__, load_settings.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "Pincite load_settings\n"


def test_every_module_says_what_is_public() -> None:
    for module in pkgutil.walk_packages(pincite.__path__, "pincite."):
        if module.ispkg or module.name == "pincite.__main__":
            continue
        loaded = import_module(module.name)
        assert loaded.__doc__, module.name
        names = list(loaded.__all__)
        assert names, module.name
        assert len(names) == len(set(names)), module.name
        for name in names:
            assert hasattr(loaded, name), f"{module.name}.{name}"


def test_the_version_is_the_package_s() -> None:
    assert pincite.__version__ == metadata.version("pincite")
