"""``python -m perfc``."""

from __future__ import annotations

from perfc.cli import main

if __name__ == "__main__":
    main()
