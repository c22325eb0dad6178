"""Memory available to this process."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def shown(size: int) -> str:
    """Format a number of bytes for messages."""
    return f"{size / (1 << 30):.1f} GB"


def available(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may use in total, given the machine's memory and the limits of its control
    groups; None if unknown. `root` is the folder with ``proc`` and ``sys``.
    """
    found = [*_of_machine(root), *_of_control_groups(root)]
    return min(found) + _held(root) if found else None


def _held(root: Path) -> int:
    """Return the bytes that this process uses already."""
    try:
        return int((root / "proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def _of_machine(root: Path) -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                yield int(line.split()[1]) << 10
                return
    with suppress(OSError, ValueError):
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _of_control_groups(root: Path) -> Iterator[int]:
    """Yield the bytes left in each control group of this process and their parents."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, place = rest.partition(":")
        if controllers == "":
            mount, names = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            mount = "sys/fs/cgroup/memory"
        else:
            continue
        own = Path(place.strip("/"))
        for folder in dict.fromkeys([own, *own.parents]):
            left = _left_in(root / mount / folder, *names)
            if left is not None:
                yield left


def _left_in(folder: Path, limit: str, usage: str, cached: str) -> int | None:
    """Return the limit minus the memory in use; the file cache does not count, as it can be freed."""
    try:
        most = int((folder / limit).read_text())
        used = int((folder / usage).read_text())
    except (OSError, ValueError):  # no such group, or no limit ("max")
        return None
    with suppress(OSError, ValueError):
        counts = dict(line.split(maxsplit=1) for line in (folder / "memory.stat").read_text().splitlines())
        used -= int(counts.get(cached, 0))
    return max(0, most - max(0, used))
