"""``perfc ui``: the page of perfc in a browser, answered by this machine."""

from __future__ import annotations

import socket

import click

from perfc.common.plain_text import say
from perfc.errors import MissingExtraError, PerfcError

from ..shared.listing import examples
from ..shared.table import table_options

ENVIRONMENT = "PERFC_UI_TOKEN"
"""Environment variable of the token: every user of a machine sees command lines, tokens included,
but no environments."""


@click.command("ui", epilog=examples("ui", "ui --host 0.0.0.0 --port 8080"))
@table_options("ui")
@click.option(
    "--token",
    envvar=ENVIRONMENT,
    default="",
    metavar="TEXT",
    help=f"Token of the requests, also from {ENVIRONMENT} (default: a random one where "
    "it is required).",
)
def command(
    host: str, port: int, token: str, upload_mib: int, time_s: int, memory_mib: int
) -> None:
    """Serve the page of perfc: drop a model in a browser, answered at native speed.

    Each request runs in a separate process under these limits, and its files are deleted after it.
    /docs describes the same operations for programs.
    """
    from perfc.common.extras import absent, install

    if missing := absent("ui"):
        raise MissingExtraError(f"perfc ui needs {', '.join(missing)}", hint=install("ui"))
    import uvicorn

    from perfc.commands.web import server
    from perfc.commands.web.jobs import UiLimits

    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except (OSError, TypeError) as error:  # TypeError: a name that IDNA cannot encode
        reason, hint = getattr(error, "strerror", ""), "choose another --host or --port"
        raise PerfcError(reason or str(error), where=f"{host}:{port}", hint=hint) from None
    # connections wait from here on, so that the printed address is never refused
    listening.listen(128)
    # whoever reaches an address that others see too needs a token
    is_local = server.is_loopback(host)
    if not is_local and not token:
        import secrets

        token = secrets.token_urlsafe(24)  # 192 random bits
    limits = UiLimits(upload_mib << 20, time_s, memory_mib << 20)
    app = server.create_app(token, limits, is_local=is_local)
    # the token is a fragment, which browsers do not send to servers or put into logs
    shown = f"[{host}]" if ":" in host else host
    fragment = f"#token={token}" if token else ""
    say(f"perfc: http://{shown}:{listening.getsockname()[1]}/{fragment}")
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run([listening])
