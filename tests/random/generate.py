#!/usr/bin/env python3
"""Writes random HLO programs that are valid by construction: generate.py SEED [KIND] > p.hlo

The same seed gives the same program. Kinds:
  exact     plain operations, none whose result may change when sums are made in another order or powers become
            products, so all engines and passes must give the same bits
  rounding  those too, and none that makes a jump of a small difference (comparisons, rounding to integers)
  types     exact ones that also have complex numbers, floats of 8 bits and fewer, and integers of 4 bits and fewer
  patterns  what JAX makes of array programs: loops, pieces, reductions, sorts, products; to the bit
  orders    reductions by functions that are not commutative, reduce-windows and scatters, too; to the bit
  integers  operations on integers and constants, which have short forms; to the bit
  models    what models are made of: layers in loops, groups of rows, tables; to the bit
  layers    one layer of a model of images or texts in its usual sizes, and those beside them
  sharded   global programs with shardings, of operations that need more than to run on parts; to the bit
  smooth    patterns with functions and sums of any floats; none that makes a jump of a small difference"""
import sys

from computation import Program
from integer_programs import IntegerProgram
from layer_programs import LayerProgram
from model_programs import ModelComputation, ModelProgram
from order_programs import OrderComputation, OrderProgram
from pattern_programs import PatternComputation, PatternProgram
from plain_programs import PlainComputation
from wide_programs import WideProgram

KINDS = {
    "exact": lambda seed: Program(seed, True).text(PlainComputation),
    "rounding": lambda seed: Program(seed, False).text(PlainComputation),
    "types": lambda seed: Program(seed, True, True).text(PlainComputation),
    "patterns": lambda seed: PatternProgram(seed, True).text(PatternComputation),
    "orders": lambda seed: OrderProgram(seed).text(OrderComputation),
    "integers": lambda seed: IntegerProgram(seed).text(),
    "models": lambda seed: ModelProgram(seed).text(ModelComputation),
    "layers": lambda seed: LayerProgram(seed).text(),
    "sharded": lambda seed: WideProgram(seed).text(),
    "smooth": lambda seed: PatternProgram(seed, False).text(PatternComputation),
}
TO_THE_BIT = ("exact", "types", "patterns", "orders", "integers", "models", "sharded")


def program(seed, kind):
    return KINDS[kind](seed)


def main():
    sys.stdout.write(program(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "exact"))


if __name__ == "__main__":
    main()
