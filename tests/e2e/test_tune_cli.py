"""``pincite tune`` on bundled documents, with the real encoder and the real engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pincite.cli.tune_grid import default_grid, parse_grid
from pincite.config import Settings, setting_names
from pincite.errors import ConfigError, InputError
from pincite.evaluation.settings_file import edit_settings, write_settings
from pincite.sentences import sentence_spans

tomlkit = pytest.importorskip("tomlkit", reason="the extra 'eval' is not installed")


def toml(text: str) -> dict[str, Any]:
    data: dict[str, Any] = tomlkit.parse(text).unwrap()
    return data


DEMO = Path(__file__).resolve().parents[2] / "src" / "pincite" / "demo" / "documents"
FILES = ("article-5-amending.md", "amendment-20-terms-and-sessions.md", "amendment-22-presidential-term-limit.md")

# Windows so small that no sentence is whole in one, and not read together.
POOR = """\
# My settings: keep this line.
[chunk]  # how documents are cut
recipe = "window"
size = 16   # tiny, on purpose

[search]
k = 7 # mine
fusion = "rrf"
merge = 0
"""


def run(*arguments: str, folder: Path, code: int = 0, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PINCITE_", "OPENAI_"))}
    done = subprocess.run(
        [sys.executable, "-m", "pincite", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env={**clean, "COLUMNS": "200", **environment},
        timeout=200,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every long sentence of three documents, asked for by half of its words."""
    folder = tmp_path_factory.mktemp("data") / "sentences"
    (folder / "qrels").mkdir(parents=True)
    corpus, queries, qrels = [], [], ["query-id\tcorpus-id\tscore"]
    for name in FILES:
        text = (DEMO / name).read_text(encoding="utf-8")
        corpus.append({"_id": name, "title": name, "text": text})
        for start, end in sentence_spans(text):
            words = text[start:end].split()
            if len(words) < 20:
                continue
            query = f"q{len(queries)}"
            span = {"document": name, "start": start, "end": end}
            queries.append({"_id": query, "text": " ".join(words[::2]), "metadata": {"spans": [span]}})
            qrels.append(f"{query}\t{name}\t1")
    assert len(queries) >= 12
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in corpus))
    (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in queries))
    (folder / "qrels" / "test.tsv").write_text("\n".join([*qrels, ""]))
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


GRID = ("--grid", "chunk.size=16,unset", "--grid", "search.rrf_k=10,60")


def test_it_finds_what_is_better_and_writes_it_beside_what_was_there(
    labelled: Path, cache: Path, tmp_path: Path
) -> None:
    settings = tmp_path / "pincite.toml"
    settings.write_text(POOR)
    arguments = ("tune", str(labelled), *GRID, "--cache", str(cache))
    out = run(*arguments, "--dry-run", folder=tmp_path)
    assert settings.read_text() == POOR
    assert "4 settings to try for span-recall@5: 2 indexes to build" in out
    assert "worth it" in out
    assert "now" in out
    assert "fewer than 20, the choice is weak" in out
    found = json.loads(run(*arguments, "--json", folder=tmp_path).partition("\n4 settings")[0].rpartition("}")[0] + "}")
    assert settings.read_text() == POOR, "nobody agreed"
    assert found["worth_it"] is True
    assert found["changes"] == {"chunk.size": None}
    assert [point["present"] for point in found["points"]].count(True) == 1
    assert found["points"][0]["choose"] == max(point["choose"] for point in found["points"])
    assert found["gain"] > 0.5
    again = run(*arguments, "--apply", folder=tmp_path)
    assert "4 measured before: 0 indexes to build" in again
    assert "pincite reindex" in again
    written = settings.read_text()
    assert "# My settings: keep this line." in written
    assert "k = 7 # mine" in written
    assert "[chunk]  # how documents are cut" in written
    assert "size" not in toml(written)["chunk"]
    assert "# pincite tune 20" in written
    assert "held-out questions of sentences" in written
    assert "pincite tune" in written.partition("by: ")[2]
    better = run(*arguments, "--apply", folder=tmp_path)
    assert "the present settings stay" in better
    assert settings.read_text() == written


def test_documents_are_cut_anew_when_it_says_so(labelled: Path, cache: Path, tmp_path: Path) -> None:
    """What it writes is what `reindex` then does."""
    (tmp_path / "pincite.toml").write_text(POOR)
    run("add", *(str(DEMO / name) for name in FILES), folder=tmp_path)
    before = json.loads(run("status", "--json", folder=tmp_path))
    run("tune", str(labelled), *GRID, "--cache", str(cache), "--apply", folder=tmp_path)
    out = run("reindex", folder=tmp_path)
    assert "reindexed 3 documents" in out
    after = json.loads(run("status", "--json", folder=tmp_path))
    assert after["chunks"] < before["chunks"]


def test_a_gain_that_may_be_chance_changes_nothing_unless_forced(labelled: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text(POOR)
    arguments = ("tune", str(labelled), *GRID, "--cache", str(cache), "--least-gain", "1.5", "--apply")
    assert "the present settings stay; --force" in run(*arguments, folder=tmp_path)
    assert (tmp_path / "pincite.toml").read_text() == POOR
    assert "written to" in run(*arguments, "--force", folder=tmp_path)
    assert "# pincite tune taken by --force although not worth it" in (tmp_path / "pincite.toml").read_text()


def test_the_environment_that_wins_is_named(labelled: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(POOR.replace("size = 16   # tiny, on purpose\n", ""))
    out = run(
        *("tune", str(labelled), *GRID, "--cache", str(cache), "--apply", "--config", "own.toml"),
        folder=tmp_path,
        PINCITE_CHUNK_SIZE="16",
    )
    assert "PINCITE_CHUNK_SIZE in the environment wins over chunk.size" in out
    assert not (tmp_path / "pincite.toml").exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--measure", "accuracy"), "no measure 'accuracy'"),
        (("--grid", "chunk.size"), "SECTION.KEY=VALUE"),
        (("--grid", "chunk.sise=3"), "cannot be tuned"),
        (("--grid", "search.language=german"), "cannot be tuned"),
        (("--grid", "chunk.size=big"), "chunk.size"),
        (("--apply", "--dry-run"), "give one of them"),
        (("--split", "dev"), "there are the splits test"),
    ],
)
def test_wrong_input_is_named(labelled: Path, tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    assert says in run("tune", str(labelled), *arguments, folder=tmp_path, code=2)


# The grid


def test_the_grid_has_every_recipe_and_the_present_settings() -> None:
    settings = Settings.model_validate({"chunk": {"size": 77}, "search": {"rrf_k": 33}})
    grid = default_grid(settings)
    assert {"structure", "window"} <= set(grid["chunk.recipe"])
    assert grid["chunk.size"][0] == 77
    assert 33 in grid["search.rrf_k"]
    assert set(grid) <= set(setting_names())


def test_values_are_read_as_the_settings_read_them() -> None:
    grid = parse_grid(["chunk.size=64,unset, 64", "search.mode=bm25", "chunk.overlap=1,2"], Settings())
    assert grid == {"chunk.size": [64, None], "search.mode": ["bm25"], "chunk.overlap": [1, 2]}
    with pytest.raises(ConfigError, match=r"search\.mode"):
        parse_grid(["search.mode=psychic"], Settings())


# The file

COMMENT = ["# pincite tune 2026-01-01: 0.1 → 0.2", "# pincite tune by: pincite tune set"]


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        (POOR, {"chunk.size": 128, "search.rrf_k": 60}),
        (POOR, {"chunk.size": None, "chunk.recipe": "structure"}),
        ("", {"chunk.size": 128, "search.mode": "bm25"}),
        ("[answer]\nmodel = 'local' # \\ keep\n", {"search.depth": 50}),
        ("[search]\n\n\n# a note\nk = 5\n[ chunk ]\nsize = 3", {"search.depth": 50, "chunk.size": 4}),
        ("search = { k = 5 }\n", {"search.depth": 50}),
        ("search.k = 5\n", {"search.depth": 50}),
        ("[search]\nk = 5\n", {"chunk.size": None}),
        ('[store]\npath = "a\\"b [search] x"\n', {"search.depth": 5}),
    ],
)
def test_only_what_was_meant_changes_in_the_file(text: str, changes: dict[str, Any]) -> None:
    wanted = toml(text)
    for name, value in changes.items():
        section, _, key = name.partition(".")
        if value is None:
            wanted.get(section, {}).pop(key, None)
        else:
            wanted.setdefault(section, {})[key] = value
    edited = edit_settings(text, changes, COMMENT)
    assert toml(edited) == wanted
    for line in text.splitlines():
        if "#" in line and "size" not in line:
            assert line in edited.splitlines()
    assert edited.count(COMMENT[0]) >= 1
    # Again: the comment of the last time gives way to the new one.
    again = edit_settings(edited, changes, ["# pincite tune 2026-02-02: 0.2 → 0.3"])
    assert toml(again) == wanted
    if "[" in text and "{" not in text and all(value is not None for value in changes.values()):
        assert COMMENT[0] not in again


def test_a_file_that_is_no_toml_is_left_alone() -> None:
    with pytest.raises(ConfigError, match="not valid TOML"):
        edit_settings("[chunk\nsize = 3", {"chunk.size": 4}, COMMENT)
    with pytest.raises(InputError, match="by hand"):
        edit_settings('[store]\npath = """\n[search]\nk = 1\n"""\n[search]\nk = 2\n', {"search.k": 4}, COMMENT)


@pytest.mark.parametrize("character", ["\u2028", "\x85", "\u2029"])
def test_only_line_feeds_end_a_line(character: str) -> None:
    text = f"[store]\npath = 'a{character}b' # c{character}d\n[search]\nk = 2\n"
    edited = edit_settings(text, {"search.k": 4}, COMMENT)
    assert edited == text.replace("k = 2\n", "\n".join([*COMMENT, "k = 4\n"]))


def test_a_comment_stays_a_comment_whatever_it_quotes() -> None:
    evil = ["# pincite tune by: pincite tune 'a\n[answer]\nmodel = 1\x00\r'"]
    assert toml(edit_settings("[search]\nk = 2\n", {"search.k": 4}, evil)) == {"search": {"k": 4}}


def test_comments_do_not_pile_up_above_dotted_names() -> None:
    text = "# mine\nsearch.k = 2\nchunk.size = 3\n"
    for size in (4, 5, 6):
        text = edit_settings(text, {"search.k": size, "chunk.size": size}, COMMENT)
    assert text.splitlines() == [*COMMENT, "# mine", "search.k = 6", "chunk.size = 6"]


def test_the_file_keeps_its_line_ends_and_is_whole_or_not_changed(tmp_path: Path) -> None:
    file = tmp_path / "pincite.toml"
    file.write_bytes(b"# mine\r\n[search]\r\nk = 2\r\n")
    file.chmod(0o640)
    write_settings(file, {"search.k": 4}, COMMENT)
    assert file.read_bytes().decode() == "\r\n".join(["# mine", "[search]", *COMMENT, "k = 4", ""])
    assert file.stat().st_mode & 0o777 == 0o640
    with pytest.raises(InputError, match="cannot be changed"):
        write_settings(tmp_path / "absent" / "pincite.toml", {"search.k": 4}, COMMENT)
    file.write_bytes(b"[search]\nk = \xff\n")
    with pytest.raises(InputError, match="cannot be changed"):
        write_settings(file, {"search.k": 4}, COMMENT)
    assert [each.name for each in tmp_path.iterdir()] == ["pincite.toml"]
