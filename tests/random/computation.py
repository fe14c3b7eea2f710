"""Writing HLO: instructions one by one, computations, and what they may use."""
import random


INTS = ["s32", "u32", "s8", "u8", "s64", "u16"]
FLOATS = ["f32", "f32", "f64", "bf16", "f16"]
BITS = {"pred": 1, "s8": 8, "u8": 8, "u16": 16, "s32": 32, "u32": 32, "s64": 64,
        "bf16": 16, "f16": 16, "f32": 32, "f64": 64}
FEW_BITS = ["s4", "u4", "s2", "u2"]
NARROW = ["f8e4m3fn", "f8e5m2", "f8e4m3b11fnuz", "f8e5m2fnuz", "f8e3m4", "f4e2m1fn"]
COMPLEX = ["c64", "c64", "c128"]
BITS.update({"s4": 4, "u4": 4, "s2": 2, "u2": 2, "f4e2m1fn": 4, "c64": 64, "c128": 128}, **{t: 8 for t in NARROW[:-1]})


class Value:
    def __init__(self, name, dtype, dims):
        self.name, self.dtype, self.dims = name, dtype, tuple(dims)

    def text(self):
        return shape_text(self.dtype, self.dims)


def shape_text(dtype, dims):
    return f"{dtype}[{','.join(map(str, dims))}]"


def braces(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def product(numbers):
    result = 1
    for n in numbers:
        result *= n
    return result


class Computation:
    """A body that is being written: lines, and the arrays that later instructions may use."""
    often = []

    def __init__(self, program, name):
        self.program, self.name, self.rng = program, name, program.rng
        self.lines, self.values, self.count = [], [], 0

    # --- writing ---

    def emit(self, dtype, dims, text, keep=True):
        self.count += 1
        value = Value(f"v{self.count}", dtype, dims)
        self.lines.append(f"  {value.name} = {value.text()} {text}")
        if keep:
            self.values.append(value)
        return value

    def emit_raw(self, shape, text):
        self.count += 1
        self.lines.append(f"  v{self.count} = {shape} {text}")
        return f"v{self.count}"

    def close(self, root):
        """Ends with a copy-free root: the last line that defines `root` is marked."""
        for i, line in enumerate(self.lines):
            if line.startswith(f"  {root} = "):
                self.lines[i] = "  ROOT " + line[2:]
        self.program.done.append(f"{self.name} {{\n" + "\n".join(self.lines) + "\n}\n")

    # --- choosing ---

    def pick(self, wanted=lambda v: True):
        found = [v for v in self.values if wanted(v)]
        return self.rng.choice(found[-12:] if self.rng.random() < 0.7 else found) if found else None

    def pick_like(self, like):
        """Another array of the same type and sizes: there already, or a constant."""
        other = self.pick(lambda v: v.dtype == like.dtype and v.dims == like.dims)
        if other is not None and self.rng.random() < 0.7:
            return other
        return self.fill(like.dtype, like.dims)

    def number(self, dtype):
        rng = self.rng
        if dtype in COMPLEX:
            return f"({rng.choice(['0', '1', '-1', '0.5', '3'])}, {rng.choice(['0', '1', '-2', '0.25'])})"
        if dtype in NARROW:
            return rng.choice(["0", "1", "-1", "2", "0.5", "-0.5", "3", "4", "1.5"])
        if dtype in FEW_BITS:
            return rng.choice(["0", "1", "1"] + (["-1", "-2"] if dtype[0] == "s" else ["3", "2"]))
        if dtype == "pred":
            return rng.choice(["true", "false"])
        if dtype in FLOATS:
            plain = ["0", "-0", "1", "-1", "2", "0.5", "-0.25", "3", "4", "1.5", "0.1"]
            return rng.choice(plain + (["inf", "-inf", "nan",
                                        "1e-40"] if self.program.exact and dtype != "f16" else []))
        low = 0 if dtype.startswith("u") else -3
        if rng.random() < 0.15:
            bits = BITS[dtype] - (dtype[0] == "s")
            return str(rng.choice([2 ** bits - 1, 0 if dtype[0] == "u" else -2 ** bits]))
        return str(rng.choice([0, 1, 1, 2, 4, 7, low, max(low, -1), 31 if BITS[dtype] > 8 else 5]))

    def constant(self, dtype, dims=()):
        def nest(sizes):
            if not sizes:
                return self.number(dtype)
            return "{" + ", ".join(nest(sizes[1:]) for _ in range(sizes[0])) + "}"
        return self.emit(dtype, dims, f"constant({nest(list(dims))})")

    def fill(self, dtype, dims):
        if product(dims) <= 12 and self.rng.random() < 0.3:
            return self.constant(dtype, dims)
        scalar = self.constant(dtype)
        return self.emit(dtype, dims, f"broadcast({scalar.name}), dimensions={{}}") if dims else scalar

    def random_dims(self):
        for _ in range(20):
            dims = [self.rng.choice(self.program.sizes) for _ in range(self.rng.choice([0, 1, 1, 2, 2, 3, 4]))]
            if product(dims) <= self.program.most // 2:
                return dims
        return [2]

    def open(self, name):
        """Another computation of the program, of the same kind."""
        return self.program.open(type(self), name)

    def fill_with_ops(self, count):
        """Instructions of all `op_` methods: each adds something, or nothing where no operand fits."""
        names = [name for name in dir(self) if name.startswith("op_")] + self.often
        for _ in range(count):
            getattr(self, self.rng.choice(names))()


class Program:
    """A program that is being written, of random numbers that begin at `seed`. Arrays have dimensions of these `sizes`,
    none beyond `longest` by steps that make them longer, and `most` elements."""
    sizes, longest, most = [1, 1, 2, 3, 4, 5, 8], 24, 128

    def __init__(self, seed, exact, has_types=False):
        self.seed, self.rng, self.exact, self.has_types = seed, random.Random(seed), exact, has_types
        self.done, self.bodies, self.opened, self.depth = [], {}, 0, 0

    def open(self, kind, name):
        self.opened += 1
        self.depth += 1
        return kind(self, f"{name}_{self.opened}")

    def scalar_body(self, op, dtype):
        name = f"{op}_{dtype}"
        if name not in self.bodies:
            self.bodies[name] = True
            line = f"ROOT c = pred[] compare(a, b), direction=LT" if op == "less" else f"ROOT c = {dtype}[] {op}(a, b)"
            self.done.append(f"{name} {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n  {line}\n}}\n")
        return name

    def parameters(self, entry):
        for k in range(self.rng.choice([1, 2, 3])):
            more = NARROW + FEW_BITS + COMPLEX if self.has_types else []
            dtype = self.rng.choice(INTS[:4] + FLOATS[:3] + ["f32", "f32"] + more)
            entry.emit(dtype, entry.random_dims(), f"parameter({k})")

    def text(self, kind):
        """The program, its entry of computations of this class."""
        entry = kind(self, "ENTRY main")
        self.parameters(entry)
        entry.fill_with_ops(self.rng.choice([5, 15, 40]))
        results = self.rng.sample(entry.values, min(len(entry.values), self.rng.choice([1, 2, 4])))
        shape = "(" + ", ".join(r.text() for r in results) + ")"
        entry.close(entry.emit_raw(shape, f"tuple({', '.join(r.name for r in results)})"))
        return f"HloModule random_{self.seed}\n\n" + "\n".join(self.done)
