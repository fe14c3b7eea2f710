"""Programs of patterns as models have them, between those of pattern_programs.py: weights of layers that a loop
walks, few rows with large matrices of few bits, products by groups of rows, sums that a loop adds up piece by piece,
gradient descent on rows of a table, gradients of parts. Sums are of small whole numbers, so that all orders give the
same bits."""
from computation import braces
from pattern_programs import PatternComputation, PatternProgram

PLAIN = ["op_chain", "op_rows", "op_merge", "op_turn", "op_reduce"]


class ModelComputation(PatternComputation):
    def fill_with_ops(self, count):
        """The last arrays of each pattern are what the program may give."""
        self.made = []
        for _ in range(count):
            before = len(self.values)
            getattr(self, self.rng.choice(self.program.chosen))()
            self.made += self.values[before:][-2:]

    def small(self, dtype, dims):
        """Whole numbers from -2 to 2 that depend on the place."""
        values = self.ramp(dtype, dims)
        return self.step("clamp", self.splat(-2, dtype, ()), self.step("subtract", values, self.like(2, values)),
                         self.splat(2, dtype, ()), dtype=dtype, dims=values.dims)

    def loop(self, state, trips, fill):
        """A counted loop over `state`; fill(body, turn, reads) gives what the state is in the next turn."""
        shape = "(s32[], " + ", ".join(v.text() for v in state) + ")"
        body = self.open("body")
        param = body.emit_raw(shape, "parameter(0)")
        turn = body.emit("s32", (), f"get-tuple-element({param}), index=0", keep=False)
        reads = [body.emit(v.dtype, v.dims, f"get-tuple-element({param}), index={k + 1}") for k, v in enumerate(state)]
        nexts = [body.step("add", turn, body.splat(1, "s32", ()))] + fill(body, turn, reads)
        body.close(body.emit_raw(shape, f"tuple({', '.join(n.name for n in nexts)})"))
        self.program.depth -= 1
        test = self.open("condition")
        count = test.emit("s32", (), f"get-tuple-element({test.emit_raw(shape, 'parameter(0)')}), index=0")
        test.close(test.step("compare", count, test.splat(trips, "s32", ()), dtype="pred", more=", direction=LT").name)
        self.program.depth -= 1
        zero = self.splat(0, "s32", ())
        init = self.emit_raw(shape, f"tuple({zero.name}, {', '.join(v.name for v in state)})")
        loop = self.emit_raw(shape, f"while({init}), condition={test.name}, body={body.name}")
        return [self.emit(v.dtype, v.dims, f"get-tuple-element({loop}), index={k + 1}") for k, v in enumerate(state)]

    def product(self, x, w, left=1, right=0, dims=None, dtype="f32", more=""):
        dims = dims or (x.dims[1 - left], w.dims[1 - right])
        return self.emit(dtype, dims, f"dot({x.name}, {w.name}), lhs_contracting_dims={{{left}}}, "
                                      f"rhs_contracting_dims={{{right}}}{more}")

    def op_layers(self):
        rng = self.rng
        if self.program.depth:
            return
        layers, width, rows = rng.choice([2, 9, 40]), rng.choice([17, 20, 33]), rng.choice([1, 2, 5, 9])
        dtype, turned, writes = rng.choice(["f32", "f32", "bf16"]), rng.choice([0, 1]), rng.random() < 0.3
        state = [self.small("f32", (rows, width)), self.small(dtype, (layers, width, width))]

        def fill(body, turn, reads):
            zero = body.splat(0, "s32", ())
            at = body.step("add", turn, body.splat(rng.choice([0, 0, 0, 1, -1]), "s32", ()))
            part = body.step("dynamic-slice", reads[1], at, zero, zero, dims=(1, width, width),
                             more=f", dynamic_slice_sizes={{1,{width},{width}}}")
            w = body.convert(body.reshape(part, (width, width)), rng.choice([dtype, "f32"]))
            y = body.tame(body.chain(body.product(reads[0], w, right=turned), rng.choice([0, 1])))
            stack = reads[1]
            if writes:
                row = body.convert(body.reshape(y, (1, rows, width)), dtype)
                stack = body.step("dynamic-update-slice", stack, row, turn, zero, zero) if rows <= width else stack
            return [y, stack]
        self.loop(state, layers, fill)

    def op_thin(self):
        """Few rows with a matrix that is widened for it, and its transpose."""
        rng = self.rng
        terms, columns = rng.choice([(256, 257), (64, 1030), (1031, 64)])
        narrow, rows = rng.choice(["s8", "s8", "bf16"]), rng.choice([1, 2, 3, 8, 9])
        w = self.convert(self.small(narrow, (terms, columns)), "f32")
        if rng.random() < 0.5:
            self.tame(self.product(self.small("f32", (rows, terms)), w))
        else:
            self.tame(self.product(w, self.small("f32", (columns, 1)), dims=(terms, 1)))

    def mask(self, shape, starts, ends, row):
        count = self.iota("s32", shape, row)
        low = self.step("compare", self.broadcast(starts, shape, [0]), count, dtype="pred", dims=shape,
                        more=", direction=LE")
        high = self.step("compare", count, self.broadcast(ends, shape, [0]), dtype="pred", dims=shape,
                         more=", direction=LT")
        return self.step("and", low, high)

    def masked(self, x, starts, ends):
        shape = starts.dims + x.dims
        return self.step("select", self.mask(shape, starts, ends, 1), self.broadcast(x, shape, [1, 2]),
                         self.splat(0, x.dtype, shape), dtype=x.dtype, dims=shape)

    def op_groups(self):
        """Products by groups of rows, as lax.ragged_dot is lowered, and their gradients."""
        rng = self.rng
        groups, rows, terms, columns = rng.choice([1, 2, 3, 7]), rng.choice([9, 40, 200]), rng.choice([3,
            17]), rng.choice([5, 33])
        sizes = self.step("remainder", self.step("abs", self.ramp("s32", (groups,))),
                          self.splat(rows // groups + 2, "s32", (groups,)))
        ends = self.windowed(sizes, "add", [groups], [(groups - 1, 0)], [1])
        first = self.splat(0, "s32", (1,))
        starts = self.joined([first, self.part(ends, 0, 0, groups - 1)], 0) if groups > 1 else first
        x, w = self.small("f32", (rows, terms)), self.small("f32", (groups, terms, columns))
        self.emit("f32", (rows, columns),
                  f"dot({self.masked(x, starts, ends).name}, {w.name}), lhs_contracting_dims={{2,0}}, "
                                          "rhs_contracting_dims={1,0}")
        y = self.small("f32", (rows, columns))
        self.emit("f32", (groups, terms, columns),
                  f"dot({self.masked(x, starts, ends).name}, {self.masked(y, starts, ends).name}), lhs_batch_dims={{0}}, "
                  "rhs_batch_dims={0}, lhs_contracting_dims={1}, rhs_contracting_dims={1}")

    def op_sums(self):
        """Sums that start at 0, or anywhere, and get a piece in each turn."""
        rng = self.rng
        if self.program.depth:
            return
        rows, width, trips = rng.choice([5, 70, 300]), rng.choice([1, 4, 17]), rng.choice([3, 20])
        start = self.splat(0, "f32", (rows, width)) if rng.random() < 0.7 else self.small("f32", (rows, width))
        scatters = rng.random() < 0.4

        def fill(body, turn, reads):
            zeros, zero = body.splat(0, "f32", (rows, width)), body.splat(0, "s32", ())
            piece = body.small("f32", (2, width))
            if scatters:
                places = body.step("add", body.iota("s32", (2, 1), 0), body.broadcast(turn, (2, 1), []))
                part = body.step("scatter", zeros, places, piece,
                                 more=", update_window_dims={1}, inserted_window_dims={0}, "
                                 "scatter_dims_to_operand_dims={0}, index_vector_dim=1, "
                                 f"to_apply={body.program.scalar_body('add', 'f32')}")
            else:
                part = body.step("dynamic-update-slice", zeros, piece, turn, zero)
            pair = [part, reads[0]] if rng.random() < 0.5 else [reads[0], part]
            return [body.step("add", *pair)]
        self.loop([start], trips, fill)

    def op_descend(self):
        rng = self.rng
        rows, width, count = rng.choice([50, 1000]), rng.choice([1, 4, 16, 17]), rng.choice([3, 40])
        at = self.reshape(self.places(count, rows), (count, 1))
        gradient = self.step("scatter", self.splat(0, "f32", (rows, width)), at, self.small("f32", (count, width)),
                             more=", update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                             f"index_vector_dim=1, to_apply={self.program.scalar_body('add', 'f32')}")
        op, rate = rng.choice([("subtract", "0.5"), ("add", "-0.25"), ("add", "0.5"), ("subtract", "1")])
        self.step(op, self.small("f32", (rows, width)), self.step("multiply", gradient, self.like(rate, gradient)))

    def op_parts(self):
        """Pieces padded with zeros and added up: side by side, or not."""
        rng = self.rng
        sizes, along = [rng.choice([1, 2, 5]) for _ in range(rng.choice([2, 3, 6]))], rng.choice([0, 1])
        total, at, parts = sum(sizes) + rng.choice([0, 0, 3]), 0, []
        for size in sizes:
            x = self.chain(self.small("f32", (size, 7) if along == 0 else (7, size)), 1)
            parts.append(self.padded(x, along, at, total - at - size))
            at += size - (rng.random() < 0.1)
        if rng.random() < 0.5:
            parts.reverse()
        result = parts[0]
        for part in parts[1:]:
            result = self.step("add", result, part)


class ModelProgram(PatternProgram):
    def __init__(self, seed):
        super().__init__(seed, True)
        names = [name for name in ModelComputation.__dict__ if name.startswith("op_")]
        plain = [name for name in PLAIN if hasattr(ModelComputation, name)]
        self.chosen = self.rng.sample(names, self.rng.choice([1, 2, 3])) + self.rng.sample(plain, 1)

    def text(self, kind):
        entry = kind(self, "ENTRY main")
        self.parameters(entry)
        entry.fill_with_ops(self.rng.choice([2, 4, 8]))
        results = entry.made[-12:] or entry.values[-1:]
        shape = "(" + ", ".join(r.text() for r in results) + ")"
        entry.close(entry.emit_raw(shape, f"tuple({', '.join(r.name for r in results)})"))
        return f"HloModule random_{self.seed}\n\n" + "\n".join(self.done)
