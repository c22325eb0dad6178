"""``python -m pyclone_pgsm`` is the command ``pyclone-pgsm``."""

from __future__ import annotations

from pyclone_pgsm.cli import main

if __name__ == "__main__":
    main()
