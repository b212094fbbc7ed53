"""Whatever a file does to its loader, it costs that file and a known time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pincite.config import LoadSettings
from pincite.errors import EncryptedError, LoaderFaultError, LoadError, MemoryLimitError, ReadTimeoutError
from pincite.loaders.worker import WorkerReader
from pincite.protocols import Source
from pincite.types import Document, FileOutcome

HERE = Path(__file__).parent
TOYS = (sys.executable, str(HERE / "toys_worker.py"))

linux = pytest.mark.skipif(sys.platform != "linux", reason="what is looked at is there on Linux")


def bad(what: str, name: str = "x.bad") -> Source:
    return Source(f"/folder/{name}", name, what.encode())


def toy_reader(seconds: float = 60, memory_mb: int = 256) -> WorkerReader:
    return WorkerReader({"seconds": seconds, "memory_mb": memory_mb}, TOYS)


@pytest.fixture
def reader() -> Iterator[WorkerReader]:
    reader = toy_reader()
    yield reader
    reader.close()


def process_id(reader: WorkerReader) -> int:
    (document,) = reader.read(bad("signals"))
    assert isinstance(document, Document)
    return int(document.text)


def gone(pid: int) -> bool:
    """Whether the process ends within some seconds. One that has ended and that nobody has waited for counts."""
    for _ in range(100):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False


def test_a_real_file_is_read_as_it_is_without_a_process(tmp_path: Path) -> None:
    from pincite.formats import build_loaders
    from pincite.loaders.read import read_documents

    (tmp_path / "a.md").write_text("# One\n\nÜber “uns”\n\n## Two\n\nte\u200bxt\n", encoding="utf-8")
    sources = [
        Source(str(tmp_path / "a.md"), "a.md", path=tmp_path / "a.md"),
        Source("stdin:b.html", "b.html", b"<html><title>T</title><h1>H</h1><p>p"),
    ]
    reader = WorkerReader(LoadSettings().model_dump(mode="json"))
    try:
        for source in sources:
            assert list(reader.read(source)) == list(read_documents(build_loaders(), source))
    finally:
        reader.close()


def test_the_process_is_kept_from_file_to_file(reader: WorkerReader) -> None:
    assert process_id(reader) == process_id(reader) != os.getpid()


def test_a_loader_that_hangs_is_stopped_and_the_next_file_is_read() -> None:
    reader = toy_reader(seconds=0.5)
    process_id(reader)
    for what in ("hang", "spin"):
        began = time.monotonic()
        with pytest.raises(ReadTimeoutError, match=r"load\.seconds") as caught:
            list(reader.read(bad(what)))
        assert time.monotonic() - began < 10
        assert caught.value.reason == "timeout"
    process_id(reader)
    reader.close()


def test_a_loader_that_says_that_it_goes_on_is_waited_for() -> None:
    reader = toy_reader(seconds=1)
    process_id(reader)
    (document,) = reader.read(bad("page-by-page"))
    assert isinstance(document, Document)
    reader.close()


@linux
def test_what_a_loader_started_ends_with_it(tmp_path: Path) -> None:
    reader = toy_reader(seconds=2)
    with pytest.raises(ReadTimeoutError):
        list(reader.read(bad(f"grandchild {tmp_path / 'pid'}")))
    assert gone(int((tmp_path / "pid").read_text()))
    reader.close()


def test_time_in_which_the_caller_works_does_not_count() -> None:
    reader = toy_reader(seconds=1)
    read = 0
    for _ in reader.read(bad("3", "x.many")):
        time.sleep(0.6)
        read += 1
    assert read == 3
    reader.close()


@linux
def test_memory_is_limited(reader: WorkerReader) -> None:
    first = process_id(reader)
    with pytest.raises(MemoryLimitError, match=r"load\.memory_mb \(256\)") as caught:
        list(reader.read(bad("allocate")))
    assert caught.value.reason == "memory"
    assert process_id(reader) != first  # a process that was full is not trusted with another file


@linux
def test_a_source_larger_than_the_memory_is_refused() -> None:
    reader = toy_reader(memory_mb=50)
    with pytest.raises(MemoryLimitError):
        list(reader.read(Source("/x/a.txt", "a.txt", bytes(100_000_000))))
    process_id(reader)
    reader.close()


@linux
@pytest.mark.parametrize("said", ["memory allocation of 2147483648 bytes failed\n", "what(): std::bad_alloc\n"])
def test_a_library_that_gives_up_for_want_of_memory(reader: WorkerReader, said: str) -> None:
    with pytest.raises(MemoryLimitError):
        list(reader.read(bad(f"abort {said}")))
    with pytest.raises(LoaderFaultError, match="SIGABRT"):
        list(reader.read(bad("abort for another reason")))


@linux
def test_a_process_that_holds_much_is_replaced() -> None:
    reader = toy_reader(memory_mb=2000)
    first = process_id(reader)
    assert len(list(reader.read(bad("hold 1000")))) == 1
    assert process_id(reader) == first
    assert len(list(reader.read(bad("hold 600000000")))) == 1
    assert process_id(reader) != first
    reader.close()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no signals")
def test_a_crash_is_a_fault_that_names_the_signal(reader: WorkerReader) -> None:
    with pytest.raises(LoaderFaultError, match=r"SIGSEGV.*in load") as caught:
        list(reader.read(bad("segfault")))
    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)
    process_id(reader)


def test_a_loader_that_ends_the_process_is_a_fault(reader: WorkerReader) -> None:
    with pytest.raises(LoaderFaultError, match="exit status 7"):
        list(reader.read(bad("exit")))
    process_id(reader)


@pytest.mark.parametrize("what", ["system-exit", "interrupt", "strange", "nothing"])
def test_whatever_is_raised_is_a_fault_of_the_loader(reader: WorkerReader, what: str) -> None:
    first = process_id(reader)
    with pytest.raises(LoaderFaultError, match="the loader failed"):
        list(reader.read(bad(what)))
    assert process_id(reader) == first


def test_an_error_comes_as_what_it_was(reader: WorkerReader) -> None:
    with pytest.raises(EncryptedError, match="locked ü \udcff"):
        list(reader.read(bad("encrypted")))
    with pytest.raises(LoadError, match="No such file") as caught:
        list(reader.read(Source("/x/a.txt", "a.txt", path=HERE / "is-not-there.txt")))
    assert type(caught.value) is LoadError


def test_what_is_printed_does_not_disturb(reader: WorkerReader) -> None:
    assert len(list(reader.read(bad("print")))) == 1
    assert len(list(reader.read(bad("print")))) == 1


def test_a_container_is_read_document_by_document(reader: WorkerReader, tmp_path: Path) -> None:
    made = tmp_path / "made"
    for i, document in enumerate(reader.read(bad(f"10 note {made}", "x.many"))):
        assert document.uri == f"/folder/x.many#{i}"
        # Nothing is made before it is asked for.
        assert made.read_text() == str(i + 1)
    found = list(reader.read(bad("10000", "x.many")))
    assert len(found) == 10_000
    assert [isinstance(each, FileOutcome) for each in found].count(True) == 10
    assert found[7] == FileOutcome("/folder/x.many#7", "skipped", reason="no-text", detail="nothing", warnings=("w",))


def test_a_container_that_fails_gives_what_was_read_before() -> None:
    reader = toy_reader(seconds=1)
    for then, error in (("fail", LoadError), ("hang", ReadTimeoutError)):
        read: list[Document | FileOutcome] = []
        with pytest.raises(error):
            read.extend(reader.read(bad(f"3 {then}", "x.many")))
        assert len(read) == 3
    reader.close()


def test_a_container_that_is_left_in_the_middle_does_not_spoil_the_next(reader: WorkerReader) -> None:
    documents = reader.read(bad("10", "x.many"))
    next(documents)
    documents.close()  # type: ignore[attr-defined]
    process_id(reader)


def test_two_may_be_open_at_once(reader: WorkerReader) -> None:
    one, two = reader.read(bad("3", "x.many")), reader.read(bad("3", "y.many"))
    pairs = list(zip(one, two, strict=True))
    assert [(a.uri[-8:], b.uri[-8:]) for a, b in pairs] == [(f"x.many#{i}", f"y.many#{i}") for i in range(3)]


def test_threads_with_their_own_readers_and_with_one(reader: WorkerReader) -> None:
    own = [toy_reader(), toy_reader()]
    counts: list[int] = []

    def work(mine: WorkerReader) -> None:
        counts.append(sum(len(list(mine.read(bad("50", "x.many")))) for _ in range(5)))

    threads = [threading.Thread(target=work, args=(each,)) for each in (*own, reader, reader)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [250] * 4
    for each in own:
        each.close()


def test_a_thread_that_has_ended_does_not_take_the_process_with_it(reader: WorkerReader) -> None:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(process_id(reader)))
    thread.start()
    thread.join()
    time.sleep(0.2)
    assert found == [process_id(reader)]


@linux
def test_a_process_killed_while_idle_is_replaced(reader: WorkerReader) -> None:
    first = process_id(reader)
    os.kill(first, signal.SIGKILL)
    assert gone(first)
    assert process_id(reader) != first


@linux
def test_closing_ends_the_process_and_reading_starts_another(reader: WorkerReader) -> None:
    first = process_id(reader)
    reader.close()
    reader.close()
    assert gone(first)
    assert process_id(reader) != first


@linux
def test_forgetting_a_reader_ends_its_process() -> None:
    reader = toy_reader()
    pid = process_id(reader)
    del reader
    assert gone(pid)


def test_a_process_that_cannot_start_is_said_to() -> None:
    for program in ((sys.executable, "-c", "raise SystemExit('no loaders here')"), (str(HERE / "nothing-here"),)):
        reader = WorkerReader({"seconds": 5, "memory_mb": 256}, program)
        with pytest.raises(LoaderFaultError, match=r"did not start: .*(no loaders here|No such file|cannot find)"):
            list(reader.read(bad("")))


ASKING = """
import os, sys, time
sys.path.insert(0, {here!r})
from test_worker import bad, process_id, toy_reader
if __name__ == "__main__":
    reader = toy_reader()
    print(process_id(reader), flush=True)
    {then}
"""


def asking(tmp_path: Path, then: str) -> tuple[subprocess.Popen[str], int]:
    """A process that reads, and the process that reads for it."""
    script = tmp_path / "asking.py"
    script.write_text(ASKING.format(here=str(HERE), then=then))
    process = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


@linux
@pytest.mark.parametrize("what", ["hang", "spin"])
def test_it_dies_with_the_one_that_started_it_even_at_work(tmp_path: Path, what: str) -> None:
    process, pid = asking(tmp_path, f"list(reader.read(bad({what!r})))")
    with process:
        time.sleep(0.5)
        process.kill()
        assert gone(pid)


@linux
def test_an_interruption_at_the_terminal_ends_both_and_only_one_says_so(tmp_path: Path) -> None:
    process, pid = asking(tmp_path, "list(reader.read(bad('hang')))")
    with process:
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert gone(pid)
    assert errors.count("Traceback") == errors.count("KeyboardInterrupt") == 1
    assert "serving.py" not in errors


@linux
def test_ending_without_closing_leaves_nothing_behind(tmp_path: Path) -> None:
    process, pid = asking(tmp_path, "pass")
    with process:
        out, errors = process.communicate(timeout=30)
    assert (process.returncode, out, errors) == (0, "", "")
    assert gone(pid)


def test_the_current_folder_cannot_answer_for_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json", "lxml", "pypdfium2", "pincite", "queue"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('taken from the folder')")
    monkeypatch.chdir(tmp_path)
    reader = WorkerReader(LoadSettings().model_dump(mode="json"))
    assert len(list(reader.read(Source("/x/a.txt", "a.txt", b"text")))) == 1
    reader.close()


def test_a_relative_path_is_meant_where_the_caller_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = toy_reader()
    process_id(reader)
    (tmp_path / "a.txt").write_text("there")
    monkeypatch.chdir(tmp_path)
    (document,) = reader.read(Source("/x/a.txt", "a.txt", path=Path("a.txt")))
    assert isinstance(document, Document)
    assert document.text == "there"
    reader.close()


def test_no_model_library_is_loaded_to_read() -> None:
    program = (
        "import sys; from pincite.formats import build_loaders; import pincite.loaders.serving, pincite.worker; "
        "build_loaders(); print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"numpy", "onnxruntime", "tokenizers", "torch", "httpx", "qdrant_edge"}
