"""The command line: a thin layer over `pincite.Pincite`, one file a command.

Nothing heavy is imported here: each command imports what it needs when it runs, so that ``--help`` is instant.
"""

from __future__ import annotations

import io
import sys

import typer

from pincite.cli.add import add
from pincite.cli.ask import ask
from pincite.cli.calibrate import calibrate
from pincite.cli.chat import chat
from pincite.cli.config import config
from pincite.cli.demo import demo
from pincite.cli.doctor import doctor
from pincite.cli.evaluate import app as evaluate
from pincite.cli.export import export
from pincite.cli.history import history
from pincite.cli.import_file import import_file
from pincite.cli.lab import lab
from pincite.cli.listing import list_documents
from pincite.cli.make import make
from pincite.cli.optimize import optimize
from pincite.cli.purge import purge
from pincite.cli.redteam import redteam
from pincite.cli.reindex import reindex
from pincite.cli.remove import remove
from pincite.cli.restore import restore
from pincite.cli.search import search
from pincite.cli.show import show
from pincite.cli.status import status
from pincite.cli.sync import sync
from pincite.cli.tune import tune
from pincite.cli.verify import verify

__all__ = ["app", "main"]

app = typer.Typer(
    name="pincite",
    help="Answers questions from your own documents and proves every sentence.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from pincite import __version__

        typer.echo(f"pincite {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version and leave."
    ),
) -> None:
    """Answers questions from your own documents and proves every sentence."""


app.command("add")(add)
app.command("sync")(sync)
app.command("search")(search)
app.command("ask")(ask)
app.command("chat")(chat)
app.command("verify")(verify)
app.command("redteam")(redteam)
app.command("list")(list_documents)
app.command("show")(show)
app.command("history")(history)
app.command("remove")(remove)
app.command("restore")(restore)
app.command("purge")(purge)
app.command("status")(status)
app.command("doctor")(doctor)
app.command("optimize")(optimize)
app.command("reindex")(reindex)
app.command("export")(export)
app.command("import")(import_file)
app.command("config")(config)
app.command("demo")(demo)
evaluate.command("make")(make)
app.add_typer(evaluate, name="eval")
app.command("tune")(tune)
app.command("calibrate")(calibrate)
app.command("lab")(lab)


def main() -> None:
    """Run the command line. Errors made on purpose become one line and the exit code of their kind."""
    from pincite.errors import PinciteError

    for stream in (sys.stdout, sys.stderr):
        # Where the terminal cannot show a character it shows another; the answer is not lost over a dash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except PinciteError as error:
        typer.echo(f"pincite: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo("pincite: interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # The reader of a pipe went away (`pincite list | head`): not an error of ours, and nothing more to say.
        sys.stderr.close()
        sys.exit(141)
