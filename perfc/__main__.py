"""``python -m perfc``, and the command ``perfc``."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C exits without a traceback, even during imports."""
    try:
        from perfc import cli

        cli.main()
    except KeyboardInterrupt:
        # 128 + SIGINT, as `perfc.cli.INTERRUPTED`, which may not have been imported
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
