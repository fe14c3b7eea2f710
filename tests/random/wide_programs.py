"""More operations for random global programs: factorisations of matrices whose factors are known, transforms of 2 and 4
numbers, scatters with batches, sorts of several arrays, narrow types, random bits of all types, feeds of loops with
several values. All results are exact: sums of small integers, roots of squares, rotations by right angles."""
from computation import braces, product, shape_text
from sharded_programs import ShardedProgram

TYPES = ("s32", "u32", "s8", "u8", "s16", "s64", "bf16", "f16", "f64")


class WideProgram(ShardedProgram):
    def filled(self, number, dims, dtype="f32"):
        return self.emit(dtype, dims, f"broadcast({self.scalar(number, dtype).name}), dimensions={{}}", keep=False)

    def tuple_of(self, shapes, text):
        """An instruction of several results; returns its name."""
        self.count += 1
        self.lines.append(f"  v{self.count} = ({', '.join(shapes)}) {text}")
        return f"v{self.count}"

    def element(self, name, index, dtype, dims, keep=False):
        return self.emit(dtype, dims, f"get-tuple-element({name}), index={index}", keep=keep)

    def convert(self, x, dtype):
        return self.emit(dtype, x.dims, f"convert({x.name})", keep=False)

    # --- windows ---

    def op_select_and_scatter(self):
        rng = self.rng
        x = self.given(self.dims(rng.randint(1, 3)))
        pads, sizes, strides, out = [], [], [], []
        for size in x.dims:
            k, s, low, high = rng.randint(1, 4), rng.choice((1, 1, 2, 3)), rng.randint(0, 3), rng.randint(0, 3)
            low, high = min(low, k - 1), min(high, k - 1)
            if rng.random() < 0.3 or size + low + high < k:
                k, s, low, high = 1, 1, 0, 0
            sizes.append(k)
            strides.append(s)
            pads.append(f"{low}_{high}")
            out.append((size + low + high - k) // s + 1)
        source = self.given(out, wild=False)
        direction = rng.choice(("GE", "GE", "GT", "LE", "LT", "EQ"))
        select = self.helper(("select", direction), "{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                             f"  ROOT r = pred[] compare(a, b), direction={direction}\n}}")
        op, init = rng.choice((("add", 0), ("add", 2), ("maximum", "-inf"), ("multiply", 1)))
        window = " ".join(f"{name}={'x'.join(map(str, values))}"
                          for name, values in (("size", sizes), ("stride", strides), ("pad", pads)))
        y = self.emit("f32", x.dims, f"select-and-scatter({x.name}, {source.name}, {self.scalar(init).name}), "
                      f"window={{{window}}}, select={select}, scatter={self.reducer(op)}", keep=False)
        self.small(y)

    # --- matrices ---

    def lower_triangle(self, batch, n):
        """Matrices of small integers below a diagonal of ones and twos."""
        dims = (*batch, n, n)
        x = self.given(dims, wild=False)
        row = self.emit("s32", dims, f"iota(), iota_dimension={len(batch)}", keep=False)
        column = self.emit("s32", dims, f"iota(), iota_dimension={len(batch) + 1}", keep=False)
        below = self.emit("pred", dims, f"compare({row.name}, {column.name}), direction=GT", keep=False)
        on = self.emit("pred", dims, f"compare({row.name}, {column.name}), direction=EQ", keep=False)
        positive = self.emit("pred", dims, f"compare({x.name}, {self.filled(0, dims).name}), direction=GT", keep=False)
        diagonal = self.emit("f32", dims,
                             f"select({positive.name}, {self.filled(1, dims).name}, {self.filled(2, dims).name})",
                             keep=False)
        rest = self.emit("f32", dims, f"select({on.name}, {diagonal.name}, {self.filled(0, dims).name})", keep=False)
        low = self.emit("f32", dims, f"select({below.name}, {x.name}, {rest.name})", keep=False)
        return low, self.emit("pred", dims, f"or({below.name}, {on.name})", keep=False)

    def batch(self):
        return tuple(self.rng.choice((2, 3, 4, 8)) for _ in range(self.rng.randint(0, 2)))

    def op_cholesky(self):
        batch, n = self.batch(), self.rng.randint(2, 5)
        low, kept = self.lower_triangle(batch, n)
        b = list(range(len(batch)))
        groups = f"lhs_batch_dims={braces(b)}, rhs_batch_dims={braces(b)}, " if batch else ""
        square = self.emit("f32", low.dims,
                           f"dot({low.name}, {low.name}), {groups}lhs_contracting_dims={{{len(b) + 1}}}, "
                           f"rhs_contracting_dims={{{len(b) + 1}}}", keep=False)
        cut = self.emit("f32", low.dims, f'custom-call({square.name}), custom_call_target="Sharding"', keep=False,
                        note=self.sharding(low.dims) or ", sharding={replicated}")
        factor = self.emit("f32", low.dims, f"cholesky({cut.name}), lower=true", keep=False)
        self.emit("f32", low.dims, f"select({kept.name}, {factor.name}, {self.filled(0, low.dims).name})")

    def op_triangular_solve(self):
        batch, n, k = self.batch(), self.rng.randint(2, 4), self.rng.randint(1, 5)
        low, _ = self.lower_triangle(batch, n)
        left = self.rng.random() < 0.6
        x = self.given((*batch, n, k) if left else (*batch, k, n), wild=False)
        transposed = self.rng.choice(("NO_TRANSPOSE", "TRANSPOSE"))
        y = self.emit("f32", x.dims,
                      f"triangular-solve({low.name}, {x.name}), left_side={str(left).lower()}, lower=true, "
                      f"unit_diagonal=true, transpose_a={transposed}", keep=False)
        self.small(y)

    def op_fft(self):
        rng = self.rng
        dims = (*self.batch(), rng.choice((2, 4)))
        x = self.given(dims, wild=False)
        if rng.random() < 0.5:
            zero = self.given(dims, wild=False)
            z = self.emit("c64", dims, f"complex({x.name}, {zero.name})", keep=False)
            y = self.emit("c64", dims,
                          f"fft({z.name}), fft_type={rng.choice(('FFT', 'IFFT'))}, fft_length={{{dims[-1]}}}",
                          keep=False)
        else:
            out = (*dims[:-1], dims[-1] // 2 + 1)
            y = self.emit("c64", out, f"fft({x.name}), fft_type=RFFT, fft_length={{{dims[-1]}}}", keep=False)
        self.quarters(self.emit("f32", y.dims, f"real({y.name})", keep=False))
        self.quarters(self.emit("f32", y.dims, f"imag({y.name})", keep=False))

    def quarters(self, x):
        """Rounded to a multiple of 1/4: sines of right angles may differ from 0 and 1 in the last bit."""
        four = self.emit("f32", x.dims, f"multiply({x.name}, {self.filled(4, x.dims).name})", keep=False)
        half = self.emit("f32", x.dims, f"add({four.name}, {self.filled(0.5, x.dims).name})", keep=False)
        self.emit("f32", x.dims, f"floor({half.name})")

    # --- types ---

    def op_typed(self):
        """The operations that move and reduce, on another type."""
        rng, dtype = self.rng, self.rng.choice(TYPES)
        y = self.convert(self.small_integers(), dtype)
        for _ in range(rng.randint(1, 3)):
            y = getattr(self, "typed_" + rng.choice(("add", "pad", "slice", "reduce", "reverse", "dot", "shift")))(y,
                dtype)
        self.small(self.convert(y, "f32"))

    def small_integers(self):
        x = self.given(wild=False)
        return self.emit("f32", x.dims, f"abs({x.name})", keep=False)

    def typed_add(self, x, dtype):
        return self.emit(dtype, x.dims, f"maximum({x.name}, {self.filled(2, x.dims, dtype).name})", keep=False)

    def typed_pad(self, x, dtype):
        d, low, high = self.rng.randrange(len(x.dims)) if x.dims else -1, self.rng.randint(-1, 3), self.rng.randint(0,
            3)
        if d < 0 or x.dims[d] + low < 1:
            return x
        pads = [(low, high) if k == d else (0, 0) for k in range(len(x.dims))]
        dims = [n + low + high for n, (low, high) in zip(x.dims, pads)]
        return self.emit(dtype, dims, f"pad({x.name}, {self.scalar(1, dtype).name}), "
                         f"padding={'x'.join(f'{a}_{b}' for a, b in pads)}", keep=False)

    def typed_slice(self, x, dtype):
        ranges = [(s, self.rng.randint(s + 1, n)) for n in x.dims for s in [self.rng.randrange(n)]]
        return self.emit(dtype, [b - a for a, b in ranges],
                         f"slice({x.name}), slice={{{','.join(f'[{a}:{b}]' for a, b in ranges)}}}",
                         keep=False) if x.dims else x

    def typed_reduce(self, x, dtype):
        dims = [d for d in range(len(x.dims)) if self.rng.random() < 0.4]
        op, init = self.rng.choice((("add", 0), ("maximum", 0), ("add", 1)))
        out = [n for d, n in enumerate(x.dims) if d not in dims]
        if product([x.dims[d] for d in dims]) > 24:  # 8 bits hold the sum
            return x
        y = self.emit(dtype, out, f"reduce({x.name}, {self.scalar(init, dtype).name}), dimensions={braces(dims)}, "
                      f"to_apply={self.reducer(op, dtype)}", keep=False)
        return self.emit(dtype, out, f"minimum({y.name}, {self.filled(4, out, dtype).name})", keep=False)

    def typed_reverse(self, x, dtype):
        dims = [d for d in range(len(x.dims)) if self.rng.random() < 0.6]
        return self.emit(dtype, x.dims, f"reverse({x.name}), dimensions={braces(dims)}", keep=False)

    def typed_dot(self, x, dtype):
        if not x.dims or x.dims[-1] > 4 or max(x.dims) > 64:
            return x
        w = self.convert(self.emit("f32", (x.dims[-1], 3), f"abs({self.given((x.dims[-1], 3), wild=False).name})",
                                   keep=False),
                         dtype)
        out = (*x.dims[:-1], 3)
        y = self.emit(dtype, out, f"dot({x.name}, {w.name}), lhs_contracting_dims={{{len(x.dims) - 1}}}, "
                      "rhs_contracting_dims={0}", keep=False)
        return self.emit(dtype, out, f"minimum({y.name}, {self.filled(4, out, dtype).name})", keep=False)

    def typed_shift(self, x, dtype):
        """Rolls a dimension."""
        if not x.dims:
            return x
        d = self.rng.randrange(len(x.dims))
        k = self.rng.randrange(x.dims[d])
        if not k:
            return x
        parts = []
        for low, high in ((k, x.dims[d]), (0, k)):
            dims = [high - low if i == d else n for i, n in enumerate(x.dims)]
            ranges = ",".join(f"[{low}:{high}]" if i == d else f"[0:{n}]" for i, n in enumerate(x.dims))
            parts.append(self.emit(dtype, dims, f"slice({x.name}), slice={{{ranges}}}", keep=False).name)
        return self.emit(dtype, x.dims, f"concatenate({', '.join(parts)}), dimensions={{{d}}}", keep=False)

    def op_bits(self):
        x = self.some()
        bytes_ = self.emit("u8", (*x.dims, 4), f"bitcast-convert({x.name})", keep=False)
        self.emit("f32", x.dims, f"bitcast-convert({bytes_.name})")

    def op_predicates(self):
        x = self.given()
        p = self.emit("pred", x.dims, f"compare({x.name}, {self.filled(0, x.dims).name}), direction=GT", keep=False)
        d = self.rng.randrange(len(x.dims))
        out = [n for k, n in enumerate(x.dims) if k != d]
        op, init = self.rng.choice((("and", "true"), ("or", "false"), ("or", "true")))
        q = self.emit("pred", out, f"reduce({p.name}, {self.scalar(init, 'pred').name}), dimensions={{{d}}}, "
                      f"to_apply={self.reducer(op, 'pred')}", keep=False)
        self.convert_keep(q)

    def convert_keep(self, x):
        self.emit("f32", x.dims, f"convert({x.name})")

    # --- order ---

    def op_sort_three(self):
        rng = self.rng
        x = self.given(wild=rng.random() < 0.3)
        y, d = self.convert(self.given(x.dims, wild=False), "s32"), rng.randrange(len(x.dims))
        z = self.convert(self.given(x.dims, wild=False), "bf16")
        first, second = rng.choice((("GT", "LT"), ("LT", "GT")))
        order = self.helper(("three", first),
                            "{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n"
                            "  j = s32[] parameter(3)\n  p = bf16[] parameter(4)\n  q = bf16[] parameter(5)\n"
                            f"  one = pred[] compare(a, b), direction={first}, type=TOTALORDER\n"
                            "  same = pred[] compare(a, b), direction=EQ, type=TOTALORDER\n"
                            f"  two = pred[] compare(i, j), direction={second}\n"
                            "  both = pred[] and(same, two)\n  ROOT r = pred[] or(one, both)\n}")
        name = self.tuple_of((x.text(), y.text(), z.text()), f"sort({x.name}, {y.name}, {z.name}), dimensions={{{d}}}, "
                             f"is_stable=true, to_apply={order}")
        self.element(name, 0, "f32", x.dims, keep=True)
        self.convert_keep(self.element(name, 1, "s32", x.dims))
        self.convert_keep(self.element(name, 2, "bf16", x.dims))

    # --- indices ---

    def op_batched_scatter(self):
        rng = self.rng
        b, n, k = (rng.choice((2, 3, 4, 8)) for _ in range(3))
        x, u = self.given((b, n, 4)), self.given((b, k, 4), wild=False)
        i = self.indices((b, k, 1), n)
        op = rng.choice(("add", "maximum"))
        y = self.emit("f32", x.dims, f"scatter({x.name}, {i.name}, {u.name}), update_window_dims={{2}}, "
                      "inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, input_batching_dims={0}, "
                      f"scatter_indices_batching_dims={{0}}, index_vector_dim=2, to_apply={self.reducer(op)}",
                      keep=False)
        self.small(y)

    def op_batched_gather(self):
        """The batch may be any dimension of both."""
        rng = self.rng
        b, n, k = (rng.choice((2, 3, 4, 8)) for _ in range(3))
        at = rng.choice((0, 1))  # of the batch in the indices
        x = self.given((b, n, 4) if rng.random() < 0.5 else (n, b, 4))
        own = 0 if x.dims[:2] == (b, n) and (b != n or rng.random() < 0.5) else 1
        if x.dims[own] != b:
            own = 1 - own
        i = self.indices((b, k, 1) if at == 0 else (k, b, 1), n)
        out = (*i.dims[:2], 4)
        self.emit("f32", out, f"gather({x.name}, {i.name}), offset_dims={{2}}, collapsed_slice_dims={{{1 - own}}}, "
                  f"start_index_map={{{1 - own}}}, operand_batching_dims={{{own}}}, start_indices_batching_dims={{{at}}}, "
                  "index_vector_dim=2, slice_sizes={1,1,4}")

    # --- random bits ---

    def op_random(self):
        rng, dims, dtype = self.rng, self.dims(), self.rng.choice(("u8", "u16", "u32", "u32", "u64"))
        algorithm = rng.choice(("rng_three_fry", "rng_philox", "rng_default"))
        words = 3 if algorithm == "rng_philox" and rng.random() < 0.4 else 2
        numbers, state = [rng.choice((0, 7, 2 ** 64 - 2, rng.randrange(2 ** 63))) for _ in range(words)], "u64"
        s = self.emit(state, (words,), f"constant({{{', '.join(map(str, numbers))}}})", keep=False)
        name = self.tuple_of((s.text(), shape_text(dtype, dims)), f"rng-bit-generator({s.name}), algorithm={algorithm}")
        bits = self.element(name, 1, dtype, dims)
        low = self.emit(dtype, dims, f"and({bits.name}, {self.filled(63, dims, dtype).name})", keep=False)
        self.convert_keep(low)
        again = self.tuple_of((s.text(), shape_text("u32", (8,))),
                              f"rng-bit-generator({self.element(name, 0, state, (words,)).name}), algorithm={algorithm}")
        few = self.element(again, 1, "u32", (8,))
        self.convert_keep(self.emit("u32", (8,), f"and({few.name}, {self.filled(63, (8,), 'u32').name})", keep=False))

    # --- control flow ---

    def op_while_two(self):
        """Two values that change places, one of them constrained inside."""
        x = self.given(wild=False)
        y = self.given(x.dims, wild=False)
        shape, note = x.text(), self.sharding(x.dims)
        self.count += 1
        k = self.count
        state = f"(s32[], {shape}, {shape})"
        mark = f'custom-call(x), custom_call_target="Sharding"{note}' if note else "copy(x)"
        body = self.helper(("swap", k), "{\n  p = " + state +
                           " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
                           f"  x = {shape} get-tuple-element(p), index=1\n  y = {shape} get-tuple-element(p), index=2\n"
                           f"  one = s32[] constant(1)\n  j = s32[] add(i, one)\n  m = {shape} {mark}\n"
                           f"  r = {shape} reverse(m), dimensions={{0}}\n  s = {shape} maximum(x, y)\n"
                           f"  ROOT t = {state} tuple(j, s, r)\n}}")
        cond = self.helper(("until", k), "{\n  p = " + state +
                           " parameter(0)\n  i = s32[] get-tuple-element(p), index=0\n"
                           f"  x = {shape} get-tuple-element(p), index=1\n  low = f32[] constant(-9)\n"
                           f"  top = f32[] reduce(x, low), dimensions={braces(range(len(x.dims)))}, "
                           f"to_apply={self.reducer('maximum')}\n  ten = f32[] constant(10)\n"
                           "  calm = pred[] compare(top, ten), direction=LT\n  n = s32[] constant(3)\n"
                           "  few = pred[] compare(i, n), direction=LT\n  ROOT r = pred[] and(calm, few)\n}")
        self.lines.append(f"  init{k} = {state} tuple({self.scalar(0, 's32').name}, {x.name}, {y.name})")
        self.lines.append(f"  loop{k} = {state} while(init{k}), condition={cond}, body={body}")
        self.emit("f32", x.dims, f"get-tuple-element(loop{k}), index=1")
        self.emit("f32", x.dims, f"get-tuple-element(loop{k}), index=2")

    def op_barrier(self):
        x, y = self.some(), self.some()
        name = self.tuple_of((x.text(), y.text()), f"opt-barrier({self.pair(x, y)})")
        self.element(name, 0, "f32", x.dims, keep=True)
        self.element(name, 1, "f32", y.dims, keep=True)

    def pair(self, x, y):
        return self.tuple_of((x.text(), y.text()), f"tuple({x.name}, {y.name})")

    def op_constraints(self):
        """A chain of constraints, and a user of its first value after it."""
        x = self.some()
        notes = [self.sharding(x.dims) or ", sharding={replicated}" for _ in range(2)]
        y = x
        for note in notes:
            y = self.emit("f32", x.dims, f'custom-call({y.name}), custom_call_target="Sharding"', keep=False, note=note)
        self.emit("f32", x.dims, f"maximum({x.name}, {y.name})")
