"""Reductions whose functions are associative, but not commutative: first, last, argmax with ties,
products of matrices, compositions. Also sums of several arrays from initial values that are no
identity."""
from computation import Program, braces, product, shape_text
from plain_programs import PlainComputation

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 130]
LONG = [1000, 4099, 40000, 70001, 100003]
WRAPPING = ["u32", "s32", "u64", "s64", "u8", "s16"]
ORDERED = ["f32", "f32", "f64", "bf16", "f16", "s32", "u8", "s64"]
FLOATS = ("f32", "f64", "bf16", "f16")


class Reducer:
    """A function: its name, the types of its arrays, the lines that compute its results."""

    def __init__(self, name, dtypes, lines, results, index=False, nan=True):
        self.name, self.dtypes, self.lines, self.results, self.has_index = name, dtypes, lines, results, index
        self.takes_nan = nan  # is associative for NaN, too

    def text(self):
        two = [f"  p{k} = {dtype}[] parameter({k})" for k, dtype in enumerate(self.dtypes * 2)]
        shape = ", ".join(f"{dtype}[]" for dtype in self.dtypes)
        root = f"ROOT r = ({shape}) tuple({', '.join(self.results)})"
        if len(self.dtypes) == 1:
            root = f"ROOT r = {self.dtypes[0]}[] copy({self.results[0]})"
        return f"{self.name} {{\n" + "\n".join(two + [f"  {line}" for line in self.lines + [root]]) + "\n}\n"


def first_good(t):
    lines = ["c = pred[] compare(p0, p0), direction=NE", f"s = {t}[] select(c, p1, p0)"]
    return Reducer(f"first_good_{t}", [t], lines, ["s"])


def last_other(t):
    lines = [f"z = {t}[] constant(0)", "c = pred[] compare(p1, z), direction=NE",
             f"s = {t}[] select(c, p1, p0)"]
    return Reducer(f"last_other_{t}", [t], lines, ["s"])


def best(t, index, way):
    """Ties go to the left operand with GT and LT, to the right one with GE and LE."""
    lines = [f"c = pred[] compare(p2, p0), direction={way}", f"v = {t}[] select(c, p2, p0)",
             f"i = {index}[] select(c, p3, p1)"]
    return Reducer(f"best_{way}_{t}_{index}", [t, index], lines, ["v", "i"], index=True, nan=False)


def numpy_best(t, index):
    """As JAX has it: the first NaN wins, and ties are broken by the index."""
    lines = ["g = pred[] compare(p0, p2), direction=GT", "n = pred[] compare(p0, p0), direction=NE",
             "c = pred[] or(g, n)", "e = pred[] compare(p0, p2), direction=EQ",
             "l = pred[] compare(p1, p3), direction=LT", "t = pred[] and(e, l)", "d = pred[] or(c, t)",
             f"v = {t}[] select(c, p0, p2)", f"i = {index}[] select(d, p1, p3)"]
    return Reducer(f"numpy_best_{t}_{index}", [t, index], lines, ["v", "i"], index=True)


def affine(t):
    lines = [f"a = {t}[] multiply(p0, p2)", f"b = {t}[] multiply(p1, p2)", f"c = {t}[] add(b, p3)"]
    return Reducer(f"affine_{t}", [t, t], lines, ["a", "c"])


def matrices(t):
    lines, results = [], []
    for row in range(2):
        for column in range(2):
            x, y, z = f"x{row}{column}", f"y{row}{column}", f"z{row}{column}"
            lines += [f"{x} = {t}[] multiply(p{2 * row}, p{4 + column})",
                      f"{y} = {t}[] multiply(p{2 * row + 1}, p{6 + column})", f"{z} = {t}[] add({x}, {y})"]
            results.append(z)
    return Reducer(f"matrices_{t}", [t] * 4, lines, results)


def sums(t, u):
    lines = [f"a = {t}[] add(p0, p2)", f"b = {u}[] maximum(p3, p1)"]
    return Reducer(f"sums_{t}_{u}", [t, u], lines, ["a", "b"])


def draw_reducer(rng):
    t, u = rng.choice(WRAPPING), rng.choice(ORDERED)
    index = rng.choice(["s32", "u32", "s64"])
    return rng.choice([lambda: first_good(rng.choice(FLOATS)), lambda: last_other(rng.choice([t, u])),
                       lambda: best(u, index, rng.choice(["GT", "GE", "LT", "LE"])), lambda: numpy_best(u, index),
                       lambda: affine(t), lambda: matrices(t), lambda: sums(t, u),
                       lambda: Reducer(f"left_{t}", [t], [], ["p0"]), lambda: Reducer(f"right_{t}", [t], [], ["p1"])])()


class OrderComputation(PlainComputation):
    def fill_with_ops(self, count):
        for _ in range(count):
            self.rng.choice([self.reduce, self.reduce, self.reduce, self.window, self.scatter])()

    # --- operands ---

    def few(self, x, takes_nan):
        """x with few different values, so that there are ties; floats with NaN and zeros of both signs."""
        kept = self.fill_of(x.dtype, x.dims, "2")
        if x.dtype not in FLOATS:
            kept = self.emit(x.dtype, x.dims, f"and({x.name}, {self.fill_of(x.dtype, x.dims, '3').name})", keep=False)
            return kept if self.rng.random() < 0.7 else x
        scaled = self.emit(x.dtype, x.dims, f"multiply({x.name}, {kept.name})", keep=False)
        rounded = self.emit(x.dtype, x.dims, f"round-nearest-even({scaled.name})", keep=False)
        if self.rng.random() < 0.4:
            return rounded
        mask = self.emit("pred", x.dims,
                         f"compare({x.name}, {self.fill_of(x.dtype, x.dims, '0.3').name}), direction=GT",
                         keep=False)
        nan = self.fill_of(x.dtype, x.dims, self.rng.choice(["nan", "nan", "0"] if takes_nan else ["0", "-0"]))
        return self.emit(x.dtype, x.dims, f"select({mask.name}, {nan.name}, {rounded.name})", keep=False)

    def fill_of(self, dtype, dims, number):
        scalar = self.emit(dtype, (), f"constant({number})", keep=False)
        return self.emit(dtype, dims, f"broadcast({scalar.name}), dimensions={{}}", keep=False) if dims else scalar

    def array_of(self, dtype, dims, takes_nan=True):
        """Of a parameter, perhaps through a transpose."""
        number = self.program.draw_parameter()
        order = list(range(len(dims)))
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        before = [0] * len(dims)
        for to, d in enumerate(order):
            before[d] = dims[to]
        x = self.emit(dtype, before, f"parameter({number})", keep=False)
        if order != sorted(order):
            x = self.emit(dtype, dims, f"transpose({x.name}), dimensions={braces(order)}", keep=False)
        return self.few(x, takes_nan)

    def operands(self, reducer, dims, over):
        arrays = [self.array_of(t, dims, reducer.takes_nan) for t in reducer.dtypes]
        if reducer.has_index and self.rng.random() < 0.8:
            along = self.rng.choice(over)
            arrays[1] = self.emit(reducer.dtypes[1], dims, f"iota(), iota_dimension={along}", keep=False)
        inits = [self.init_of(t, k, reducer.takes_nan) for k, t in enumerate(reducer.dtypes)]
        return arrays, inits

    def init_of(self, dtype, k, takes_nan):
        numbers = ["0", "1", "1", "3"] if k == 0 else ["0", "0", "0", "7"]
        if dtype in FLOATS:
            numbers += ["-inf", "nan"] if takes_nan else ["-inf"]
        return self.emit(dtype, (), f"constant({self.rng.choice(numbers)})", keep=False)

    def results(self, reducer, dims, text):
        names = [shape_text(t, dims) for t in reducer.dtypes]
        if len(names) == 1:
            self.emit(reducer.dtypes[0], dims, text)
            return
        whole = self.emit_raw(f"({', '.join(names)})", text)
        for k, t in enumerate(reducer.dtypes):
            if self.rng.random() < 0.8 or k == len(names) - 1:
                self.emit(t, dims, f"get-tuple-element({whole}), index={k}")

    # --- instructions ---

    def dims_of(self, most):
        if self.rng.random() < 0.15 and most > 4096:
            return [self.rng.choice(LONG)]
        for _ in range(50):
            dims = [self.rng.choice(SIZES) for _ in range(self.rng.choice([1, 2, 2, 3, 3, 4]))]
            if product(dims) <= most:
                return dims
        return [2]

    def reduce(self):
        reducer, dims = draw_reducer(self.rng), self.dims_of(60000)
        over = [d for d in range(len(dims)) if self.rng.random() < 0.5] or [self.rng.randrange(len(dims))]
        arrays, inits = self.operands(reducer, dims, over)
        kept = [size for d, size in enumerate(dims) if d not in over]
        self.results(reducer, kept, f"reduce({', '.join(a.name for a in arrays + inits)}), dimensions={braces(over)}, "
                                    f"to_apply={self.program.reducer(reducer)}")

    def window(self):
        reducer, dims = draw_reducer(self.rng), self.dims_of(3000)
        arrays, inits = self.operands(reducer, dims, range(len(dims)))
        if self.rng.random() < 0.5:
            along = self.rng.randrange(len(dims))
            sizes = [size if d == along else 1 for d, size in enumerate(dims)]
            sides = self.rng.choice([(1, 0), (0, 1)])
            pads = [(sides[0] * (size - 1), sides[1] * (size - 1)) for size in sizes]
            strides = [1] * len(dims)
        else:
            sizes = [self.rng.choice([1, 2, 3]) if size > 2 else 1 for size in dims]
            pads = [(self.rng.choice([0, size - 1]), self.rng.choice([0, size - 1])) for size in sizes]
            strides = [self.rng.choice([1, 1, size]) for size in sizes]
        to = [(size + low + high - window) // stride + 1
              for size, window, (low, high), stride in zip(dims, sizes, pads, strides)]
        window = f"size={'x'.join(map(str, sizes))} stride={'x'.join(map(str, strides))} " \
                 f"pad={'x'.join(f'{low}_{high}' for low, high in pads)}"
        self.results(reducer, to, f"reduce-window({', '.join(a.name for a in arrays + inits)}), window={{{window}}}, "
                                  f"to_apply={self.program.reducer(reducer)}")

    def scatter(self):
        """Rows, several of them to the same place."""
        reducer, count = draw_reducer(self.rng), self.rng.choice([5, 40, 3000])
        rows, width = self.rng.choice([1, 3, 17]), self.rng.choice([1, 4, 33])
        to = [self.array_of(t, [rows, width]) for t in reducer.dtypes]
        updates = [self.array_of(t, [count, width]) for t in reducer.dtypes]
        counted = self.emit("s32", [count], "iota(), iota_dimension=0", keep=False)
        places = self.emit("s32", [count], f"remainder({counted.name}, {self.fill_of('s32', [count], str(rows)).name})",
                           keep=False)
        names = ", ".join(a.name for a in [*to, places, *updates])
        self.results(reducer, [rows, width], f"scatter({names}), update_window_dims={{1}}, inserted_window_dims={{0}}, "
                                             "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                                             f"to_apply={self.program.reducer(reducer)}")


class OrderProgram(Program):
    def __init__(self, seed):
        super().__init__(seed, True)
        self.drawn = 0

    def parameters(self, entry):
        """They are made where they are needed."""

    def draw_parameter(self):
        self.drawn += 1
        return self.drawn - 1

    def reducer(self, reducer):
        if reducer.name not in self.bodies:
            self.bodies[reducer.name] = True
            self.done.append(reducer.text())
        return reducer.name

    def text(self, kind):
        entry = kind(self, "ENTRY main")
        entry.fill_with_ops(self.rng.choice([1, 2, 4]))
        shape = "(" + ", ".join(v.text() for v in entry.values) + ")"
        entry.close(entry.emit_raw(shape, f"tuple({', '.join(v.name for v in entry.values)})"))
        return f"HloModule random_{self.seed}\n\n" + "\n".join(self.done)
