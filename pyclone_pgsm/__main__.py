"""The command ``pyclone-pgsm``, also run by ``python -m pyclone_pgsm``."""

from pyclone_pgsm.cli.terminal import guarded


def main() -> None:
    """Run the command. Signals are handled even while the rest of the program is imported."""
    with guarded():
        from pyclone_pgsm.cli.app import run_command

        run_command()


if __name__ == "__main__":
    main()
