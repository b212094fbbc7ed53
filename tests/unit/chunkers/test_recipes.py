"""From `chunk.recipe` to a chunker, and what the settings of one recipe are to another: an error."""

from __future__ import annotations

import pytest

from pincite.build import _options, build_chunker
from pincite.config import Settings, load_settings
from pincite.encoders.minilm import minilm
from pincite.errors import ConfigError


def settings(**chunk: object) -> Settings:
    given = {f"chunk.{name}": value for name, value in chunk.items()}
    return load_settings(environment={}, overrides=given)


@pytest.mark.parametrize("recipe", ["structure", "sentences", "window", "sentence-window", "parent-child"])
def test_every_recipe_is_built(recipe: str) -> None:
    assert build_chunker(settings(recipe=recipe), minilm()).name == recipe


@pytest.mark.parametrize(
    ("recipe", "name", "value", "message"),
    [
        (
            "sentence-window",
            "overlap",
            2,
            "overlap is a setting of structure, sentences, window, not of sentence-window: unset it",
        ),
        ("parent-child", "overlap", 2, "overlap is a setting of"),
        ("structure", "window", 2, "window is a setting of sentence-window, not of structure: unset it"),
        ("window", "window", 2, "window is a setting of sentence-window, not of window"),
        ("sentence-window", "parent_size", 500, "parent_size is a setting of parent-child"),
        ("sentences", "parent_size", 500, "not of sentences"),
    ],
)
def test_a_setting_of_another_recipe_is_an_error(recipe: str, name: str, value: int, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings(recipe=recipe, **{name: value})


@pytest.mark.parametrize("recipe", ["structure", "sentences", "window"])
@pytest.mark.parametrize("overlap", [100, 150])
def test_overlap_as_large_as_the_chunk_is_an_error(recipe: str, overlap: int) -> None:
    with pytest.raises(ConfigError, match="must be smaller than size"):
        settings(recipe=recipe, size=100, overlap=overlap)
    # The size that the encoder takes is known only when the chunker is built.
    with pytest.raises(ConfigError, match=r"overlap(_sentences)? is 254 and size is 254"):
        build_chunker(settings(recipe=recipe, overlap=254), minilm())


def test_a_parent_no_larger_than_its_chunks_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"parent_size \(90\) must be greater than size \(90\)"):
        settings(recipe="parent-child", size=90, parent_size=90)
    with pytest.raises(ConfigError, match="parent_size is 100 and size is 128"):
        build_chunker(settings(recipe="parent-child", parent_size=100), minilm())


def test_every_setting_that_cuts_otherwise_is_in_the_recipe_of_an_index() -> None:
    chosen: list[dict[str, object]] = [
        {},
        {"size": 100},
        {"overlap": 2},
        {"recipe": "sentences"},
        {"recipe": "window"},
        {"recipe": "window", "overlap": 20},
        {"recipe": "sentence-window"},
        {"recipe": "sentence-window", "window": 9},
        {"recipe": "parent-child"},
        {"recipe": "parent-child", "size": 33},
        {"recipe": "parent-child", "parent_size": 999},
    ]
    recipes = [_options(settings(**each)).recipe for each in chosen]
    assert len(set(recipes)) == len(chosen)
    # A default that is spelled out is the same recipe.
    assert _options(settings(overlap=0)).recipe == recipes[0]
