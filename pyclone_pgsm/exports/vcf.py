"""The user's own VCF with added FORMAT ``CCF CCFL CCFU`` and INFO ``CLUSTER``.

Lines are edited as text, so that everything else stays unchanged, byte by byte.
"""

import struct
import zlib
from pathlib import Path

from pyclone_pgsm.exports.answer import OWN_READS, Answer, ExportOptions, note_exceptions
from pyclone_pgsm.exports.source import Mutations, given_source, samples_of
from pyclone_pgsm.files import write_file
from pyclone_pgsm.inputs.mutations.vcf_header import FIXED, read_header
from pyclone_pgsm.inputs.problems import FileProblems, count
from pyclone_pgsm.inputs.text import unpacked

KEYS = ("CCF", "CCFL", "CCFU")
CLUSTER = "CLUSTER"
HEADERS = (
    '##INFO=<ID=CLUSTER,Number=A,Type=Integer,Description="Cluster of the mutation by pyclone-pgsm, -1: outlier">',
    '##FORMAT=<ID=CCF,Number=A,Type=Float,Description="Cellular prevalence (cancer cell fraction) by pyclone-pgsm">',
    '##FORMAT=<ID=CCFL,Number=A,Type=Float,Description="Lower end of the 95 % interval of CCF">',
    '##FORMAT=<ID=CCFU,Number=A,Type=Float,Description="Upper end of the 95 % interval of CCF">',
)
BYTE_ORDER_MARK = "\xef\xbb\xbf"
BLOCK = 65280  # bytes of a block of bgzip
_DECLARED = tuple(line.partition(",")[0] + "," for line in HEADERS)


def write_vcf(answer: Answer, out: Path, options: ExportOptions) -> list[str]:
    path = given_source(options, "vcf", "VCF")
    problems = FileProblems(str(path))
    with unpacked(path, problems) as file:
        text = file.read().decode("latin-1")  # so that every byte is written as it was read
    lines = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").removesuffix("\n").split("\n")
    header = read_header(iter(enumerate(lines, start=1)), problems)
    start = header.line - 1
    if not header.samples:
        raise problems.give_up("has no columns of samples, to which prevalences belong", header.line)
    names = lines[start].split("\t")
    given, tumours, normals = (
        [name.encode("latin-1").decode("utf-8", "replace") for name in names]
        for names in (header.samples, header.tumours, header.normals)
    )
    samples = samples_of(answer, path, options, given, tumours, normals)
    columns = {len(FIXED) + given.index(name): d for name, d in samples.items()}
    mutations = Mutations(answer)
    above = [line for line in lines[:start] if not line.startswith(_DECLARED)]
    written = [*above, *HEADERS, lines[start]]
    absent = 0
    for number, line in enumerate(lines[start + 1 :], start=start + 2):
        fields = line.split("\t")
        if len(fields) != len(names):
            if not line.strip():
                continue
            raise problems.give_up(f"has {len(fields)} columns, and the header {len(names)}", number)
        found = [mutations.find(fields[0], fields[1], fields[3], alt) for alt in fields[4].split(",")]
        absent += all(t is None for t in found)
        written.append("\t".join(_annotated(answer, fields, found, columns)))
    content = ("\n".join(written) + "\n").encode("latin-1")
    write_file(out, _bgzip(content) if out.suffix in (".gz", ".bgz") else content)
    notes = []
    if absent:
        notes.append(f"not in the result, so without values: {count(absent, 'record')} of {path}")
    replaced = [line for line in lines[:start] if line.startswith(_DECLARED) and line not in HEADERS]
    if replaced:
        keys = ", ".join(line.partition("ID=")[2].partition(",")[0] for line in replaced)
        notes.append(f"fields of {path} replaced: {keys}")
    return [*notes, *note_exceptions(answer, "the model's prevalence", OWN_READS)]


def _annotated(
    answer: Answer, fields: list[str], found: list[int | None], columns: dict[int, int]
) -> list[str]:
    """Add to the fields of a record what is known of its alleles; `columns` maps columns to samples of the result.

    Values of these fields from elsewhere are replaced, also if nothing is known.
    """
    given = [each for each in fields[7].split(";") if each != "."]
    infos = [each for each in given if each.partition("=")[0] != CLUSTER]
    has_values = len(infos) < len(given) or set(KEYS) & set(fields[8].split(":"))
    if all(t is None for t in found) and not has_values:
        return fields
    summary = answer.summary
    fields = list(fields)
    clusters = ",".join("." if t is None else str(summary.labels[t]) for t in found)
    fields[7] = ";".join([*infos, f"{CLUSTER}={clusters}"])
    old = fields[8].split(":")
    kept = [place for place, key in enumerate(old) if key not in KEYS and key != "."]
    fields[8] = ":".join([old[place] for place in kept] + list(KEYS))
    for column in range(len(FIXED), len(fields)):
        values = fields[column].split(":")
        values += ["."] * (len(old) - len(values))  # trailing fields may be dropped
        d = columns.get(column)
        if d is None:
            new = ["."] * len(KEYS)
        else:
            new = [
                ",".join("." if t is None else f"{matrix[t, d]:.6g}" for t in found)
                for matrix in (summary.mean, summary.lower, summary.upper)
            ]
        fields[column] = ":".join([values[place] for place in kept] + new)
    return fields


def _bgzip(content: bytes) -> bytes:
    """Compress to blocks of gzip, each with its size in an extra field, the last one empty (SAM specification, 4.1)."""
    starts = range(0, len(content), BLOCK)
    return b"".join(_block(content[start : start + BLOCK]) for start in starts) + _block(b"")


def _block(content: bytes) -> bytes:
    packed = zlib.compress(content, 6, -zlib.MAX_WBITS)
    head = bytes.fromhex("1f8b08040000000000ff060042430200") + struct.pack("<H", len(packed) + 25)
    return head + packed + struct.pack("<II", zlib.crc32(content), len(content))
