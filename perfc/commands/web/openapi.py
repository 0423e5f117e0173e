"""OpenAPI document of the server, and a page that shows it."""

from __future__ import annotations

from html import escape
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.common.version import __version__

from .operations import OPERATIONS, AnswerForm, PageOperation, PageSetting, SettingKind

_DATA = data_next_to(__file__)
_REPLY, _ANSWERS = _DATA["reply"], _DATA["answers"]
"""Keys of a reply, and what each HTTP status means."""
FORMS = ("html", "json", "text", "markdown")
"""Output formats that a request may name."""


def schema_of(setting: PageSetting, catalogue: dict[str, Any]) -> dict[str, object]:
    """Return the JSON Schema of a setting."""
    schema: dict[str, object] = {"description": f"{setting.label}: {setting.flag}"}
    if setting.kind is SettingKind.NUMBER:
        # as `operations.checked` accepts it
        return {**schema, "type": "integer", "minimum": 1, "maximum": 9_999_999}
    if catalogue.get(setting.choices):
        return {**schema, "type": "string", "enum": [*catalogue[setting.choices]]}
    return {**schema, "type": "string", "example": setting.usual}


def operation_of(operation: PageOperation, catalogue: dict[str, Any]) -> dict[str, object]:
    """Return the OpenAPI operation of an operation of the page."""
    properties: dict[str, object] = {
        "model": {"type": "string", "description": "Shipped name, if no file is sent."},
        "file": {
            "type": "array",
            "items": {"type": "string", "format": "binary"},
            "description": f"Model files: {', '.join(catalogue['suffixes'])}.",
        },
        **{s.name: schema_of(s, catalogue) for s in operation.settings},
        "answer": {"type": "string", "enum": [a.value for a in AnswerForm], "default": "page"},
        "form": {"type": "string", "enum": [*FORMS], "default": "html"},
    }
    content = {"application/json": {"schema": {"$ref": "#/components/schemas/Reply"}}}
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "description": f"Runs `perfc {' '.join(operation.words)}`.",
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {"schema": {"type": "object", "properties": properties}}
            },
        },
        "responses": {
            code: {"description": text, "content": content} for code, text in _ANSWERS.items()
        },
    }


def document(catalogue: dict[str, Any]) -> dict[str, object]:
    """Return the OpenAPI 3.1 document of all operations."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "perfc", "version": __version__},
        "paths": {f"/api/{o.name}": {"post": operation_of(o, catalogue)} for o in OPERATIONS},
        "components": {
            "schemas": {"Reply": {"type": "object", "properties": _REPLY, "required": [*_REPLY]}},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],  # a local server needs no token
    }


def page(catalogue: dict[str, Any]) -> str:
    """Return the document as a page without scripts."""
    parts = []
    for op in OPERATIONS:
        rows = "".join(
            f"<tr><td><code>{escape(s.name)}</code></td><td>{escape(s.label)}</td>"
            f"<td><code>{escape(s.flag)}</code></td><td>{escape(s.usual)}</td></tr>"
            for s in op.settings
        )
        parts.append(
            f"<section><h2>POST /api/{op.name}</h2><p>{escape(op.summary)}</p><table><thead><tr>"
            "<th>field</th><th>what</th><th>option</th><th>usual</th></tr></thead><tbody>"
            f"{rows}</tbody></table></section>"
        )
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>perfc: API</title>'
        '<meta name="viewport" content="width=device-width"><link rel="stylesheet" '
        'href="style.css"></head><body class="docs"><main><h1>perfc: API</h1><p>Fields of '
        "multipart forms: <code>model</code>, a shipped name, or <code>file</code>, repeated for "
        "several files; <code>answer</code> and <code>form</code> (html, json, text, markdown). "
        'The whole as <a href="openapi.json">OpenAPI 3.1</a>.</p><pre>curl -F file=@model.onnx '
        "-F target=h100 -F form=json ADDRESS/api/analyze</pre>"
        f"{''.join(parts)}</main></body></html>"
    )
