"""Integers and constants: chains of operations on single numbers, short vectors and results of reductions, of which
each has one operand that is known when code is made. Divisions, products, shifts and comparisons have short forms
then."""
import random

from computation import BITS, shape_text

TYPES = ["s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64"]
OPS = ["divide", "divide", "remainder", "remainder", "multiply", "add", "subtract", "and", "or", "xor", "maximum",
       "minimum",
       "shift-left", "shift-right-logical", "shift-right-arithmetic", "compare", "power"]


class IntegerProgram:
    def __init__(self, seed):
        self.seed, self.rng = seed, random.Random(seed)
        self.dtype = self.rng.choice(TYPES)
        self.bits, self.signed = dict(BITS, s16=16, u64=64)[self.dtype], self.dtype[0] == "s"
        self.dims = self.rng.choice([(), (5,), (40,)])
        self.lines = []

    def constant(self, op):
        """A number that has a short form, or any of the type."""
        least = -(1 << self.bits - 1) if self.signed else 0
        most = (1 << self.bits - self.signed) - 1
        if op.startswith("shift"):
            return self.rng.randrange(self.bits)
        if op == "power":
            return self.rng.randrange(5)
        power = 1 << self.rng.randrange(self.bits - 1)
        number = self.rng.choice([self.rng.randint(least, most), power, -power, power + 1, self.rng.randint(1, 100),
                                  self.rng.choice([1, 3, 5, 7, 9, 10])])
        return max(least, min(most, number))

    def known(self, number, k):
        self.lines.append(f"  k{k} = {self.dtype}[] constant({number})")
        if not self.dims:
            return f"k{k}"
        self.lines.append(f"  b{k} = {shape_text(self.dtype, self.dims)} broadcast(k{k}), dimensions={{}}")
        return f"b{k}"

    def step(self, k, x):
        op, shape = self.rng.choice(OPS), shape_text(self.dtype, self.dims)
        known = self.known(self.constant(op), k)
        turned = op in ("divide", "remainder", "subtract") and self.rng.random() < 0.15
        args = f"{known}, {x}" if turned else f"{x}, {known}"
        if op == "compare":
            way = self.rng.choice(["LT", "GE", "EQ", "GT"])
            self.lines.append(f"  c{k} = {shape_text('pred', self.dims)} compare({args}), direction={way}")
            self.lines.append(f"  v{k} = {shape} select(c{k}, {x}, {known})")
        else:
            self.lines.append(f"  v{k} = {shape} {op}({args})")
        return f"v{k}"

    def text(self):
        shape, row = shape_text(self.dtype, self.dims), shape_text(self.dtype, self.dims + (7,))
        self.lines += [f"  p = {row} parameter(0)", f"  z = {self.dtype}[] constant(0)",
                       f"  v0 = {shape} reduce(p, z), dimensions={{{len(self.dims)}}}, to_apply=add"]
        values = ["v0"]
        for k in range(1, 31):
            values.append(self.step(k, self.rng.choice(values)))
        self.lines.append(f"  ROOT t = ({', '.join([shape] * 30)}) tuple({', '.join(values[1:])})")
        add = "\n".join([f"  {name} = {self.dtype}[] parameter({k})" for k, name in enumerate("ab")] +
                        [f"  ROOT c = {self.dtype}[] add(a, b)"])
        return "\n".join([f"HloModule random_{self.seed}", "", "add {", add, "}", "", "ENTRY main {", *self.lines, "}",
                          ""])
