"""Command line: finds a command by its file name, runs it, prints errors in one line."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import FunctionType
from typing import NoReturn

import click

from perfc.commands.shared import listing
from perfc.common import plugins
from perfc.common.plugins import NO_CODE
from perfc.common.version import __version__
from perfc.errors import PerfcError, suggestion

COMPLETE = "_PERFC_COMPLETE"
"""Variable by which click's completion scripts call the command."""
ANYWHERE = ("--debug", "--no-code")
"""Options of all commands, which stand anywhere."""
MOST_CALLS = 5
"""Commands that the error of an unknown option names at most."""
INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells expect."""
STACK_SLOTS = 40_000
"""Stack slots of the frame of `run`, more than all frames of any command use."""


class Commands(click.Group):
    """Commands: files of ``perfc/commands`` and plug-ins; one is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, sorted."""
        return sorted(name for modules in listing.sections().values() for name in modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the ``command`` of the module of that name, None if there is none."""
        module = listing.module_of(cmd_name)
        return None if module is None else listing.command_of(module)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve the command that ``args`` call; the error suggests similar names."""
        # commands and options of earlier versions still work, with a note
        is_former = args[:2] in (["bulk", "run"], ["dev", "fusion"])
        is_known = not args or args[0].startswith("-") or listing.module_of(args[0]) is not None
        if is_known and not is_former:
            return super().resolve_command(ctx, args)
        from perfc.commands.shared import former

        if old := former.former_of(args):
            say(f"note: perfc {old} is now perfc {former.words_of(old)}")
            return super().resolve_command(ctx, former.replaced(args))
        name = " ".join(args[: 1 + is_former])
        if name in plugins.LAB_COMMANDS:
            ctx.fail(f"{name!r} is a command of perfc-lab; {plugins.LAB_HINT}")
        hint = former.REMOVED.get(name) or replacement(args, self.list_commands(ctx))
        ctx.fail(f"no command {name!r}; {hint}")

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by section with their summaries, without importing them."""
        for section, modules in listing.sections().items():
            listing.write_section(formatter, f"Commands: {section}", modules)


def replacement(args: Sequence[str], names: Sequence[str]) -> str:
    """Return a suggestion for ``args``, whose first word is not a command."""
    from perfc.common.other_names import command_for
    from perfc.frontend.reading.folder import is_typed

    first = args[0]
    if is_typed(first):
        return f"name one before the model: perfc analyze {' '.join(args)}"
    other = command_for(first)
    return f"did you mean {other}?" if other else suggestion(first, names)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="perfc %(version)s")
@click.option("--debug", is_flag=True, help="Show the traceback of an error; allowed anywhere.")
@click.option(
    "--no-code",
    is_flag=True,
    help="Refuse models given by module, whose code would run; allowed anywhere, as "
    "PERFC_NO_CODE=1.",
)
def cli(debug: bool, no_code: bool) -> None:
    """Performance compiler: what bounds a model on a machine, and why.

    Exit codes: 0 fine, 1 findings, 2 usage or unreadable input, 3 incomplete under --strict.
    """


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit the process."""
    with_streams()
    # A run makes few cycles and ends soon: scanning for them costs a tenth of the time.
    gc.disable()
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(cli, {}, "perfc", COMPLETE, instruction))
    code = with_stack(run)(list(sys.argv[1:] if argv is None else argv))
    # The end of the process would search the remaining objects for cycles as well.
    gc.freeze()
    sys.exit(code)


def with_streams() -> None:
    """Open the null device for standard streams that the caller closed.

    Otherwise the next opened file would get the descriptor of standard output.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115


def with_stack(call: Callable[[list[str]], int]) -> Callable[[list[str]], int]:
    """Wrap a call in a frame that reserves `STACK_SLOTS`.

    CPython maps frames in chunks of 16 KiB and unmaps a chunk when its first frame returns
    (``_PyThreadState_PushFrame``, Python/pystate.c). A loop that calls across an edge pays two
    system calls a turn, about 1,750 times in an analysis of ResNet-50. One chunk that holds the
    largest frame holds all that follow; untouched pages take no memory.
    """
    assert isinstance(call, FunctionType)
    reserved = call.__code__.replace(co_stacksize=STACK_SLOTS)
    return FunctionType(reserved, call.__globals__, call.__name__)


def run(args: list[str]) -> int:
    """Run ``args`` and return the exit code; errors are one line on standard error."""
    # words behind ``--`` are arguments, even if they look like options
    end = args.index("--") if "--" in args else len(args)
    debug, no_code = (option in args[:end] for option in ANYWHERE)  # in that order
    args = [a for i, a in enumerate(args) if a not in ANYWHERE or i > end]
    # restored at the end: servers and tests call this several times in a process
    before = os.environ.get(NO_CODE)
    try:
        if no_code:
            os.environ[NO_CODE] = "1"
        return finish(invoke(list(args)))
    except click.exceptions.Exit as stop:
        return finish(stop.exit_code)
    except click.exceptions.NoArgsIsHelpError as error:
        say(error.format_message())
        return 2
    except BrokenPipeError:
        from perfc.common.plain_text import discard_output

        discard_output()
        return 0
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except Exception as error:
        if is_interrupted(error):
            return INTERRUPTED
        if debug:
            import traceback

            traceback.print_exc()
        say(f"error: {describe(error, args)}")
        return 2
    finally:
        if before is None:
            os.environ.pop(NO_CODE, None)
        else:
            os.environ[NO_CODE] = before


def invoke(args: list[str]) -> int:
    """Call the command and return its exit code, or 0 if it returns none."""
    with cli.make_context("perfc", args) as ctx:
        code = cli.invoke(ctx)
        return code if isinstance(code, int) else 0


def finish(code: int) -> int:
    """Flush standard output and return ``code``, even if the reader closed the pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        from perfc.common.plain_text import discard_output

        discard_output()
    return code


def is_interrupted(error: BaseException | None) -> bool:
    """Return True if Ctrl-C caused an error: an interrupted import may raise another one."""
    seen: set[int] = set()
    # an error that is raised again while it is handled may be its own context
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def describe(error: Exception, args: Sequence[str]) -> str:
    """Format an error in one line: what is wrong, where, and what to do."""
    match error:
        case PerfcError():
            text = str(error)
        case click.UsageError():
            path = error.ctx.command_path if error.ctx else "perfc"
            text = renamed(error, args)
            if not text:
                line = error.format_message().rstrip(".")
                text = f"{line}{wanted(error)} (see '{path} --help')"
        case click.ClickException():
            text = error.format_message()
        case MemoryError():
            text = "out of memory"
        case OSError() if error.strerror:
            text = f"{error.filename or 'standard output'}: {error.strerror}"
        case _:
            what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            text = f"{what} (a bug in perfc: report it with 'perfc --debug {' '.join(args)}')"
    # a number in a damaged file may have thousands of digits
    text = re.sub(r"\d{60,}", lambda number: f"{number[0][:20]}…", text)
    return " ".join(text.split()).removeprefix(os.getcwd().rstrip(os.sep) + os.sep)


def renamed(error: click.UsageError, args: Sequence[str]) -> str:
    """Return a line for an option of another tool in ``args``, "" if there is none."""
    if isinstance(error, click.NoSuchOption):
        name = typed(error.option_name, args)
    elif "extra argument" in error.message:
        # -tb 8 is an option of llama.cpp, and -t of perfc takes the b
        name = next((word for word in args if re.fullmatch("-[a-z]{2,}", word)), "")
    else:
        return ""
    hint = replaced(error, name, args) if name else ""
    return f"no option {name!r}: {hint}" if hint else ""


def replaced(error: click.UsageError, name: str, args: Sequence[str]) -> str:
    """Return what stands for an unknown option, "" if nothing does or it is a typing error."""
    from perfc.commands.shared.former import OPTIONS
    from perfc.common.other_names import answer_for, is_near, options_for, same_in

    if error.ctx is None or name in OPTIONS:
        return OPTIONS.get(name, "")
    if error.ctx.command is cli:
        return f"options follow a command, as in perfc analyze {' '.join(args)}"
    command, path = error.ctx.command, error.ctx.command_path
    known = listing.flags_of(command)
    value = next((after for word, after in pairwise(args) if word == name), "")
    others = options_for(name, value)
    if same := same_in(known, name):
        others.insert(0, same)
    for spelled in others:
        if listing.takes(command, spelled):
            return f"it is {spelled} here (see '{path} --help')"
    if answer := answer_for(name):
        return answer
    # a letter means another thing to every command, and extents of `op` have common names
    owners = {
        f"perfc {c}": owner
        for c, owner in listing.all_commands()
        if len(name) > 2 and c.startswith("op ") == path.startswith("perfc op ")
    }
    for spelled in (*others, name):
        if calls := [c for c, owner in owners.items() if listing.takes(owner, spelled)]:
            more = " and others" if len(calls) > MOST_CALLS else ""
            what = "an option" if spelled == name else f"it is {spelled}"
            return f"{what} of {', '.join(calls[:MOST_CALLS])}{more}"
    # click suggests words of little likeness, and options that the command hides
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        near = [flag for flag in error.possibilities if flag in known and is_near(flag, name)]
        error.possibilities[:] = near
        if near:
            return ""
    return answer_for(name, by_word=True)


def typed(option: str, args: Sequence[str]) -> str:
    """Return an unknown option as typed: click names one letter of ``-hint``."""
    if option in args or option.startswith("--"):
        return option
    words = (word.partition("=")[0] for word in args if re.match("-[^-].", word))
    return next((word for word in words if option[1] in word), option)


def wanted(error: click.UsageError) -> str:
    """Return the help of a missing option or folder, which names the command that writes it."""
    option = getattr(error, "param", None)
    is_missing = isinstance(error, click.MissingParameter) or "does not exist" in error.message
    if not is_missing or not isinstance(option, click.Option) or not option.help:
        return ""
    return f": {option.help[:1].lower()}{option.help[1:].rstrip('.')}"


def say(line: str) -> None:
    """Print a line or help page to standard error, unless it is closed."""
    from perfc.common.plain_text import shielded

    try:
        print(shielded(line), file=sys.stderr, flush=True)
    except OSError:
        return


if __name__ == "__main__":
    main()
