"""Kernels as plain Python, for comparison with the compiled ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def answers_of_plain_python(script: str) -> Any:
    """What a test file prints when it is run under NUMBA_DISABLE_JIT=1, with the import path of the tests."""
    done = subprocess.run(
        [sys.executable, script],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)
