"""Lines for the terminal that all kinds of data share."""

from collections.abc import Iterator, Mapping

SHOWN_CLUSTERS = 20
SHOWN_COLUMNS = 6


def cluster_lines(
    names: list[str],
    sizes: list[int],
    cells: list[list[str]],
    least_width: int,
    things: str,
    marks: Mapping[int, str] | None = None,
) -> Iterator[str]:
    """Yield a table of the largest clusters and the first columns, each row followed by the cluster's mark, if any."""
    marks = marks or {}
    shown = names[:SHOWN_COLUMNS]
    widths = [max(len(name), least_width) for name in shown]

    def row(*texts: str) -> str:
        return "".join(f"  {text:>{width}}" for text, width in zip(texts, widths))

    hidden = len(names) - len(shown)
    yield f"{'cluster':>7} {'size':>7}{row(*shown)}" + (f"  ({hidden} more {things})" if hidden else "")
    largest = sorted(range(len(sizes)), key=lambda k: -sizes[k])[:SHOWN_CLUSTERS]
    for k in sorted(largest):
        yield f"{k:>7} {sizes[k]:>7,}{row(*cells[k])}" + (f"  {marks[k]}" if k in marks else "")
    if len(sizes) > SHOWN_CLUSTERS:
        yield f"        ({len(sizes) - SHOWN_CLUSTERS} smaller clusters in clusters.tsv)"
