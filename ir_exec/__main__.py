"""The command line as `python -m ir_exec`."""

from ir_exec.cli import main

if __name__ == "__main__":
    main()
