"""``perfc ui``: the page and its operations over HTTP, answered at native speed."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from perfc.errors import ParseError

from . import openapi
from .jobs import UiLimits, answered
from .operations import AnswerForm, catalogue, failed, opened
from .policy import page_policy

PAGE = Path(__file__).parent / "page"
"""Folder with the files of the page."""
MOST_FILES = 64
"""Maximum files of a request, all of which are parsed before its operation checks their names."""
MOST_DISCARDED, LONGEST_DISCARDING_S = 1 << 26, 2.0
"""Maximum bytes of a refused request that are read and thrown away, and seconds that this takes."""
FIELDS = ("model", "answer", "form", "file")
"""Fields of a form that are no settings of an operation."""
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
"""Names of this machine; a request with another one may come from a web page (DNS rebinding)."""


def is_loopback(host: str) -> bool:
    """Return True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Middleware: token, origin and size of each request, before anything reads it.

    Args:
        app: application behind it.
        token: token of requests to the API; "" for none.
        hosts: names in ``Host`` that are answered; () for any.
        most_bytes: bytes of a request's body.
    """

    def __init__(self, app: ASGIApp, token: str, hosts: Sequence[str], most_bytes: int) -> None:
        self.app, self.token, self.hosts, self.most_bytes = app, token, hosts, most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        if refused := self.refusal(request):
            # the body is read, as a client that is still sending it would see a closed connection
            # instead of the reason
            with suppress(TimeoutError):
                await asyncio.wait_for(discarded(receive, MOST_DISCARDED), LONGEST_DISCARDING_S)
            await refused(scope, receive, send)
            return
        remaining = self.most_bytes

        async def counted() -> Message:
            nonlocal remaining
            message = await receive()
            remaining -= len(message.get("body", b""))
            if remaining < 0:
                raise HTTPException(413, "files above the limit")
            return message

        await self.app(scope, counted, send)

    def refusal(self, request: Request) -> Response | None:
        """Return the response to a request that is not answered; None if it is."""
        host = request.headers.get("host", "")
        # the name without its port; ``[::1]``, an address of IPv6, has none
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if self.hosts and name not in self.hosts:
            return JSONResponse(failed("another host name than the server's"), 400)
        origin = request.headers.get("origin", "")
        if origin and origin.partition("://")[2] != host:
            return JSONResponse(failed("a request of another site"), 403)
        needs_token = request.url.path.startswith(("/api/", "/catalogue.json"))
        given = request.headers.get("authorization", "").removeprefix("Bearer ").encode()
        # compared in constant time, so that the time does not show how much of a guess is right
        if self.token and needs_token and not hmac.compare_digest(given, self.token.encode()):
            return JSONResponse(failed("no token, or another one"), 401)
        length = request.headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.most_bytes:
            return JSONResponse(failed("files above the limit"), 413)
        return None


async def discarded(receive: Receive, most_bytes: int) -> None:
    """Read and discard a body, up to a number of bytes."""
    while most_bytes > 0:
        message = await receive()
        most_bytes -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


class Api:
    """Handlers of the operations.

    Args:
        limits: limits of jobs.
    """

    def __init__(self, limits: UiLimits) -> None:
        self.limits = limits
        self.slots = asyncio.Semaphore(limits.jobs)
        self.offered: dict[str, Any] = {"predicts": True, **catalogue(is_local=True)}

    async def offers(self, request: Request) -> Response:
        """Return what the form offers."""
        return JSONResponse(self.offered)

    async def schema(self, request: Request) -> Response:
        """Return the OpenAPI document."""
        return JSONResponse(openapi.document(self.offered))

    async def docs(self, request: Request) -> Response:
        """Return the OpenAPI document as a page."""
        return HTMLResponse(openapi.page(self.offered))

    async def run(self, request: Request) -> Response:
        """Run an operation; the files of the request are deleted after it."""
        operation = request.path_params["operation"]
        folder = Path(await run_in_threadpool(tempfile.mkdtemp, prefix="perfc-ui-"))
        try:
            # more fields than any operation has settings
            async with request.form(max_files=MOST_FILES, max_fields=64) as form:
                job = await self.job(operation, form, folder)
            async with self.slots:
                reply = await answered(job, folder, self.limits, lambda: disconnected(request))
        except ParseError as error:
            reply = failed(str(error))
        except MultiPartException as error:
            reply = failed(error.message)
        finally:
            await run_in_threadpool(shutil.rmtree, folder, ignore_errors=True)
        return JSONResponse(reply, 422 if reply["error"] else 200)

    async def job(self, operation: str, form: FormData, folder: Path) -> dict[str, object]:
        """Return the job of a form, and write its files to a folder.

        Raises:
            ParseError: a field or file that no job has.
        """
        texts: Mapping[str, str] = {k: v for k, v in form.multi_items() if isinstance(v, str)}
        files = [f for f in form.getlist("file") if isinstance(f, UploadFile)]
        names = [f.filename or "" for f in files]
        if files:
            opened(names)
            if len({*names}) < len(names):
                raise ParseError("two files of one name", where=", ".join(names)[:80])
        for name, file in zip(names, files, strict=True):
            with (folder / name).open("xb") as target:
                # in pieces of 1 MiB, so that no file is in memory as a whole
                await run_in_threadpool(shutil.copyfileobj, file.file, target, 1 << 20)
        answer_form = texts.get("form", "html")
        if answer_form not in openapi.FORMS:
            raise ParseError(f"no form {answer_form[:32]!r}", hint=", ".join(openapi.FORMS))
        answer = texts.get("answer", "page")
        if answer not in [*AnswerForm]:
            raise ParseError(f"no answer {answer[:32]!r}", hint=", ".join(AnswerForm))
        return {
            "operation": operation,
            "model": "." if files else texts.get("model", ""),
            "files": names,
            "settings": {k: v for k, v in texts.items() if k not in FIELDS},
            "answer": answer,
            "form": answer_form,
            "has_hub": True,
        }


async def disconnected(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def index(request: Request) -> Response:
    """Return the page."""
    text = (PAGE / "index.html").read_text(encoding="utf-8")
    policy = page_policy()
    headers = {"Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    return HTMLResponse(text.replace("@POLICY@", policy), headers=headers)


async def asset(request: Request) -> Response:
    """Return a file of the page."""
    path = PAGE / request.path_params["name"]
    if path.name == "index.html":
        return await index(request)
    # only names of files in the folder, so that no path leaves it
    if path.name not in {p.name for p in PAGE.iterdir()}:
        raise HTTPException(404)
    return FileResponse(path)


async def explained(request: Request, error: Exception) -> Response:
    """Return an HTTP error as a reply."""
    assert isinstance(error, HTTPException)
    return JSONResponse(failed(error.detail), error.status_code)


def create_app(token: str, limits: UiLimits, *, is_local: bool) -> ASGIApp:
    """Return the application.

    Args:
        token: token of the API; "" for none.
        limits: limits of jobs.
        is_local: answer only requests to names of this machine.
    """
    api = Api(limits)
    app = Starlette(
        routes=[
            Route("/", index),
            Route("/catalogue.json", api.offers),
            Route("/openapi.json", api.schema),
            Route("/docs", api.docs),
            Route("/api/{operation}", api.run, methods=["POST"]),
            Route("/{name}", asset),
        ],
        exception_handlers={HTTPException: explained},
    )
    # room for the fields and boundaries around the files
    return Guard(app, token, LOOPBACK if is_local else (), limits.upload_bytes + (1 << 16))
