"""The tables of the output folder as Parquet, with the types of their columns."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pyclone_pgsm.errors import UsageError
from pyclone_pgsm.exports.answer import Answer, ExportOptions, Format
from pyclone_pgsm.files import replacing

FILES = ("mutations.parquet", "clusters.parquet", "left_out.parquet")


def _write(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    if find_spec("pyarrow") is None:
        raise UsageError("`format` parquet: needs pyarrow: pip install 'pyclone-pgsm[parquet]'")
    for name in FILES:
        with replacing(out / name) as part:
            answer.tables[name.replace(".parquet", ".tsv")].to_parquet(part, index=False, engine="pyarrow")
    return []


PARQUET = Format("parquet", FILES, _write, needs_clusters=False)
