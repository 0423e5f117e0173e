"""Content security policy of the page, which reports shown in it inherit."""

from __future__ import annotations

import base64
import hashlib


def page_policy() -> str:
    """Return the policy: scripts of the page and of reports, connections to its server only."""
    from perfc.serving.output import serving_page
    from perfc.study.comparison import page as compare_page
    from perfc.view.html import document_page, line_chart, roofline_page
    from perfc.view.html.page import SCRIPTS, asset, own_script

    pages = (compare_page, document_page, roofline_page, serving_page, line_chart)
    # reports have their scripts inline: a policy allows these by digest, and no other
    texts = [asset("echarts/echarts.min.js"), own_script(tuple(SCRIPTS))]
    texts += [own_script(tuple(page.SCRIPTS)) for page in pages]
    digests = (base64.b64encode(hashlib.sha256(t.encode()).digest()).decode() for t in texts)
    hashes = " ".join(f"'sha256-{d}'" for d in dict.fromkeys(digests))
    return (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {hashes}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
        "worker-src 'self'; frame-src 'self' blob:; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'"
    )
