from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from pincite.config import Settings, load_settings, setting_names
from pincite.errors import ConfigError


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(
    toml: str | bytes = "", environment: dict[str, str] | None = None, overrides: dict[str, object] | None = None
) -> Settings:
    file = Path("some.toml")
    file.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    return load_settings(file, environment=environment or {}, overrides=overrides)


def refusal(*args: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*args)
    return str(caught.value)


def test_later_sources_win() -> None:
    assert load().search.k == 10
    assert load("[search]\nk = 1").search.k == 1
    assert load("[search]\nk = 1", {"PINCITE_SEARCH_K": "2"}).search.k == 2
    assert load("[search]\nk = 1", {"PINCITE_SEARCH_K": "2"}, {"search.k": 3}).search.k == 3
    # Not given, and given empty, are not given.
    assert load("[search]\nk = 1", {"PINCITE_SEARCH_K": ""}, {"search.k": None}).search.k == 1


def test_sections_are_merged_key_by_key() -> None:
    found = load("[search]\nk = 1\ndepth = 7", {"PINCITE_SEARCH_K": "2"}, {"search.mode": "bm25"}).search
    assert (found.k, found.depth, found.mode) == (2, 7, "bm25")


def test_the_file_of_the_folder_is_found_and_a_named_one_must_be_there() -> None:
    Path("pincite.toml").write_text("[search]\nk = 4")
    assert load_settings(environment={}).search.k == 4
    with pytest.raises(ConfigError, match=r"there is no settings file gone\.toml"):
        load_settings(Path("gone.toml"), environment={})
    Path("pincite.toml").unlink()
    Path("pincite.toml").mkdir()
    assert load_settings(environment={}) == Settings()
    with pytest.raises(ConfigError):
        load_settings(Path("pincite.toml"), environment={})


def test_the_real_environment_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_SEARCH_K", "77")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-this-machine")
    assert load() == Settings()


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[serch]\nk = 1", "unknown section [serch]; did you mean search?"),
        ("[search]\nkk = 1", "unknown setting search.kk; did you mean search.k?"),
        ("[search]\nmod = 'bm25'", "unknown setting search.mod; did you mean search.mode?"),
        ("[zzzzzz]", "unknown section [zzzzzz]; there are: store, encoder"),
        ("store = 'here'", "store is a section: write [store] and its settings below it"),
        ("[[store]]\npath = 'x'", "store is a section"),
        ("k = 1", "some.toml: k is a setting of [search]: put it below a line [search]"),
        ("recipe = 'window'", "recipe is a setting of [chunk]: put it below a line [chunk]"),
        ("depth = 1", "depth is a setting of [search] or [rerank]: put it below a line [search] or [rerank]"),
        ("[recipe]", "unknown section [recipe]; there are: store"),
        ("qq = 1", "unknown section [qq]; there are: store"),
        ("a = ", "some.toml is not valid TOML: "),
        ("[search]\nk = 1\nk = 2", "some.toml is not valid TOML: "),
        (b"\xff\xfe[\x00", "some.toml is not valid TOML: "),
    ],
)
def test_a_wrong_file_is_explained(toml: str | bytes, message: str) -> None:
    assert message in refusal(toml)


def test_a_byte_order_mark_and_an_empty_section_do_no_harm() -> None:
    assert load(b"\xef\xbb\xbf[search]\nk = 3\n[answer]\n").search.k == 3


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        ("PINCITE_SERCH_K", "unknown setting PINCITE_SERCH_K in the environment; did you mean PINCITE_SEARCH_K?"),
        ("PINCITE_STOR", "did you mean PINCITE_STORE?"),
        ("PINCITE_", "unknown setting PINCITE_ in the environment"),
    ],
)
def test_an_unknown_variable_is_refused(variable: str, message: str) -> None:
    assert message in refusal("", {variable: "1"})


def test_other_programs_variables_are_left_alone() -> None:
    assert load("", {"PINCITED": "x", "pincite_search_k": "x", "PINCITE_CACHE": "/c", "PINCITE_DATA": "/d"}) == load()


@pytest.mark.parametrize("name", ["answer.modle", "model", "answer", "", "answer.model.x"])
def test_an_unknown_override_is_refused_even_if_it_is_not_given(name: str) -> None:
    assert f"unknown setting {name};" in refusal("", {}, {name: "x"})
    assert f"unknown setting {name};" in refusal("", {}, {name: None})


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[search]\nk = 'many'", "setting search.k: input should be a valid integer, unable to parse"),
        ("[search]\nk = 1.5", "setting search.k: input should be a valid integer, got a number with a fractional part"),
        ("[search]\nk = true", "setting search.k: true and false are not values of this setting, got True"),
        ("[search]\nk = 0", "setting search.k: input should be greater than or equal to 1, got 0"),
        ("[search]\nk = []", "setting search.k: input should be a valid integer, got []"),
        ("[search]\nmode = 'fast'", "setting search.mode: input should be 'hybrid', 'dense' or 'bm25', got 'fast'"),
        (
            "[search]\nlanguage = 'klingon'",
            "setting search.language: there is no stemmer of that name; there are: arab",
        ),
        ("[store]\npath = 3", "setting store.path: input is not a valid path, got 3"),
        ("[store]\nlock_timeout = nan", "setting store.lock_timeout: input should be a finite number, got nan"),
        ("[load]\nmax_file_mb = inf", "setting load.max_file_mb: input should be a finite number, got inf"),
        ("[load]\nmax_file_mb = 0", "setting load.max_file_mb: input should be greater than 0, got 0"),
        ("[answer]\ntemperature = 2.5", "input should be less than or equal to 2, got 2.5"),
        ("[answer]\nmodel = {a = 1}", "setting answer.model: input should be a valid string"),
        ("[chunk]\nsize = 100\noverlap = 100", "setting chunk: overlap (100) must be smaller than size (100)"),
        ("[chunk]\nsize = 100\noverlap = 150", "setting chunk: overlap (150) must be smaller than size (100)"),
        ("[chunk]\nsize = 0", "setting chunk.size: input should be greater than or equal to 1, got 0"),
        ("[chunk]\nsize = -130\noverlap = -1", "setting chunk.overlap: input should be greater than or equal to 0"),
    ],
)
def test_a_wrong_value_is_explained(toml: str, message: str) -> None:
    assert message in refusal(toml)


def test_every_wrong_value_is_named_at_once() -> None:
    message = refusal("[search]\nk = 0\n[load]\nmax_file_mb = -1")
    assert "search.k" in message
    assert "load.max_file_mb" in message


def test_values_of_the_environment_are_read_as_what_they_are() -> None:
    found = load(
        "",
        {
            "PINCITE_CHUNK_SIZE": "200",
            "PINCITE_CHUNK_OVERLAP": "199",
            "PINCITE_ANSWER_TEMPERATURE": "0.5",
            "PINCITE_SEARCH_RRF_K": "0",
        },
    )
    assert (found.chunk.size, found.chunk.overlap, found.answer.temperature, found.search.rrf_k) == (200, 199, 0.5, 0)
    assert "search.k" in refusal("", {"PINCITE_SEARCH_K": "true"})
    assert "overlap (5) must be smaller than size (5)" in refusal("[chunk]\nsize = 5", {"PINCITE_CHUNK_OVERLAP": "5"})


def test_the_folder_of_the_index(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("", {"PINCITE_STORE": "a"}).store.path == Path("a")
    for environment in (
        {"PINCITE_STORE": "a", "PINCITE_STORE_PATH": "b"},
        {"PINCITE_STORE_PATH": "b", "PINCITE_STORE": "a"},
    ):
        assert load("", environment).store.path == Path("b")
    monkeypatch.setenv("HOME", "/home/ann")
    assert load("[store]\npath = '~/library'").store.path == Path("/home/ann/library")


def key_of(settings: Settings) -> str | None:
    key = settings.answer.api_key
    return key.get_secret_value() if key else None


def test_the_usual_name_of_the_key_serves_where_the_setting_does_not() -> None:
    usual = {"OPENAI_API_KEY": "sk-usual"}
    assert key_of(load("", usual)) == "sk-usual"
    assert key_of(load("[answer]\napi_key = 'sk-file'", usual)) == "sk-file"
    assert key_of(load("", {**usual, "PINCITE_ANSWER_API_KEY": "sk-own"})) == "sk-own"
    assert key_of(load("", usual, {"answer.api_key": "sk-given"})) == "sk-given"
    assert key_of(load("", {"OPENAI_API_KEY": ""})) is None


def test_a_secret_is_never_shown() -> None:
    settings = load("[answer]\napi_key = 'sk-secret'")
    assert settings.masked()["answer"]["api_key"] == "**********"
    assert "sk-secret" not in f"{settings!r} {settings} {settings.masked()} {settings.model_dump_json()}"
    for wrong in ("passages = 'x'", "modle = 'x'", "context_tokens = 1"):
        assert "sk-secret" not in refusal(f"[answer]\napi_key = 'sk-secret'\n{wrong}")
    assert "12345678" not in refusal("[answer]\napi_key = 12345678")
    assert "sk-secret" not in refusal("[answer]\napi_key = ['sk-secret']")
    assert "sk-secret" not in refusal("[answer]\napi_kee = 'sk-secret'")
    assert "sk-secret" not in refusal("[answer]\napi_key = 'sk-secret")


def test_masked_settings_can_be_loaded_again() -> None:
    masked = load("[chunk]\nsize = 100\noverlap = 2", {"PINCITE_STORE": "x"}).masked()
    given = {f"{section}.{key}": value for section, values in masked.items() for key, value in values.items()}
    assert load("", {}, given).masked() == masked


def test_settings_do_not_change() -> None:
    settings = load()
    with pytest.raises(ValueError, match="frozen"):
        settings.search.k = 3  # type: ignore[misc]


def test_every_setting_is_described() -> None:
    names = setting_names()
    assert len(names) == len(set(names)) > 20
    for name in names:
        section, _, key = name.partition(".")
        model = Settings.model_fields[section].annotation
        assert isinstance(model, type)
        assert issubclass(model, BaseModel)
        assert model.__doc__
        description = model.model_fields[key].description
        assert description, name
        assert description.endswith("."), name
    # Every name is one in the environment, and no two are the same there.
    assert len({name.replace(".", "_").upper() for name in names}) == len(names)
