"""Programs of plain operations, on small arrays of all types."""
from computation import (BITS, COMPLEX, FEW_BITS, FLOATS, INTS, NARROW, Computation, braces, product, shape_text)


class PlainComputation(Computation):
    often = ["op_unary", "op_binary", "op_binary", "op_compare", "op_select", "op_broadcast", "op_reshape"]

    def op_unary(self):
        x = self.pick()
        if x.dtype == "pred":
            op = "not"
        elif x.dtype in COMPLEX:
            op = self.rng.choice(["negate", "copy", "real", "imag"])
            if op in ("real", "imag"):
                self.emit("f32" if x.dtype == "c64" else "f64", x.dims, f"{op}({x.name})")
                return
        elif x.dtype in FLOATS + NARROW:
            functions = ["exponential", "tanh", "logistic", "cosine"]  # these may differ by two ulp
            ops = ["negate", "abs", "negate", "sqrt"] + ([] if self.program.exact else functions) + ["copy"]
            ops += ["floor", "ceil", "sign", "round-nearest-even"] if self.program.exact else []
            op = self.rng.choice(ops)
        else:
            op = self.rng.choice(["negate", "abs", "not", "popcnt", "count-leading-zeros", "sign", "copy"])
            if op in ("negate", "abs", "sign") and x.dtype.startswith("u"):
                op = "not"
        self.emit(x.dtype, x.dims, f"{op}({x.name})")

    def op_binary(self):
        x = self.pick()
        if x.dtype == "pred":
            ops = ["and", "or", "xor"]
        elif x.dtype in COMPLEX:
            ops = ["add", "subtract", "multiply", "multiply", "maximum", "minimum"]
        elif x.dtype in FLOATS + NARROW:
            ops = ["add", "add", "subtract", "multiply", "multiply", "divide", "maximum", "minimum"]
            ops += ["remainder"] if self.program.exact else ["power"]
        else:
            ops = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor",
                   "shift-left", "shift-right-logical", "shift-right-arithmetic", "power"]
        op, y = self.rng.choice(ops), self.pick_like(x)
        if self.program.has_types and x.dtype in ("f32", "f64") and self.rng.random() < 0.3:
            self.emit("c64" if x.dtype == "f32" else "c128", x.dims, f"complex({x.name}, {y.name})")
            return
        if op == "power" and x.dtype in FLOATS:
            y = self.emit(x.dtype, (), f"constant({self.rng.choice(['0', '1', '2', '3', '0.5', '-1'])})")
            if x.dims:
                y = self.emit(x.dtype, x.dims, f"broadcast({y.name}), dimensions={{}}")
            x = self.emit(x.dtype, x.dims, f"abs({x.name})")
        names = [x.name, y.name]
        if self.rng.random() < 0.3 and op != "power":
            names.reverse()
        self.emit(x.dtype, x.dims, f"{op}({', '.join(names)})")

    def op_compare(self):
        wanted = (lambda v: True) if self.program.exact else (lambda v: v.dtype not in FLOATS)
        x = self.pick(wanted)
        if x is None:
            return
        y, way = self.pick_like(x), self.rng.choice(["EQ", "NE", "LT", "LE", "GT",
                                                     "GE"][:2 if x.dtype in COMPLEX else 6])
        self.emit("pred", x.dims, f"compare({x.name}, {y.name}), direction={way}")

    def op_select(self):
        pred = self.pick(lambda v: v.dtype == "pred")
        if pred is None:
            return
        x = self.pick(lambda v: v.dims == pred.dims or not pred.dims)
        y = self.pick_like(x)
        self.emit(x.dtype, x.dims, f"select({pred.name}, {x.name}, {y.name})")

    def op_clamp(self):
        x = self.pick(lambda v: v.dtype != "pred")
        if x is None:
            return
        low, high = self.constant(x.dtype), self.constant(x.dtype)
        self.emit(x.dtype, x.dims, f"clamp({low.name}, {x.name}, {high.name})")

    def op_convert(self):
        x = self.pick()
        more = NARROW + FEW_BITS + COMPLEX if self.program.has_types else []
        to = self.rng.choice(FLOATS + (INTS + ["pred"] if self.program.exact or x.dtype not in FLOATS else []) + more)
        self.emit(to, x.dims, f"convert({x.name})")
        if self.program.exact and self.rng.random() < 0.3:
            same = [t for t in BITS if BITS[t] == BITS[x.dtype] and t not in ["pred"] + COMPLEX]
            if not self.program.has_types:
                same = [t for t in same if t in FLOATS + INTS]
            if x.dtype not in ["pred"] + COMPLEX:
                self.emit(self.rng.choice(same), x.dims, f"bitcast-convert({x.name})")
                self.values[-1].dtype = self.lines[-1].split(" = ")[1].split("[")[0]

    def op_broadcast(self):
        x = self.pick(lambda v: len(v.dims) <= 3)
        if x is None:
            return
        dims, where = list(x.dims), list(range(len(x.dims)))
        for _ in range(self.rng.choice([1, 1, 2])):
            at, size = self.rng.randint(0, len(dims)), self.rng.choice(self.program.sizes)
            if product(dims) * size <= self.program.most:
                dims.insert(at, size)
                where = [w + (w >= at) for w in where]
        self.emit(x.dtype, dims, f"broadcast({x.name}), dimensions={braces(where)}")

    def op_reshape(self):
        x = self.pick()
        dims = list(x.dims)
        if self.rng.random() < 0.6:
            dims = [d for d in dims if d != 1 or self.rng.random() < 0.5]
            for _ in range(self.rng.choice([0, 1, 2])):
                dims.insert(self.rng.randint(0, len(dims)), 1)
        else:
            flat = product(dims)
            dims = next(([a, flat // a] for a in self.rng.sample([1, 2, 3, 4, 5, 8], 6) if flat % a == 0), [flat])
        self.emit(x.dtype, dims, f"reshape({x.name})")

    def op_transpose(self):
        x = self.pick(lambda v: len(v.dims) > 1)
        if x is None:
            return
        order = self.rng.sample(range(len(x.dims)), len(x.dims))
        self.emit(x.dtype, [x.dims[d] for d in order], f"transpose({x.name}), dimensions={braces(order)}")

    def op_reverse(self):
        x = self.pick(lambda v: v.dims)
        if x is None:
            return
        dims = [d for d in range(len(x.dims)) if self.rng.random() < 0.6]
        self.emit(x.dtype, x.dims, f"reverse({x.name}), dimensions={braces(dims)}")

    def op_slice(self):
        x = self.pick(lambda v: v.dims)
        if x is None:
            return
        parts, dims = [], []
        for size in x.dims:
            start = self.rng.randint(0, size - 1) if self.rng.random() < 0.5 else 0
            limit = self.rng.randint(start + 1, size) if self.rng.random() < 0.5 else size
            stride = self.rng.choice([1, 1, 1, 2])
            parts.append(f"[{start}:{limit}:{stride}]")
            dims.append((limit - start + stride - 1) // stride)
        self.emit(x.dtype, dims, f"slice({x.name}), slice={{{', '.join(parts)}}}")

    def op_concatenate(self):
        x = self.pick(lambda v: v.dims)
        if x is None:
            return
        along = self.rng.randrange(len(x.dims))
        fits = [v for v in self.values if v.dtype == x.dtype and len(v.dims) == len(x.dims) and
                all(a == b for d, (a, b) in enumerate(zip(v.dims, x.dims)) if d != along)]
        parts = [x] + [self.rng.choice(fits) for _ in range(self.rng.choice([0, 1, 1, 2]))]
        total = sum(p.dims[along] for p in parts)
        if total > self.program.longest:
            return
        dims = [total if d == along else s for d, s in enumerate(x.dims)]
        self.emit(x.dtype, dims, f"concatenate({', '.join(p.name for p in parts)}), dimensions={{{along}}}")

    def op_roll(self):
        x = self.pick(lambda v: v.dims and v.dims[0] > 1)
        if x is None:
            return
        cut, rest = self.rng.randint(1, x.dims[0] - 1), [f"[0:{d}]" for d in x.dims[1:]]
        first = self.emit(x.dtype, (cut,) + x.dims[1:],
                          f"slice({x.name}), slice={{{', '.join([f'[0:{cut}]'] + rest)}}}")
        last = self.emit(x.dtype, (x.dims[0] - cut,) + x.dims[1:],
                         f"slice({x.name}), slice={{{', '.join([f'[{cut}:{x.dims[0]}]'] + rest)}}}")
        names = [first.name, last.name]
        if self.rng.random() < 0.5:
            names.reverse()
        self.emit(x.dtype, x.dims, f"concatenate({', '.join(names)}), dimensions={{0}}")

    def op_pad(self):
        x = self.pick(lambda v: v.dims)
        if x is None:
            return
        value, edges, dims = self.constant(x.dtype), [], []
        for size in x.dims:
            low, high, interior = self.rng.choice([0, 0, 1, -1]), self.rng.choice([0, 0, 1, -1]), self.rng.choice([0, 0,
                1])
            new = size + (size - 1) * interior + low + high
            if new < 1 or new > self.program.longest // 2:
                low, high, interior, new = 0, 0, 0, size
            edges.append(f"{low}_{high}_{interior}")
            dims.append(new)
        if product(dims) <= 2 * self.program.most:
            self.emit(x.dtype, dims, f"pad({x.name}, {value.name}), padding={'x'.join(edges)}")

    def op_iota(self):
        dims = self.random_dims()
        if dims:
            dtype = self.rng.choice(["s32", "u32", "f32", "s64", "u8"])
            self.emit(dtype, dims, f"iota(), iota_dimension={self.rng.randrange(len(dims))}")

    def index(self):
        i = self.pick(lambda v: v.dtype == "s32" and not v.dims)
        return i if i is not None and self.rng.random() < 0.7 else self.constant("s32")

    def op_dynamic_slice(self):
        x = self.pick(lambda v: v.dims)
        if x is None:
            return
        sizes = [self.rng.choice([1, d, max(1, d - 1)]) for d in x.dims]
        starts = [self.index().name for _ in sizes]
        part = self.emit(x.dtype, sizes, f"dynamic-slice({', '.join([x.name] + starts)}), "
                         f"dynamic_slice_sizes={braces(sizes)}")
        if self.rng.random() < 0.5:
            starts = [self.index().name for _ in sizes]
            self.emit(x.dtype, x.dims, f"dynamic-update-slice({', '.join([x.name, part.name] + starts)})")

    def op_reduce(self):
        inexact = FLOATS + NARROW + COMPLEX
        x = self.pick(lambda v: v.dims and (v.dtype not in inexact or not self.program.exact or v.dtype == "f32"))
        if x is None:
            return
        ops = {"pred": ["and", "or"]}.get(x.dtype, ["add", "maximum", "minimum", "multiply"])
        if x.dtype in FLOATS:
            ops = ["maximum", "minimum"] if self.program.exact else ["add", "maximum"]
        op = self.rng.choice(ops)
        body, init = self.program.scalar_body(op, x.dtype), self.constant(x.dtype)
        if self.rng.random() < 0.7:
            neutral = {"add": "0", "multiply": "1", "and": "true", "or": "false"}.get(op)
            if op in ("maximum", "minimum") and x.dtype in FLOATS:
                neutral = "-inf" if op == "maximum" else "inf"
            if neutral:
                init = self.emit(x.dtype, (), f"constant({neutral})")
        over = [d for d in range(len(x.dims)) if self.rng.random() < 0.5]
        dims = [s for d, s in enumerate(x.dims) if d not in over]
        self.emit(x.dtype, dims, f"reduce({x.name}, {init.name}), dimensions={braces(over)}, to_apply={body}")

    def op_dot(self):
        wanted = (lambda v: v.dtype in ("s32", "u8")) if self.program.exact else (lambda v: v.dtype in ("f32", "f64",
            "bf16"))
        x = self.pick(lambda v: v.dims and wanted(v))
        if x is None:
            return
        contract = self.rng.randrange(len(x.dims))
        batch = [d for d in range(len(x.dims)) if d != contract and self.rng.random() < 0.3]
        free = [self.rng.choice([1, 2, 3]) for _ in range(self.rng.choice([0, 1, 1]))]
        rhs_dims = [x.dims[d] for d in batch] + [x.dims[contract]] + free
        order = self.rng.sample(range(len(rhs_dims)), len(rhs_dims))
        y = self.fill(x.dtype, [rhs_dims[d] for d in order])
        where = {old: new for new, old in enumerate(order)}
        left_free = [x.dims[d] for d in range(len(x.dims)) if d != contract and d not in batch]
        right_free = [y.dims[d] for d in range(len(y.dims)) if order[d] > len(batch)]
        dims = [x.dims[d] for d in batch] + left_free + right_free
        text = f"lhs_contracting_dims={{{contract}}}, rhs_contracting_dims={{{where[len(batch)]}}}"
        if batch:
            text += f", lhs_batch_dims={braces(batch)}, rhs_batch_dims={braces([where[i] for i in range(len(batch))])}"
        self.emit(x.dtype, dims, f"dot({x.name}, {y.name}), {text}")

    def op_convolution(self):
        if self.program.exact:
            return
        rng, batch, size, features, out = self.rng, 2, self.rng.choice([2, 3, 4]), 3, 2
        layout = rng.choice(["b01f_01io->b01f", "bf01_oi01->bf01", "b01f_01oi->bf01"])
        window = rng.choice([1, 1, 2, 3, size])
        pads = [rng.choice([0, 0, 1]) if window > 1 else 0 for _ in range(2)]
        stride = rng.choice([1, 1, 2])
        result = (size + pads[0] + pads[1] - window) // stride + 1
        if result < 1:
            return
        sizes = {"b": batch, "f": features, "0": size, "1": size}
        kernel = {"i": features, "o": out, "0": window, "1": window}
        done = {"b": batch, "f": out, "0": result, "1": result}
        left, rest = layout.split("_")
        right, to = rest.split("->")
        x = self.values_of("f32", [sizes[c] for c in left])
        y = self.values_of("f32", [kernel[c] for c in right])
        if rng.random() < 0.4:
            y = self.emit("f32", y.dims,
                          f"reverse({y.name}), dimensions={braces([right.index('0'), right.index('1')])}")
        spec = f"window={{size={window}x{window} stride={stride}x{stride} pad={pads[0]}_{pads[1]}x{pads[0]}_{pads[1]}}}"
        self.emit("f32", [done[c] for c in to], f"convolution({x.name}, {y.name}), {spec}, dim_labels={layout}")

    def values_of(self, dtype, dims):
        """Different elements, so that mixed-up dimensions show."""
        flat = self.emit(dtype, (product(dims),), "iota(), iota_dimension=0")
        wave = self.emit(dtype, flat.dims, f"cosine({flat.name})")
        return self.emit(dtype, dims, f"reshape({wave.name})")

    def op_sort(self):
        x = self.pick(lambda v: v.dims and v.dtype in ("s32", "u8", "f32") and self.program.exact)
        if x is None:
            return
        body = self.program.scalar_body("less", x.dtype)
        along = self.rng.randrange(len(x.dims))
        self.emit(x.dtype, x.dims, f"sort({x.name}), dimensions={{{along}}}, is_stable=true, to_apply={body}")

    def op_gather(self):
        x = self.pick(lambda v: len(v.dims) == 2)
        if x is None:
            return
        count = self.rng.choice([1, 2, 3])
        index = self.constant("s32", (count,))
        self.emit(x.dtype, (count, x.dims[1]),
                  f"gather({x.name}, {index.name}), offset_dims={{1}}, collapsed_slice_dims={{0}}, "
                  f"start_index_map={{0}}, index_vector_dim=1, slice_sizes={{1,{x.dims[1]}}}")

    def op_row(self):
        x = self.pick(lambda v: len(v.dims) == 2)
        if x is None:
            return
        index = self.emit("s32", (1,), f"reshape({self.index().name})")
        self.emit(x.dtype, (x.dims[1],),
                  f"gather({x.name}, {index.name}), offset_dims={{0}}, collapsed_slice_dims={{0}}, "
                  f"start_index_map={{0}}, index_vector_dim=0, slice_sizes={{1,{x.dims[1]}}}")

    def op_scatter(self):
        x = self.pick(lambda v: v.dims and v.dtype not in FLOATS + NARROW + COMPLEX + ["pred"])
        if x is None:
            return
        index, rest = self.constant("s32", (2, 1)), list(x.dims[1:])
        update = self.fill(x.dtype, [2] + rest)
        body = self.program.scalar_body("add", x.dtype)
        self.emit(x.dtype, x.dims,
                  f"scatter({x.name}, {index.name}, {update.name}), update_window_dims="
                  f"{braces(range(1, len(x.dims)))}, inserted_window_dims={{0}}, scatter_dims_to_operand_dims={{0}}, "
                  f"index_vector_dim=1, to_apply={body}")

    def op_map(self):
        x = self.pick(lambda v: v.dims and v.dtype != "pred")
        if x is None:
            return
        y, body = self.pick_like(x), self.program.scalar_body("subtract", x.dtype)
        self.emit(x.dtype, x.dims, f"map({x.name}, {y.name}), dimensions={braces(range(len(x.dims)))}, to_apply={body}")

    def op_barrier(self):
        x = self.pick()
        self.emit(x.dtype, x.dims, f"opt-barrier({x.name})")

    def op_tuple(self):
        parts = [self.pick() for _ in range(self.rng.choice([1, 2, 3]))]
        shape = "(" + ", ".join(p.text() for p in parts) + ")"
        name = self.emit_raw(shape, f"tuple({', '.join(p.name for p in parts)})")
        k = self.rng.randrange(len(parts))
        self.emit(parts[k].dtype, parts[k].dims, f"get-tuple-element({name}), index={k}")

    # --- control ---

    def op_call(self):
        if self.program.depth > 2:
            return
        args = [self.pick() for _ in range(self.rng.choice([1, 2, 3]))]
        body = self.open("called")
        for k, arg in enumerate(args):
            body.emit(arg.dtype, arg.dims, f"parameter({k})")
        body.fill_with_ops(6)
        root = body.pick()
        body.close(root.name)
        self.program.depth -= 1
        self.emit(root.dtype, root.dims, f"call({', '.join(a.name for a in args)}), to_apply={body.name}")

    def op_conditional(self):
        if self.program.depth > 2:
            return
        args, names = [self.pick(), self.pick()], []
        result = self.pick()
        for arg in args:
            body = self.open("branch")
            param = body.emit(arg.dtype, arg.dims, "parameter(0)")
            body.fill_with_ops(5)
            root = body.pick(lambda v: v.dtype == result.dtype and v.dims == result.dims)
            if root is None:
                root = body.fill(result.dtype, result.dims)
            if root is param:
                root = body.emit(root.dtype, root.dims, f"copy({root.name})")
            body.close(root.name)
            self.program.depth -= 1
            names.append(body.name)
        pred = self.pick(lambda v: v.dtype == "pred" and not v.dims)
        if pred is None or self.rng.random() < 0.3:
            pred = self.constant("pred")
        self.emit(result.dtype, result.dims, f"conditional({pred.name}, {args[0].name}, {args[1].name}), "
                  f"true_computation={names[0]}, false_computation={names[1]}")

    def op_while(self):
        if self.program.depth > 1:
            return
        rng, trips = self.rng, self.rng.choice([0, 1, 2, 3, 5, 9])
        parts = [self.pick() for _ in range(rng.choice([1, 2, 3, 4]))]
        counters = rng.choice([1, 1, 2])
        start, step = rng.choice([0, 0, 3]), rng.choice([1, 1, 2])
        state = [("s32", ())] * counters + [(p.dtype, p.dims) for p in parts]
        shape = "(" + ", ".join(shape_text(*s) for s in state) + ")"
        body = self.open("body")
        param = body.emit_raw(shape, "parameter(0)")
        reads = [body.emit(d, s, f"get-tuple-element({param}), index={k}") for k, (d, s) in enumerate(state)]
        one = body.emit("s32", (), f"constant({step})", keep=False)
        nexts = [body.emit("s32", (), f"add({r.name}, {one.name})", keep=False) for r in reads[:counters]]
        body.fill_with_ops(rng.choice([3, 8, 16]))
        for k, read in enumerate(reads[counters:]):
            if rng.random() < 0.3:
                nexts.append(read)
                continue
            found = body.pick(lambda v: v.dtype == read.dtype and v.dims == read.dims)
            nexts.append(found)
        body.close(body.emit_raw(shape, f"tuple({', '.join(n.name for n in nexts)})"))
        self.program.depth -= 1
        test = self.open("condition")
        param = test.emit_raw(shape, "parameter(0)")
        count = test.emit("s32", (), f"get-tuple-element({param}), index=0")
        limit = test.emit("s32", (), f"constant({start + trips * step})")
        if rng.random() < 0.8:
            root = test.emit("pred", (), f"compare({count.name}, {limit.name}), direction=LT")
        else:
            root = test.emit("pred", (), f"compare({limit.name}, {count.name}), direction=GT")
        test.close(root.name)
        self.program.depth -= 1
        first = self.emit("s32", (), f"constant({start})", keep=False)
        init = self.emit_raw(shape, f"tuple({', '.join([first.name] * counters + [p.name for p in parts])})")
        loop = self.emit_raw(shape, f"while({init}), condition={test.name}, body={body.name}")
        for k, (dtype, dims) in enumerate(state):
            if rng.random() < 0.6:
                self.emit(dtype, dims, f"get-tuple-element({loop}), index={k}")
