"""Whole models, for `make bench-models`: P, name -> (function, example inputs), as programs.py has programs.

Each is a step that people run (a training step, a decoded sequence, a solver), written plainly in jax.numpy, with the
structure of the real model and sizes that run within a second. Used by bench_models.py; bench_xla.py --programs takes
the file as well."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import models_language  # noqa: E402, F401  each file adds its models to the table
import models_science  # noqa: E402, F401
import models_vision  # noqa: E402, F401
import models_steps  # noqa: E402, F401
from models_tools import P  # noqa: E402, F401
