"""Single instructions of random programs of patterns, element-wise chains of them, and how arrays are chosen: the base
of pattern_programs.py."""
from computation import FLOATS, braces, product
from plain_programs import PlainComputation


def is_float(value):
    return value.dtype in FLOATS


class PatternSteps(PlainComputation):
    def fill_with_ops(self, count):
        for _ in range(count):
            getattr(self, self.rng.choice(self.program.chosen))()

    # --- single instructions ---

    def step(self, op, *args, dtype=None, dims=None, more=""):
        """An instruction whose result is like its first argument, where nothing else is said."""
        first = args[0]
        names = ", ".join(a.name for a in args)
        return self.emit(dtype or first.dtype, first.dims if dims is None else dims, f"{op}({names}){more}")

    def splat(self, number, dtype, dims):
        scalar = self.emit(dtype, (), f"constant({number})", keep=False)
        return self.emit(dtype, dims, f"broadcast({scalar.name}), dimensions={{}}", keep=False) if dims else scalar

    def like(self, number, x):
        return self.splat(number, x.dtype, x.dims)

    def broadcast(self, x, dims, where):
        return self.step("broadcast", x, dims=dims, more=f", dimensions={braces(where)}")

    def reshape(self, x, dims):
        return self.step("reshape", x, dims=dims)

    def convert(self, x, dtype):
        return x if x.dtype == dtype else self.step("convert", x, dtype=dtype)

    def iota(self, dtype, dims, along):
        return self.emit(dtype, dims, f"iota(), iota_dimension={along}")

    def part(self, x, along, start, limit, stride=1):
        ranges = [f"[{start}:{limit}:{stride}]" if d == along else f"[0:{size}]" for d, size in enumerate(x.dims)]
        dims = [-(-(limit - start) // stride) if d == along else size for d, size in enumerate(x.dims)]
        return self.step("slice", x, dims=dims, more=f", slice={{{', '.join(ranges)}}}")

    def padded(self, x, along, low, high, interior=0):
        zero = self.splat(0, x.dtype, ())
        edges = [f"{low}_{high}_{interior}" if d == along else "0_0" for d in range(len(x.dims))]
        dims = [low + high + size + (size - 1) * interior if d == along else size for d, size in enumerate(x.dims)]
        return self.step("pad", x, zero, dims=dims, more=f", padding={'x'.join(edges)}")

    def joined(self, parts, along):
        dims = list(parts[0].dims)
        dims[along] = sum(p.dims[along] for p in parts)
        return self.step("concatenate", *parts, dims=dims, more=f", dimensions={{{along}}}")

    def reduced(self, x, over, op):
        zero = {"add": "0", "multiply": "1", "maximum": self.program.lowest(x.dtype), "or": "false"}[op]
        init = self.emit(x.dtype, (), f"constant({zero})", keep=False)
        dims = [size for d, size in enumerate(x.dims) if d not in over]
        return self.step("reduce", x, init, dims=dims,
                         more=f", dimensions={braces(over)}, to_apply={self.program.scalar_body(op, x.dtype)}")

    # --- choosing ---

    def number(self, dtype):
        if dtype in FLOATS and self.rng.random() < 0.97:
            return self.rng.choice(["0", "1", "-1", "2", "0.5", "-0.25", "3", "1.5", "0.1", "-0.7"])
        return "1" if dtype in FLOATS and not self.program.exact else super().number(dtype)

    def array(self, rank=1, least=2, wanted=lambda v: True):
        """An array with dimensions of at least so many elements."""
        return self.pick(lambda v: len(v.dims) >= rank and v.dtype != "pred" and
                         min(v.dims, default=0) >= least and wanted(v))

    def axis(self, x, least=1):
        found = [d for d, size in enumerate(x.dims) if size >= least]
        return self.rng.choice(found[-1:] + found) if found else None

    def matching(self, dtype, dims):
        """A computed array of this shape if there is one."""
        found = [v for v in self.values[-40:] if v.dtype == dtype and v.dims == tuple(dims)]
        return self.rng.choice(found[-6:]) if found and self.rng.random() < 0.9 else self.ramp(dtype, dims)

    def ramp(self, dtype, dims):
        """Small numbers, other ones at neighbouring places."""
        if not dims:
            return self.constant(dtype)
        count = self.emit("s32", (product(dims),), "iota(), iota_dimension=0", keep=False)
        turn = self.splat(self.rng.choice([3, 5, 7, 11]), "s32", count.dims)
        values = self.convert(self.emit("s32", count.dims, f"remainder({count.name}, {turn.name})", keep=False), dtype)
        return self.reshape(values, dims) if len(dims) > 1 else values

    # --- element by element ---

    def unary(self, x):
        if not is_float(x):
            return self.step(self.rng.choice(["abs", "negate"] if x.dtype[0] == "s" else ["not", "popcnt"]), x)
        if self.program.exact:
            return self.step(self.rng.choice(["abs", "negate", "abs", "sqrt", "floor", "sign"]), self.step("abs", x))
        op = self.rng.choice(["tanh", "logistic", "sine", "cosine", "exponential", "log-plus-one", "sqrt", "negate",
                              "erf",
                              "atan2", "exponential-minus-one", "rsqrt"])
        if op in ("exponential", "log-plus-one", "sqrt", "rsqrt", "exponential-minus-one"):
            x = self.step("abs", x)
        if op in ("sqrt", "rsqrt", "atan2"):
            return self.step(op, *[self.step("add", self.step("abs", x), self.like(1, x))] * (1 + (op == "atan2")))
        return self.step(op, self.step("negate", x) if op.startswith("exp") else x)

    def binary(self, x, y):
        rng = self.rng
        if x.dtype == "pred":
            return self.step(rng.choice(["and", "or", "xor"]), x, y)
        op = rng.choice(["add", "add", "subtract", "multiply", "maximum", "minimum", "divide", "select"])
        if op == "divide":
            y = self.step("add", self.step("abs", y), self.like(1, y)) if is_float(y) else self.like(3, y)
        if op == "select":
            return self.chosen(x, y)
        if rng.random() < 0.4 and op != "divide":
            x, y = y, x
        return self.step(op, x, y)

    def chosen(self, x, y):
        """x or y, by their values where that may make a jump, else by place."""
        if self.program.exact or not is_float(x):
            way = self.rng.choice(["LT", "GE", "EQ", "NE"])
            test = self.step("compare", x, self.near(x), dtype="pred", more=f", direction={way}")
        elif x.dims:
            test = self.mask(x.dims)
        else:
            return self.step("add", x, y)
        return self.step("select", test, x, y, dtype=x.dtype)

    def mask(self, dims):
        along = self.rng.randrange(len(dims))
        place = self.iota("s32", dims, along)
        if len(dims) > 1 and self.rng.random() < 0.5:
            other = self.iota("s32", dims, (along + 1) % len(dims))
        else:
            other = self.splat(self.rng.randint(0, dims[along]), "s32", dims)
        way = self.rng.choice(["LT", "GE", "EQ", "NE"])
        return self.step("compare", place, other, dtype="pred", more=f", direction={way}")

    def near(self, x):
        """Another array of the shape of x, if need be broadcast."""
        found = [v for v in self.values[-40:] if v.dtype == x.dtype and v.dims == x.dims and v is not x]
        if found and self.rng.random() < 0.8:
            return self.rng.choice(found[-8:])
        rows = [v for v in self.values[-40:] if v.dtype == x.dtype and len(v.dims) == len(x.dims) - 1]
        for v in self.rng.sample(rows, min(len(rows), 4)):
            for out in range(len(x.dims)):
                if v.dims == tuple(size for d, size in enumerate(x.dims) if d != out):
                    return self.broadcast(v, x.dims, [d for d in range(len(x.dims)) if d != out])
        return self.like(self.number(x.dtype), x)

    def bounded(self, x):
        """Of x, what stays small in all turns of a loop."""
        if not is_float(x):
            return x
        way = self.rng.random()
        if way < 0.5:
            return self.step("multiply", x, self.like(self.rng.choice(["0.25", "0.125", "0.1"]), x))
        if way < 0.8 or not self.program.exact:
            return self.step("clamp", self.splat(-8, x.dtype, ()), x, self.splat(8, x.dtype, ()), dtype=x.dtype,
                             dims=x.dims)
        return self.step("remainder", x, self.like(5, x))

    def tame(self, x):
        """Of x, what can be summed in any order: to the bit if the program is exact."""
        if not is_float(x):
            return x
        x = self.step("clamp", self.splat(-3, x.dtype, ()), x, self.splat(3, x.dtype, ()), dtype=x.dtype, dims=x.dims)
        return self.step("round-nearest-even", x) if self.program.exact else x

    def chain(self, x, count):
        for _ in range(count):
            x = self.unary(x) if self.rng.random() < 0.3 else self.binary(x, self.near(x))
        return x

    def op_chain(self):
        x = self.array(rank=0)
        if x is not None:
            self.bounded(self.chain(x, self.rng.choice([2, 3, 5, 8])))

    def op_unary(self):
        x = self.array(rank=0)
        if x is not None:
            self.unary(x)

    def op_binary(self):
        x = self.array(rank=0)
        if x is not None:
            self.binary(x, self.near(x))

    def op_mask(self):
        x = self.array()
        if x is not None:
            self.step("select", self.mask(x.dims), x, self.near(x), dtype=x.dtype)

    def op_mixed(self):
        """Steps in another type, and back."""
        x = self.array(rank=0)
        if x is None:
            return
        more = ["s32", "s8", "u8", "s64", "pred"] if self.program.exact or not is_float(x) else []
        other = self.convert(x, self.rng.choice(["f32", "bf16", "f16", "f64"] + more))
        if other.dtype != "pred":
            other = self.chain(other, self.rng.choice([1, 2, 3]))
        self.convert(self.bounded(other), x.dtype)
