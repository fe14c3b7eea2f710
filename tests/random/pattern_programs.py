"""Programs of patterns as JAX emits them: loops with several carries, one in the other; neighbours, padded and
interleaved pieces; rows of a few elements; reductions with steps before and behind; sorts, gathers, scatters, products
and convolutions of computed operands. Sizes lie around the widths of vectors.

Where a program is exact, floats that are summed are small whole numbers, so that all orders give the same bits. Where
it is not, no step makes a jump or a large difference of a small one."""
from computation import FLOATS, Program, braces, product, shape_text
from pattern_pairs import PairSteps
from pattern_steps import is_float

SIZES = [3, 5, 7, 8, 9, 10, 12, 13, 15, 16, 17, 20, 21, 24, 31, 32, 33, 40, 47, 48, 49, 50, 63, 64, 65, 67, 80, 100,
         127,
         128, 130, 200, 256, 300]
SMALL = list(range(2, 13))


class PatternComputation(PairSteps):
    # --- pieces ---

    def op_neighbours(self):
        x = self.array(least=1)
        along = None if x is None else self.axis(x, 3)
        if along is None:
            return
        size = x.dims[along]
        far = self.rng.choice([1, 1, 2])
        left, right = self.part(x, along, 0, size - far), self.part(x, along, far, size)
        both = self.chain(self.binary(left, right), self.rng.choice([0, 1, 3]))
        pads = [self.padded(both, along, 0, far), self.padded(self.chain(left, 1), along, far, 0),
                self.padded(both, along, far, 0), self.padded(self.binary(right, both), along, 0, far)]
        total = self.rng.choice(pads)
        for other in self.rng.sample(pads, self.rng.choice([1, 2, 3])):
            total = self.step("add", total, other)
        self.bounded(self.binary(x, total))

    def op_prefixes(self):
        """A scan of pairs, of pairs of pairs, and so on, the results interleaved."""
        x = self.array(least=1, wanted=lambda v: max(v.dims) <= 80)
        along = None if x is None else self.axis(x, 3)
        if along is None:
            return
        ops = self.rng.choice([["add"], ["maximum"], ["add", "abs"], ["maximum", "multiply"]])
        soft = not self.program.exact and is_float(x)
        self.scan(x, along, lambda a, b: self.log_sum(a, b) if soft else self.joint(a, b, ops))

    def joint(self, a, b, ops):
        value = self.step(ops[0], a, b)
        if "abs" in ops:
            value = self.step("minimum", value, self.step("abs", self.step("subtract", a, b)))
        if ops[-1] == "multiply" and is_float(a):
            value = self.step("add", value, self.step("multiply", a, self.like("0.5", a)))
        return value

    def log_sum(self, a, b):
        apart = self.step("negate", self.step("abs", self.step("subtract", a, b)))
        return self.step("add", self.step("maximum", a, b), self.step("log-plus-one", self.step("exponential", apart)))

    def scan(self, x, along, join):
        size = x.dims[along]
        if size < 2:
            return x
        pairs = join(self.part(x, along, 0, size - 1, 2), self.part(x, along, 1, size, 2))
        odd = self.scan(pairs, along, join)
        if size < 3:
            even = self.part(x, along, 0, 1)
        else:
            before = odd if size % 2 else self.part(odd, along, 0, size // 2 - 1)
            even = self.joined([self.part(x, along, 0, 1), join(before, self.part(x, along, 2, size, 2))], along)
        odds = 2 * odd.dims[along] - 1
        first = self.padded(even, along, 0, size - (2 * even.dims[along] - 1), 1)
        return self.step("add", first, self.padded(odd, along, 1, size - 1 - odds, 1))

    def op_columns(self):
        """Rows of a few elements, column by column, and new rows of them."""
        x = self.array(rank=2, least=1, wanted=lambda v: 2 <= v.dims[-1] <= 12)
        if x is None:
            return
        along, rest = len(x.dims) - 1, x.dims[:-1]
        cut = [self.reshape(self.part(x, along, j, j + 1), rest) for j in range(x.dims[-1])]
        made = [self.chain(self.binary(self.rng.choice(cut), self.rng.choice(cut)), self.rng.choice([0, 1, 2]))
                for _ in range(self.rng.choice([1, 2, 3, 4, len(cut)]))]
        if self.rng.random() < 0.3:
            made = [self.joint_of(cut)]
        at = self.rng.choice([0, len(rest), len(rest)])
        self.joined([self.reshape(c, rest[:at] + (1,) + rest[at:]) for c in made], at) if len(made) > 1 else made[0]

    def joint_of(self, columns):
        total = columns[0]
        for column in columns[1:]:
            total = self.step("add", total, self.step("multiply", column, self.like(self.number(column.dtype), column)))
        return total

    def op_interleave(self):
        x = self.array(least=1, wanted=lambda v: product(v.dims) * 2 <= self.program.most)
        if x is None:
            return
        parts = [self.reshape(v, x.dims + (1,)) for v in [x] + [self.near(x) for _ in range(self.rng.choice([1, 1, 2,
            3]))]]
        rows = self.joined(parts, len(x.dims))
        self.reshape(rows, x.dims[:-1] + (x.dims[-1] * len(parts),))

    def op_split(self):
        """An axis in two, as rows of a few elements are."""
        x = self.array()
        along = None if x is None else self.axis(x, 4)
        found = [m for m in SMALL if along is not None and x.dims[along] % m == 0]
        if found:
            m = self.rng.choice(found)
            self.reshape(x, x.dims[:along] + (x.dims[along] // m, m) + x.dims[along + 1:])

    def op_merge(self):
        x = self.array(rank=2, least=1)
        if x is not None:
            at = self.rng.randrange(len(x.dims) - 1)
            self.reshape(x, x.dims[:at] + (x.dims[at] * x.dims[at + 1],) + x.dims[at + 2:])

    # --- reductions and windows ---

    def op_reduce(self):
        x = self.array(least=1)
        if x is None:
            return
        over = [d for d in range(len(x.dims)) if self.rng.random() < 0.5] or [self.axis(x)]
        op = self.rng.choice(["add", "add", "maximum"])
        if op == "add":
            x = self.tame(x)
        self.chain(self.reduced(x, over, op), self.rng.choice([0, 1, 2]))

    def op_rows(self):
        """Rows less their largest element, shares of their sum, and such."""
        x = self.array(least=1)
        if x is None:
            return
        along = self.axis(x)
        where = [d for d in range(len(x.dims)) if d != along]
        top = self.broadcast(self.reduced(x, [along], "maximum"), x.dims, where)
        less = self.step("subtract", x, top)
        if is_float(x) and not self.program.exact:
            less = self.step("exponential", less)
        total = self.broadcast(self.reduced(self.tame(less), [along], "add"), x.dims, where)
        self.bounded(self.binary(less, total))

    def op_best(self):
        """The place of the largest element of each row, as argmax is written."""
        x = self.array(least=1, wanted=lambda v: self.program.exact or not is_float(v))
        if x is None:
            return
        along = self.axis(x)
        dims = [size for d, size in enumerate(x.dims) if d != along]
        place = self.iota("s32", x.dims, along)
        low, zero = self.emit(x.dtype, (), f"constant({self.program.lowest(x.dtype)})", keep=False), self.splat(0,
            "s32", ())
        shape = f"({shape_text(x.dtype, dims)}, {shape_text('s32', dims)})"
        pair = self.emit_raw(shape, f"reduce({x.name}, {place.name}, {low.name}, {zero.name}), dimensions={{{along}}}, "
                                    f"to_apply={self.program.best_body(x.dtype)}")
        self.emit(x.dtype, dims, f"get-tuple-element({pair}), index=0")
        self.emit("s32", dims, f"get-tuple-element({pair}), index=1")

    def op_cumulative(self):
        x = self.array(least=1, wanted=lambda v: product(v.dims) <= 1024)
        if x is None:
            return
        along, op = self.axis(x), self.rng.choice(["add", "maximum"])
        if op == "add":
            x = self.tame(x)
        size = x.dims[along]
        sides = self.rng.choice([(size - 1, 0), (size - 1, 0), (0, size - 1)])
        self.windowed(x, op, [size if d == along else 1 for d in range(len(x.dims))],
                      [sides if d == along else (0, 0) for d in range(len(x.dims))], [1] * len(x.dims))

    def op_pool(self):
        x = self.array(least=1)
        if x is None:
            return
        op = self.rng.choice(["add", "maximum"])
        if op == "add":
            x = self.tame(x)
        sizes = [self.rng.choice([1, 2, 3]) if size > 2 else 1 for size in x.dims]
        pads = [(self.rng.choice([0, size - 1]), self.rng.choice([0, size - 1])) for size in sizes]
        self.windowed(x, op, sizes, pads, [self.rng.choice([1, 1, size]) for size in sizes])

    def windowed(self, x, op, sizes, pads, strides):
        init = self.emit(x.dtype, (), f"constant({'0' if op == 'add' else self.program.lowest(x.dtype)})", keep=False)
        dims = [(size + low + high - window) // stride + 1
                for size, window, (low, high), stride in zip(x.dims, sizes, pads, strides)]
        window = f"size={'x'.join(map(str, sizes))} stride={'x'.join(map(str, strides))} " \
                 f"pad={'x'.join(f'{low}_{high}' for low, high in pads)}"
        return self.step("reduce-window", x, init, dims=dims,
                         more=f", window={{{window}}}, to_apply={self.program.scalar_body(op, x.dtype)}")

    # --- order and places ---

    def op_sort(self):
        x = self.array(least=1, wanted=lambda v: self.program.exact or not is_float(v))
        if x is None:
            return
        along = self.axis(x)
        parts = [x, self.iota("s32", x.dims, along)]
        same = [v for v in self.values[-40:] if v.dims == x.dims]
        parts = (parts + [self.rng.choice(same)])[:self.rng.choice([1, 2, 2, 3])]
        text = f"sort({', '.join(p.name for p in parts)}), dimensions={{{along}}}, is_stable=true, " \
               f"to_apply={self.program.order_body([p.dtype for p in parts], self.rng.choice(['LT', 'GT']))}"
        if len(parts) == 1:
            self.emit(x.dtype, x.dims, text)
            return
        name = self.emit_raw("(" + ", ".join(p.text() for p in parts) + ")", text)
        for k, p in enumerate(parts):
            self.emit(p.dtype, p.dims, f"get-tuple-element({name}), index={k}")

    def places(self, count, below, unique=False):
        """Numbers of type s32 below a bound, in a disorder."""
        at = self.iota("s32", (count,), 0)
        factor = self.rng.choice([f for f in (1, 3, 5, 7, 11, 13) if below % f or f == 1])
        if not unique and self.rng.random() < 0.4:
            drawn = [v for v in self.values[-40:] if v.dims == (count,) and v.dtype in ("s32", "u8", "s8")]
            at = self.convert(self.rng.choice(drawn), "s32") if drawn else at
        at = self.step("add", self.step("multiply", at, self.like(factor, at)),
                       self.like(self.rng.randrange(below), at))
        rest = self.step("remainder", at, self.like(below, at))
        return rest if unique else self.step("clamp", self.splat(0, "s32", ()), rest, self.splat(below - 1, "s32", ()),
                                             dtype="s32", dims=rest.dims)

    def op_gather(self):
        x = self.array(least=1)
        if x is None:
            return
        along = self.axis(x)
        count = self.rng.choice([x.dims[along], self.rng.choice(self.program.sizes)])
        dims = [count if d == along else size for d, size in enumerate(x.dims)]
        if product(dims) > 2 * self.program.most:
            return
        at = self.reshape(self.places(count, x.dims[along]), (count, 1))
        sizes = [1 if d == along else size for d, size in enumerate(x.dims)]
        self.step("gather", x, at, dims=dims,
                  more=f", offset_dims={braces([d for d in range(len(dims)) if d != along])}, "
                  f"collapsed_slice_dims={{{along}}}, start_index_map={{{along}}}, index_vector_dim=1, "
                  f"slice_sizes={braces(sizes)}")

    def op_row(self):
        """Elements by two numbers each, as take_along_axis does."""
        x = self.array(rank=2, least=1, wanted=lambda v: len(v.dims) == 2)
        if x is None:
            return
        count = self.rng.choice(self.program.sizes)
        pairs = [self.reshape(self.places(count, size), (count, 1)) for size in x.dims]
        self.step("gather", x, self.joined(pairs, 1), dims=(count,),
                  more=", offset_dims={}, collapsed_slice_dims={0,1}, "
                  "start_index_map={0,1}, index_vector_dim=1, slice_sizes={1,1}")

    def op_scatter(self):
        x = self.array(least=1)
        if x is None:
            return
        rest, op = x.dims[1:], self.rng.choice(["add", "add", "maximum", "last"])
        count = self.rng.choice([x.dims[0], self.rng.choice(self.program.sizes)])
        if op == "last":
            count = min(count, x.dims[0])
        if count * product(rest) > 2 * self.program.most:
            return
        if op == "add":
            x = self.tame(x)
        update = self.matching(x.dtype, (count,) + rest)
        if op == "add":
            update = self.tame(update)
        at = self.reshape(self.places(count, x.dims[0], op == "last"), (count, 1))
        self.step("scatter", x, at, update, more=f", update_window_dims={braces(range(1, len(x.dims)))}, "
                  f"inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, "
                  f"to_apply={self.program.scalar_body(op, x.dtype)}")

    def op_at(self):
        """A row is read, changed, and written to another place."""
        x = self.array()
        if x is None:
            return
        along = self.axis(x)
        sizes = [self.rng.choice([1, 1, min(2, s)]) if d == along else s for d, s in enumerate(x.dims)]
        row = self.chain(self.row_at(x, along, sizes), self.rng.choice([1, 2, 3]))
        starts = self.starts(along, len(x.dims))
        self.step("dynamic-update-slice", x, self.bounded(row), *starts)

    def starts(self, along, rank):
        return [self.index() if d == along else self.splat(0, "s32", ()) for d in range(rank)]

    def row_at(self, x, along, sizes):
        return self.step("dynamic-slice", x, *self.starts(along, len(sizes)), dims=sizes,
                         more=f", dynamic_slice_sizes={braces(sizes)}")

    # --- products ---

    def op_dot(self):
        x = self.array(least=1, wanted=lambda v: v.dtype in ("f32", "f32", "f64", "s32", "bf16"))
        if x is None:
            return
        contract = self.axis(x)
        batch = [0] if len(x.dims) > 2 and contract and self.rng.random() < 0.6 else []
        free = [self.rng.choice(self.program.sizes)] if self.rng.random() < 0.8 else []
        left = [d for d in range(len(x.dims)) if d != contract and d not in batch]
        dims = [x.dims[d] for d in batch + left] + free
        if product(dims) > 2 * self.program.most:
            return
        turned = free and self.rng.random() < 0.4
        inner = free + [x.dims[contract]] if turned else [x.dims[contract]] + free
        y = self.tame(self.matching(x.dtype, [x.dims[d] for d in batch] + inner))
        text = f", lhs_contracting_dims={{{contract}}}, rhs_contracting_dims={{{len(batch) + (1 if turned else 0)}}}"
        if batch:
            text += ", lhs_batch_dims={0}, rhs_batch_dims={0}"
        out = self.step("dot", self.tame(x), y, dims=dims, more=text)
        self.bounded(self.chain(out, self.rng.choice([0, 1, 2, 3])))

    def op_convolution(self):
        rng = self.rng
        rank, dtype = rng.choice([1, 2]), rng.choice(["f32", "f32", "f32", "f64", "bf16"])
        places, groups = "01"[:rank], rng.choice([1, 1, 2])
        features, out = groups * rng.choice([1, 2, 3, 8]), groups * rng.choice([1, 2, 4, 8])
        sizes = [rng.choice([3, 4, 7, 9, 16, 17][:6 if rank == 1 else 4]) for _ in places]
        windows = [rng.choice([w for w in (1, 2, 3, 3) if w <= s]) for s in sizes]
        pads = [(rng.choice([0, w - 1, w // 2]), rng.choice([0, w - 1, w // 2])) for w in windows]
        strides, spread, apart = ([rng.choice([1, 1, 1, 2]) for _ in places] for _ in range(3))
        spans = [(s - 1) * d + 1 + low + high - (w - 1) * r - 1
                 for s, d, w, r, (low, high) in zip(sizes, spread, windows, apart, pads)]
        if min(spans) < 0:
            return
        layouts = [rng.choice([f"b{places}f", f"bf{places}"]),
                   rng.choice([f"{places}io", f"oi{places}", f"{places}oi"]),
                   rng.choice([f"b{places}f", f"bf{places}"])]
        known = dict(zip(places, sizes), b=rng.choice([1, 2, 3]), f=features)
        kernel = dict(zip(places, windows), i=features // groups, o=out)
        done = dict(zip(places, [span // s + 1 for span, s in zip(spans, strides)]), b=known["b"], f=out)
        x = self.tame(self.matching(dtype, [known[c] for c in layouts[0]]))
        y = self.tame(self.matching(dtype, [kernel[c] for c in layouts[1]]))
        texts = [f"{name}={'x'.join(map(str, values))}" for name, values in
                 [("size", windows), ("stride", strides), ("lhs_dilate", spread), ("rhs_dilate", apart)]]
        texts.append(f"pad={'x'.join(f'{low}_{high}' for low, high in pads)}")
        if rng.random() < 0.3:
            texts.append(f"rhs_reversal={'x'.join(['1'] * rank)}")
        more = f", window={{{' '.join(texts)}}}, dim_labels={layouts[0]}_{layouts[1]}->{layouts[2]}"
        if groups > 1:
            more += f", feature_group_count={groups}"
        made = self.step("convolution", x, y, dims=[done[c] for c in layouts[2]], more=more)
        self.bounded(self.chain(made, rng.choice([0, 1, 2])))

    # --- loops ---

    def op_while(self):
        """A loop as scan and fori_loop are written: a counter, carries, arrays of which each turn reads a row, and
        arrays of which it writes one."""
        rng = self.rng
        if self.program.depth > 2:
            return
        trips = rng.choice(self.program.trips[self.program.depth])
        carries = [c for c in (self.array(rank=0, least=1) for _ in range(rng.choice([1, 1, 2, 3]))) if c is not None]
        rows = [v for v in self.values[-40:] if v.dims and v.dims[0] >= trips and v.dtype != "pred"]
        rows = rng.sample(rows, min(len(rows), rng.choice([0, 0, 1, 2])))
        if not carries:
            return
        made = [self.like(0, self.ramp(c.dtype, (trips,) + c.dims)) for c in carries
                if rng.random() < 0.3 and trips and trips * product(c.dims) <= self.program.most]
        state = [self.splat(0, "s32", ())] + carries + made + rows
        shape = "(" + ", ".join(v.text() for v in state) + ")"
        body = self.loop_body(shape, state, len(carries), len(made), trips)
        test = self.loop_test(shape, state, trips)
        init = self.emit_raw(shape, f"tuple({', '.join(v.name for v in state)})")
        loop = self.emit_raw(shape, f"while({init}), condition={test}, body={body}")
        for k, v in enumerate(state[:1 + len(carries) + len(made)]):
            if k and rng.random() < 0.9:
                self.emit(v.dtype, v.dims, f"get-tuple-element({loop}), index={k}")

    def loop_body(self, shape, state, carries, made, trips):
        rng, body = self.rng, self.open("body")
        param = body.emit_raw(shape, "parameter(0)")
        reads = [body.emit(v.dtype, v.dims, f"get-tuple-element({param}), index={k}", keep=0 < k <= carries)
                 for k, v in enumerate(state)]
        turn = reads[0]
        if rng.random() < 0.3:
            body.values.append(turn)
        if rng.random() < 0.2:
            turn = body.step("subtract", body.splat(max(trips - 1, 0), "s32", ()), turn)
        zero = body.splat(0, "s32", ())
        for v in reads[1 + carries + made:]:
            body.reshape(body.step("dynamic-slice", v, turn, *[zero] * (len(v.dims) - 1), dims=(1,) + v.dims[1:],
                                   more=f", dynamic_slice_sizes={braces((1,) + v.dims[1:])}"), v.dims[1:])
        body.fill_with_ops(rng.choice([1, 2, 4, 7]))
        nexts = [body.step("add", reads[0], body.splat(1, "s32", ()))]
        nexts += [body.next_of(read, reads[1:1 + carries]) for read in reads[1:1 + carries]]
        for read in reads[1 + carries:1 + carries + made]:
            row = body.reshape(body.matching(read.dtype, read.dims[1:]), (1,) + read.dims[1:])
            nexts.append(body.step("dynamic-update-slice", read, row, turn, *[zero] * (len(read.dims) - 1)))
        nexts += reads[1 + carries + made:]
        body.close(body.emit_raw(shape, f"tuple({', '.join(n.name for n in nexts)})"))
        self.program.depth -= 1
        return body.name

    def next_of(self, read, carries):
        """What a carry is in the next turn."""
        way = self.rng.random()
        if way < 0.08:
            return read
        others = [c for c in carries if c.dtype == read.dtype and c.dims == read.dims]
        if way < 0.2:
            return self.rng.choice(others)
        found = [v for v in self.values if v.dtype == read.dtype and v.dims == read.dims and v not in carries]
        if found and way < 0.6:
            return self.bounded(self.rng.choice(found[-3:]))
        return self.bounded(self.binary(read, self.rng.choice(found[-4:]) if found else self.near(read)))

    def loop_test(self, shape, state, trips):
        test = self.open("condition")
        param = test.emit_raw(shape, "parameter(0)")
        count = test.emit("s32", (), f"get-tuple-element({param}), index=0")
        root = test.step("compare", count, test.splat(trips, "s32", ()), dtype="pred", more=", direction=LT")
        if self.program.exact and self.rng.random() < 0.15 and state[1].dtype != "pred":
            array = test.emit(state[1].dtype, state[1].dims, f"get-tuple-element({param}), index=1")
            some = test.step("compare", array, test.like(1, array), dtype="pred", more=", direction=NE")
            root = test.step("and", root, test.reduced(some, range(len(some.dims)), "or") if some.dims else some)
        test.close(root.name)
        self.program.depth -= 1
        return test.name


class PatternProgram(Program):
    """A few sizes for all arrays, so that they fit together, and a few kinds of operations, so that they meet."""

    def __init__(self, seed, exact):
        super().__init__(seed, exact)
        rng = self.rng
        size = rng.choice(SIZES)
        self.sizes = [size, size, rng.choice(SMALL), rng.choice(SMALL), rng.choice(SIZES[:18])]
        self.sizes.append(size + rng.choice([-1, 1]))
        self.longest, self.most = 2 * size + 24, rng.choice([512, 2048, 2048, 8192])
        self.trips = [rng.choice([[2, 3, 9], [9, 20, 33], [50, 65, 70, 100, 130, size]]), [1, 3, 7], [2, 4]]
        self.types = rng.choice([["f32"], ["f32"], ["f32", "s32"], ["f64"], ["bf16", "f32"], ["f16", "f32"],
                                 ["f32", "f64"],
                                 ["s32", "f32", "u8"], ["s8", "f32", "s64"]])
        names = [name for name in dir(PatternComputation) if name.startswith("op_")]
        self.chosen = rng.sample(names, rng.choice([1, 1, 2, 3, 6, len(names)]))
        self.chosen += ["op_chain"] + ["op_while"] * rng.choice([0, 1, 2])

    def parameters(self, entry):
        size, other = self.sizes[0], self.sizes[2:5]
        shapes = [(size,), (size, other[0]), (other[2], size), (other[1], size, other[0]), (), (other[0], other[1])]
        shapes = [dims for dims in shapes if product(dims) <= self.most]
        for k, dims in enumerate(self.rng.sample(shapes, min(len(shapes), self.rng.choice([1, 2, 3])))):
            entry.emit(self.rng.choice(self.types), dims, f"parameter({k})")

    def lowest(self, dtype):
        bits = {"s32": 31, "s64": 63, "s8": 7}.get(dtype)
        return "-inf" if dtype in FLOATS else -2 ** bits if bits else 0

    def scalar_body(self, op, dtype):
        if op != "last":
            return super().scalar_body(op, dtype)
        return self.body(f"last_{dtype}", [dtype, dtype], f"ROOT c = {dtype}[] copy(p1)")

    def body(self, name, dtypes, lines):
        """A computation of scalars p0, p1 ..., there once."""
        if name not in self.bodies:
            self.bodies[name] = True
            given = "".join(f"  p{k} = {dtype}[] parameter({k})\n" for k, dtype in enumerate(dtypes))
            self.done.append(f"{name} {{\n{given}  {lines}\n}}\n")
        return name

    def order_body(self, dtypes, way):
        two = [dtype for dtype in dtypes for _ in range(2)]
        kind = ", type=TOTALORDER" if dtypes[0] in FLOATS else ""
        return self.body(f"order_{way}_{'_'.join(dtypes)}", two,
                         f"ROOT c = pred[] compare(p0, p1), direction={way}{kind}")

    def best_body(self, dtype):
        return self.body(f"best_{dtype}", [dtype, "s32", dtype, "s32"], f"""more = pred[] compare(p0, p2), direction=GT
  odd = pred[] compare(p0, p0), direction=NE
  first = pred[] or(more, odd)
  same = pred[] compare(p0, p2), direction=EQ
  before = pred[] compare(p1, p3), direction=LT
  tie = pred[] and(same, before)
  place = pred[] or(first, tie)
  value = {dtype}[] select(first, p0, p2)
  at = s32[] select(place, p1, p3)
  ROOT c = ({dtype}[], s32[]) tuple(value, at)""")
