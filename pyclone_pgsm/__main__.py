"""``python -m pyclone_pgsm`` is the command ``pyclone-pgsm``."""

from __future__ import annotations

from pyclone_pgsm.cli.terminal import guarded


def main() -> None:
    """Entry point of the command: prepared for signals before the rest of the program is even imported."""
    with guarded():
        from pyclone_pgsm.cli.app import run_command

        run_command()


if __name__ == "__main__":
    main()
