"""Layers of models of images and texts in their sizes: windows as large as an image or one element off, many channels
and odd numbers of them, dimensions in any order. A program has one layer, then elementwise operations."""
from computation import Computation, Program, braces, product

CHANNELS = (1, 2, 3, 7, 8, 16, 17, 33, 64, 100, 512, 1000)
IMAGES = (1, 2, 5, 7, 8, 9, 14, 15, 28, 31, 56, 112)
LENGTHS = (1, 2, 3, 5, 7, 16, 48, 64, 65, 197, 768)
EXTENTS = (1, 2, 3, 7, 16, 17, 64, 100, 1000, 4097, 100000)
WORK = 400_000  # most terms of sums: the reference engine takes them one at a time


class Along:
    """A window along one dimension of `size` elements; `out` results."""

    def __init__(self, rng, size, is_plain):
        self.size = max(1, rng.choice((1, 2, 3, 3, 5, 7, 11, size, size, size - 1, size + 1)))
        self.stride = rng.choice((1, 1, 2, 3, self.size))
        self.spread, self.dilation = (1, 1) if is_plain else (rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 3)))
        half = (self.size - 1) // 2
        pads = [(0, 0), (half, self.size - 1 - half), (self.size - 1, 0), (0, self.size - 1)]
        pads += [] if is_plain else [(rng.randint(-3, 3), rng.randint(-3, 4))]
        self.low, self.high = rng.choice(pads)
        room = (size - 1) * self.spread + self.low + self.high - (self.size - 1) * self.dilation
        self.out = room // self.stride + 1 if room >= 0 and size + self.low + self.high > 0 else 0


class Whole:
    """The window of one element along a dimension without one."""
    size = stride = spread = dilation = 1
    low = high = 0

    def __init__(self, size):
        self.out = size


def window_text(window):
    fields = (("size", "{0.size}"), ("stride", "{0.stride}"), ("pad", "{0.low}_{0.high}"),
              ("lhs_dilate", "{0.spread}"), ("rhs_dilate", "{0.dilation}"))
    return "window={" + " ".join(f"{name}={'x'.join(form.format(w) for w in window)}" for name, form in fields) + "}"


class LayerComputation(Computation):
    def __init__(self, program, name):
        super().__init__(program, name)
        self.parameter_count = 0

    # --- what layers read ---

    def parameter(self, dtype, dims):
        self.parameter_count += 1
        return self.emit(dtype, dims, f"parameter({self.parameter_count - 1})")

    def given(self, dtype, dims):
        """A parameter, or what a layer before it would write: another order of dimensions, a row for all, another
        type."""
        rng, way = self.rng, self.rng.random()
        if way < 0.6 or not dims:
            return self.parameter(dtype, dims)
        if way < 0.75:
            order = rng.sample(range(len(dims)), len(dims))
            before = [dims[order.index(d)] for d in range(len(dims))]
            return self.emit(dtype, dims, f"transpose({self.parameter(dtype, before).name}), "
                             f"dimensions={braces(order)}")
        if way < 0.85:
            kept = [d for d in range(len(dims)) if rng.random() < 0.5]
            row = self.parameter(dtype, [dims[d] for d in kept])
            return self.emit(dtype, dims, f"broadcast({row.name}), dimensions={braces(kept)}")
        if way < 0.92 and dtype in ("f32", "bf16"):
            other = self.parameter("f32" if dtype == "bf16" else "bf16", dims)
            return self.emit(dtype, dims, f"convert({other.name})")
        return self.emit(dtype, dims, f"negate({self.parameter(dtype, dims).name})")

    def number_of(self, dtype, numbers):
        return self.emit(dtype, (), f"constant({self.rng.choice(numbers)})")

    def image(self):
        """Sizes of images, and which dimensions are spatial."""
        rng, size = self.rng, self.rng.choice(IMAGES)
        space = [rng.choice((size, size, rng.choice(IMAGES))) for _ in range(rng.choice((1, 2, 2, 2, 3)))]
        batch, channels = rng.choice((1, 2, 4)), rng.choice(CHANNELS)
        if rng.random() < 0.5:
            return [batch, *space, channels], range(1, len(space) + 1)
        return [batch, channels, *space], range(2, len(space) + 2)

    def windows(self, is_plain):
        """An image, and a window with results that are not too many."""
        while True:
            dims, spatial = self.image()
            window = [Along(self.rng, size, is_plain) if d in spatial else Whole(size) for d, size in enumerate(dims)]
            work = product(w.out * w.size for w in window)
            if 0 < work <= WORK and product(dims) <= WORK:
                return dims, window

    # --- layers ---

    def layer_pooling(self):
        rng, dtype = self.rng, self.rng.choice(("f32", "f32", "f64", "bf16", "f16", "s32", "s8", "c64"))
        dims, window = self.windows(rng.random() < 0.5)
        op = "add" if dtype == "c64" else rng.choice(("add", "add", "maximum", "minimum"))
        init = self.number_of(dtype, ("(0, 0)", "(1, 0)") if dtype == "c64" else (0, 0, 1, 5))
        x = self.given(dtype, dims)
        self.emit(dtype, [w.out for w in window], f"reduce-window({x.name}, {init.name}), {window_text(window)}, "
                  f"to_apply={self.program.scalar_body(op, dtype)}")

    def layer_pooling_gradient(self):
        dtype = self.rng.choice(("f32", "f32", "f64", "bf16", "f16", "s32"))
        dims, window = self.windows(True)
        x, source = self.parameter(dtype, dims), self.given(dtype, [w.out for w in window])
        init = self.number_of(dtype, (0, 0, 1))
        self.emit(dtype, dims, f"select-and-scatter({x.name}, {source.name}, {init.name}), {window_text(window)}, "
                  f"select={self.program.larger_body(dtype)}, scatter={self.program.scalar_body('add', dtype)}")

    def layer_convolution(self):
        rng, dtype = self.rng, self.rng.choice(("f32", "f32", "f32", "f64", "bf16", "f16", "s32", "c64"))
        while True:
            dims, spatial = self.image()
            space = [dims[d] for d in spatial]
            batch, features, filters = dims[0], product(dims) // product(space) // dims[0], rng.choice(CHANNELS)
            groups = rng.choice((1, 1, 1, 2, features))
            filters = features * rng.choice((1, 2)) if groups == features else filters
            window = [Along(rng, size, rng.random() < 0.6) for size in space]
            terms = product(w.out * w.size for w in window) * batch * filters * features // groups
            if 0 < terms <= WORK and features % groups == 0 and filters % groups == 0 and product(dims) <= WORK:
                break
        labels = [str(k) for k in range(len(space))]
        sizes = dict(zip(labels, space), b=batch, f=features)
        kernel = dict(zip(labels, [w.size for w in window]), i=features // groups, o=filters)
        result = dict(zip(labels, [w.out for w in window]), b=batch, f=filters)
        orders = [self.order(first, labels, last) for first, last in ("bf", "io", "bf")]
        x = self.given(dtype, [sizes[c] for c in orders[0]])
        y = self.given(dtype, [kernel[c] for c in orders[1]])
        self.emit(dtype, [result[c] for c in orders[2]],
                  f"convolution({x.name}, {y.name}), {window_text(window)}, feature_group_count={groups}, dim_labels="
                  f"{''.join(orders[0])}_{''.join(orders[1])}->{''.join(orders[2])}")

    def order(self, first, spatial, last):
        """The labels of an array, mostly in a usual order."""
        usual = self.rng.choice(([first, *spatial, last], [*spatial, first, last], [first, last, *spatial]))
        return usual if self.rng.random() < 0.7 else self.rng.sample(usual, len(usual))

    def layer_product(self):
        rng, dtype = self.rng, self.rng.choice(("f32", "f32", "f64", "bf16", "f16", "s32", "c64"))
        while True:
            kinds = {"b": rng.choice((0, 0, 1, 2)), "k": rng.choice((1, 1, 2)), "m": rng.choice((0, 1, 1, 2)),
                     "n": rng.choice((0, 1, 1, 2))}
            sizes = {f"{kind}{i}": rng.choice(LENGTHS) for kind, count in kinds.items() for i in range(count)}
            if product(sizes.values()) <= WORK:
                break
        sides = [[name for name in sizes if name[0] in kinds_of] for kinds_of in ("bkm", "bkn")]
        for side in sides:
            rng.shuffle(side)
        x, y = (self.given(dtype, [sizes[name] for name in side]) for side in sides)
        roles = ", ".join(f"{hand}_{role}_dims={braces([side.index(name) for name in sizes if name[0] == kind])}"
                          for role, kind in (("batch", "b"), ("contracting", "k"))
                          for hand, side in zip(("lhs", "rhs"), sides))
        batch = [sizes[name] for name in sizes if name[0] == "b"]
        free = [sizes[name] for side in sides for name in side if name[0] in "mn"]
        self.emit(dtype, batch + free, f"dot({x.name}, {y.name}), {roles}")

    def layer_reduction(self):
        rng, dtype = self.rng, self.rng.choice(("f32", "f32", "f64", "s32", "s8", "c64", "bf16"))
        dims = [WORK]
        while product(dims) >= WORK:
            dims = [rng.choice(EXTENTS) for _ in range(rng.choice((1, 2, 3, 4)))]
        over = sorted(rng.sample(range(len(dims)), rng.randint(1, len(dims))))
        is_sum = dtype == "c64" or (dtype != "bf16" and rng.random() < 0.5)
        op = "add" if is_sum else rng.choice(("maximum", "minimum"))
        init = self.number_of(dtype, ("(0, 0)", "(2, 1)") if dtype == "c64" else (0, 1, 5))
        self.emit(dtype, [size for d, size in enumerate(dims) if d not in over],
                  f"reduce({self.given(dtype, dims).name}, {init.name}), dimensions={braces(over)}, "
                  f"to_apply={self.program.scalar_body(op, dtype)}")

    # --- after a layer ---

    def after(self, x):
        """What follows of the layer's result: a bias, another order, an activation."""
        for _ in range(self.rng.choice((0, 1, 2))):
            way, dims = self.rng.choice(("bias", "order", "square", "residual")), x.dims
            if way == "bias" and dims:
                along = self.rng.randrange(len(dims))
                row = self.parameter(x.dtype, [dims[along]])
                row = self.emit(x.dtype, dims, f"broadcast({row.name}), dimensions={{{along}}}")
                x = self.emit(x.dtype, dims, f"add({x.name}, {row.name})")
            elif way == "order" and len(dims) > 1:
                order = self.rng.sample(range(len(dims)), len(dims))
                x = self.emit(x.dtype, [dims[d] for d in order], f"transpose({x.name}), dimensions={braces(order)}")
            elif way == "square":
                x = self.emit(x.dtype, dims, f"multiply({x.name}, {x.name})")
            else:
                x = self.emit(x.dtype, dims, f"subtract({x.name}, {self.given(x.dtype, dims).name})")
        return x


class LayerProgram(Program):
    def __init__(self, seed):
        super().__init__(seed, False)

    def larger_body(self, dtype):
        self.done.append(f"larger {{\n  a = {dtype}[] parameter(0)\n  b = {dtype}[] parameter(1)\n"
                         "  ROOT c = pred[] compare(a, b), direction=GE\n}\n")
        return "larger"

    def text(self):
        entry = LayerComputation(self, "ENTRY main")
        getattr(entry, self.rng.choice([name for name in dir(entry) if name.startswith("layer_")]))()
        entry.close(entry.after(entry.values[-1]).name)
        return f"HloModule random_{self.seed}\n\n" + "\n".join(self.done)
