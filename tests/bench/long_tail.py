"""Programs of many kinds, types, sizes and axes, each small: name -> (function, example inputs). Beside XLA:CPU by

  make bench PYTHON=... BENCH_ARGUMENTS="--programs $PWD/tests/bench/long_tail.py --threads 1 --no-memory NAME..."

without NAME all of them."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import long_tail_elements  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import long_tail_linear  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import long_tail_moves  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
import long_tail_users  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
from long_tail_tools import P  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
