"""Random global programs with shardings: operations that need more of a partitioner than to run on local shapes,
between arrays that are cut at random, and cut anew on the way. Numbers are small integers, with some infinities and
NaN, so that all orders of summation give the same bits."""
import random

from computation import Value, braces, product, shape_text

MESHES = ((2,), (4,), (2, 2), (3,), (2, 3), (4, 2), (2, 2, 2), (8,), (6,), (2, 4))
REDUCERS = {"add": 0, "maximum": "-inf", "minimum": "inf"}


class ShardedProgram:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.mesh = self.rng.choice(MESHES)
        self.lines, self.helpers, self.values, self.count = [], {}, [], 0

    # --- writing ---

    def emit(self, dtype, dims, text, keep=True, note=""):
        self.count += 1
        value = Value(f"v{self.count}", dtype, dims)
        self.lines.append(f"  {value.name} = {value.text()} {text}{note}")
        if keep and product(dims) <= 4096:
            self.values.append(value)
        return value

    def sharding(self, dims):
        """Of an array; empty: nothing said."""
        rng, axes = self.rng, list(range(len(self.mesh)))
        rng.shuffle(axes)
        tiles, order = [], []
        for size in dims:
            count = 0
            if axes and size > 1 and rng.random() < 0.6:
                count = 1 if rng.random() < 0.8 else min(2, len(axes))
            taken, axes = axes[:count], axes[count:]
            tiles.append(product([self.mesh[a] for a in taken]))
            order += taken
        if not order:
            return ", sharding={replicated}" if rng.random() < 0.5 else ""
        rest = product([self.mesh[a] for a in axes])
        last = " last_tile_dim_replicate" if axes else ""
        grid = tiles + ([rest] if axes else [])
        order += axes
        turned = f"T({','.join(map(str, order))})" if len(order) > 1 else ""
        return f", sharding={{devices=[{','.join(map(str, grid))}]<=[{','.join(map(str, self.mesh))}]{turned}{last}}}"

    def helper(self, key, text):
        if key not in self.helpers:
            self.helpers[key] = (f"h{len(self.helpers)}", text)
        return self.helpers[key][0]

    def reducer(self, op, dtype="f32"):
        return self.helper((op, dtype), f"""{{
  a = {dtype}[] parameter(0)
  b = {dtype}[] parameter(1)
  ROOT r = {dtype}[] {op}(a, b)
}}""")

    def scalar(self, number, dtype="f32"):
        return self.emit(dtype, (), f"constant({number})", keep=False)

    def dims(self, rank=None):
        rank = rank or self.rng.randint(1, 3)
        return tuple(self.rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 12, 16)) for _ in range(rank))

    def parameter(self, dims, dtype="f32"):
        k = sum("parameter(" in line for line in self.lines)
        return self.emit(dtype, dims, f"parameter({k})", keep=False, note=self.sharding(dims))

    def given(self, dims=None, wild=None):
        """A parameter of small integers, perhaps with infinities and NaN."""
        dims = self.dims() if dims is None else dims
        raw = self.parameter(dims)
        four = self.emit("f32", dims, f"broadcast({self.scalar(3).name}), dimensions={{}}", keep=False)
        scaled = self.emit("f32", dims, f"multiply({raw.name}, {four.name})", keep=False)
        low = self.emit("f32", dims, f"broadcast({self.scalar(-4).name}), dimensions={{}}", keep=False)
        high = self.emit("f32", dims, f"broadcast({self.scalar(4).name}), dimensions={{}}", keep=False)
        bounded = self.emit("f32", dims, f"clamp({low.name}, {scaled.name}, {high.name})", keep=False)
        value = self.emit("f32", dims, f"floor({bounded.name})")
        if wild if wild is not None else self.rng.random() < 0.15:
            odd = self.emit("f32", dims, f"broadcast({self.scalar(self.rng.choice(('inf', 'nan', '-inf'))).name}), "
                            "dimensions={}", keep=False)
            is_odd = self.emit("pred", dims, f"compare({raw.name}, {low.name}), direction=LT", keep=False)
            value = self.emit("f32", dims, f"select({is_odd.name}, {odd.name}, {value.name})")
        return value

    def indices(self, dims, below):
        """Integers, some out of range."""
        x = self.given(dims, wild=False)
        s = self.emit("s32", dims, f"convert({x.name})", keep=False)
        few = self.emit("s32", dims, f"broadcast({self.scalar(max(1, below // 4), 's32').name}), dimensions={{}}",
                        keep=False)
        y = self.emit("s32", dims, f"multiply({s.name}, {few.name})", keep=False)
        if self.rng.random() < 0.7:
            y = self.emit("s32", dims, f"abs({y.name})", keep=False)
        return y

    def some(self, rank=None):
        fit = [v for v in self.values if v.dtype == "f32" and v.dims and (rank is None or len(v.dims) == rank)]
        if fit and self.rng.random() < 0.8:
            return self.rng.choice(fit)
        return self.given(self.dims(rank))

    # --- operations ---

    def small(self, x):
        """Bounded again, so that products stay exact."""
        low = self.emit("f32", x.dims, f"broadcast({self.scalar(-8).name}), dimensions={{}}", keep=False)
        high = self.emit("f32", x.dims, f"broadcast({self.scalar(8).name}), dimensions={{}}", keep=False)
        return self.emit("f32", x.dims, f"clamp({low.name}, {x.name}, {high.name})")

    def op_constraint(self):
        x = self.some()
        note = self.sharding(x.dims)
        if note:
            self.emit("f32", x.dims, f'custom-call({x.name}), custom_call_target="Sharding"', note=note)

    def op_pointwise(self):
        x = self.some()
        if self.rng.random() < 0.5:
            self.emit("f32", x.dims, f"{self.rng.choice(('negate', 'abs', 'sign', 'copy'))}({x.name})")
            return
        y = self.given(x.dims)
        self.small(self.emit("f32", x.dims, f"{self.rng.choice(('add', 'maximum', 'multiply'))}({x.name}, {y.name})"))

    def window(self, dims, allowed, dilate=True):
        rng, parts, out = self.rng, {"size": [], "stride": [], "pad": [], "lhs_dilate": [], "rhs_dilate": []}, []
        for d, size in enumerate(dims):
            for _ in range(40):
                full = not allowed[d]
                k = 1 if full else rng.randint(1, 4)
                s = 1 if full else rng.choice((1, 1, 1, 2, 3))
                b = rng.choice((1, 1, 1, 2)) if dilate and not full else 1
                w = rng.choice((1, 1, 1, 2)) if not full else 1
                low, high = (0, 0) if full else (rng.randint(-1, 3), rng.randint(-1, 3))
                if rng.random() < 0.1 and not full:
                    k, s, b, w, low, high = size, 1, 1, 1, size - 1, 0
                padded = (size - 1) * b + 1 + low + high
                count = (padded - ((k - 1) * w + 1)) // s + 1
                if padded >= (k - 1) * w + 1 and count >= 1:
                    break
            else:
                k, s, b, w, low, high, count = 1, 1, 1, 1, 0, 0, size
            for name, text in zip(parts, (k, s, f"{low}_{high}", b, w)):
                parts[name].append(str(text))
            out.append(count)
        return "window={" + " ".join(f"{name}={'x'.join(texts)}" for name, texts in parts.items()) + "}", parts, out

    def op_reduce_window(self):
        x = self.some()
        op = self.rng.choice(list(REDUCERS))
        text, _, out = self.window(x.dims, [self.rng.random() < 0.6 for _ in x.dims])
        init = self.scalar(REDUCERS[op] if self.rng.random() < 0.8 else 1)
        y = self.emit("f32", out, f"reduce-window({x.name}, {init.name}), {text}, to_apply={self.reducer(op)}",
                      keep=False)
        self.small(y)

    def op_select_and_scatter(self):
        x = self.given(wild=False)
        allowed = [self.rng.random() < 0.7 for _ in x.dims]
        text, parts, out = self.window(x.dims, allowed, dilate=False)
        if any(int(p) != 1 for p in parts["rhs_dilate"]) or any("-" in p for p in parts["pad"]):
            return
        for d, pad in enumerate(parts["pad"]):
            if any(int(p) >= int(parts["size"][d]) for p in pad.split("_")):
                return
        text = "window={" + " ".join(f"{n}={'x'.join(parts[n])}" for n in ("size", "stride", "pad")) + "}"
        source = self.given(out, wild=False)
        ge = self.helper("ge", "{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
                         "  ROOT r = pred[] compare(a, b), direction=GE\n}")
        self.emit("f32", x.dims, f"select-and-scatter({x.name}, {source.name}, {self.scalar(0).name}), {text}, "
                  f"select={ge}, scatter={self.reducer('add')}")

    def op_convolution(self):
        rng = self.rng
        spatial = rng.randint(1, 2)
        groups, batch_groups = rng.choice(((1, 1), (1, 1), (2, 1), (1, 2), (4, 1)))
        batch = rng.choice((1, 2, 3, 4)) * batch_groups
        features = rng.choice((1, 2, 3)) * groups
        outputs = rng.choice((1, 2, 3)) * groups * batch_groups
        sizes = [rng.choice((3, 5, 8, 8, 9, 12)) for _ in range(spatial)]
        text, parts, out = self.window(sizes, [True] * spatial)
        if any(int(k) > 4 for k in parts["size"]):
            return
        if rng.random() < 0.2:
            reversal = "x".join(rng.choice("01") for _ in range(spatial))
            text = text[:-1] + f" rhs_reversal={reversal}}}"
        wild = rng.random() < 0.2
        x = self.given((batch, *sizes, features), wild=wild and rng.random() < 0.5)
        w = self.given((*map(int, parts["size"]), features // groups, outputs), wild=wild)
        s = "01"[:spatial]
        y = self.emit("f32", (batch // batch_groups, *out, outputs),
                      f"convolution({x.name}, {w.name}), {text}, dim_labels=b{s}f_{s}io->b{s}f, "
                      f"feature_group_count={groups}, batch_group_count={batch_groups}", keep=False)
        self.small(y)

    def op_pad(self):
        x = self.some()
        pads, out = [], []
        for size in x.dims:
            low, high, inner = self.rng.randint(-1, 3), self.rng.randint(-1, 3), self.rng.choice((0, 0, 0, 1, 2))
            count = size + (size - 1) * inner + low + high
            if count < 1 or self.rng.random() < 0.3:
                low = high = inner = 0
                count = size
            pads.append(f"{low}_{high}_{inner}")
            out.append(count)
        self.emit("f32", out,
                  f"pad({x.name}, {self.scalar(self.rng.choice((0, 1, 'nan'))).name}), padding={'x'.join(pads)}")

    def op_slice(self):
        x = self.some()
        ranges, out = [], []
        for size in x.dims:
            start = self.rng.randrange(size)
            limit = self.rng.randint(start + 1, size)
            if self.rng.random() < 0.4:
                start, limit = 0, size
            step = self.rng.choice((1, 1, 2, 3))
            ranges.append(f"[{start}:{limit}:{step}]")
            out.append((limit - start + step - 1) // step)
        self.emit("f32", out, f"slice({x.name}), slice={{{','.join(ranges)}}}")

    def op_reverse(self):
        x = self.some()
        dims = [d for d in range(len(x.dims)) if self.rng.random() < 0.6]
        self.emit("f32", x.dims, f"reverse({x.name}), dimensions={braces(dims)}")

    def op_concatenate(self):
        x = self.some()
        along = self.rng.randrange(len(x.dims))
        pieces = [x]
        for _ in range(self.rng.randint(1, 2)):
            dims = list(x.dims)
            if self.rng.random() < 0.7:
                dims[along] = self.rng.randint(1, 6)
                pieces.append(self.given(dims))
            else:
                pieces.append(x)
        self.rng.shuffle(pieces)
        out = list(x.dims)
        out[along] = sum(p.dims[along] for p in pieces)
        self.emit("f32", out, f"concatenate({', '.join(p.name for p in pieces)}), dimensions={{{along}}}")

    def op_reshape(self):
        x = self.some()
        count, out = product(x.dims), []
        while count > 1 and len(out) < 3:
            divisors = [n for n in range(2, count + 1) if count % n == 0]
            out.append(self.rng.choice(divisors))
            count //= out[-1]
        out.append(count)
        self.rng.shuffle(out)
        self.emit("f32", out, f"reshape({x.name})")

    def op_transpose(self):
        x = self.some()
        order = list(range(len(x.dims)))
        self.rng.shuffle(order)
        self.emit("f32", [x.dims[d] for d in order], f"transpose({x.name}), dimensions={braces(order)}")

    def op_broadcast(self):
        x = self.some(self.rng.randint(1, 2))
        out, places = list(x.dims), list(range(len(x.dims)))
        at = self.rng.randint(0, len(out))
        out.insert(at, self.rng.choice((2, 3, 4, 8)))
        self.emit("f32", out, f"broadcast({x.name}), dimensions={braces([d + (d >= at) for d in places])}")

    def op_reduce(self):
        x = self.some()
        dims = [d for d in range(len(x.dims)) if self.rng.random() < 0.5]
        op = self.rng.choice(list(REDUCERS))
        out = [n for d, n in enumerate(x.dims) if d not in dims]
        init = self.scalar(REDUCERS[op] if self.rng.random() < 0.7 else 2)
        y = self.emit("f32", out,
                      f"reduce({x.name}, {init.name}), dimensions={braces(dims)}, to_apply={self.reducer(op)}",
                      keep=False)
        self.small(y)

    def op_argmax(self):
        x = self.some()
        d = self.rng.randrange(len(x.dims))
        out = [n for k, n in enumerate(x.dims) if k != d]
        places = self.emit("s32", x.dims, f"iota(), iota_dimension={d}", keep=False)
        best = self.helper("argmax", """{
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  gt = pred[] compare(a, b), direction=GT
  odd = pred[] compare(a, a), direction=NE
  first = pred[] or(gt, odd)
  eq = pred[] compare(a, b), direction=EQ
  lt = pred[] compare(i, j), direction=LT
  tie = pred[] and(eq, lt)
  pick = pred[] or(first, tie)
  v = f32[] select(first, a, b)
  k = s32[] select(pick, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}""")
        x = x if self.rng.random() < 0.5 else self.given(x.dims, wild=False)
        shape = f"({shape_text('f32', out)}, {shape_text('s32', out)})"
        init, none = self.scalar("-inf"), self.scalar(0, "s32")
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"  {name} = {shape} reduce({x.name}, {places.name}, {init.name}, {none.name}), "
                          f"dimensions={{{d}}}, to_apply={best}")
        i = self.emit("s32", out, f"get-tuple-element({name}), index=1", keep=False)
        self.emit("f32", out, f"convert({i.name})")

    def op_dot(self):
        rng = self.rng
        batch, m, n, k = [tuple(rng.choice((2, 3, 4, 5, 8)) for _ in range(c))
                          for c in (rng.randint(0, 1), rng.randint(0, 1), rng.randint(0, 1), rng.randint(1, 2))]
        wild = rng.random() < 0.15
        x, y = self.given(batch + m + k, wild=wild), self.given(batch + k + n, wild=False)
        b = list(range(len(batch)))
        left, right = [len(batch + m) + i for i in range(len(k))], [len(batch) + i for i in range(len(k))]
        groups = f"lhs_batch_dims={braces(b)}, rhs_batch_dims={braces(b)}, " if batch else ""
        z = self.emit("f32", batch + m + n, f"dot({x.name}, {y.name}), {groups}lhs_contracting_dims={braces(left)}, "
                      f"rhs_contracting_dims={braces(right)}", keep=False)
        self.small(z)

    def op_sort(self):
        x = self.some()
        d = self.rng.randrange(len(x.dims))
        places = self.emit("s32", x.dims, f"iota(), iota_dimension={d}", keep=False)
        less = self.helper("less", "{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n"
                           "  j = s32[] parameter(3)\n  ROOT r = pred[] compare(a, b), direction=LT, type=TOTALORDER\n}")
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"  {name} = ({x.text()}, {shape_text('s32', x.dims)}) sort({x.name}, {places.name}), "
                          f"dimensions={{{d}}}, is_stable=true, to_apply={less}")
        self.emit("f32", x.dims, f"get-tuple-element({name}), index=0")
        i = self.emit("s32", x.dims, f"get-tuple-element({name}), index=1", keep=False)
        self.emit("f32", x.dims, f"convert({i.name})")

    def op_top_k(self):
        x = self.some()
        k = self.rng.randint(1, x.dims[-1])
        out = (*x.dims[:-1], k)
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"  {name} = ({shape_text('f32', out)}, {shape_text('s32', out)}) topk({x.name}), k={k}, "
                          "largest=true")
        self.emit("f32", out, f"get-tuple-element({name}), index=0")
        i = self.emit("s32", out, f"get-tuple-element({name}), index=1", keep=False)
        self.emit("f32", out, f"convert({i.name})")

    def starts(self, x):
        return [self.indices((), n) for n in x.dims]

    def op_dynamic_slice(self):
        x = self.some()
        sizes = [self.rng.randint(1, n) if self.rng.random() < 0.6 else n for n in x.dims]
        starts = ", ".join(s.name for s in self.starts(x))
        self.emit("f32", sizes, f"dynamic-slice({x.name}, {starts}), dynamic_slice_sizes={braces(sizes)}")

    def op_dynamic_update(self):
        x = self.some()
        u = self.given([self.rng.randint(1, n) if self.rng.random() < 0.6 else n for n in x.dims])
        starts = ", ".join(s.name for s in self.starts(x))
        self.emit("f32", x.dims, f"dynamic-update-slice({x.name}, {u.name}, {starts})")

    def numbers(self, x):
        """Windows of a gather or scatter of x: indexed dimensions, sizes, dropped ones."""
        rng = self.rng
        indexed = [d for d in range(len(x.dims)) if rng.random() < 0.6] or [0]
        rng.shuffle(indexed)
        sizes = [rng.randint(1, n) if d in indexed and rng.random() < 0.7 else n for d, n in enumerate(x.dims)]
        for d in indexed:
            if rng.random() < 0.6:
                sizes[d] = 1
        dropped = [d for d in sorted(indexed) if sizes[d] == 1 and rng.random() < 0.8]
        return indexed, sizes, dropped

    def batch_and_windows(self, window):
        """Rank of the batch, and dimensions of the windows among those of the result."""
        batch = tuple(self.rng.choice((1, 2, 4, 5, 8)) for _ in range(self.rng.randint(0, 2)))
        rank = len(batch) + len(window)
        places = sorted(self.rng.sample(range(rank), len(window)))
        dims, b, w = [], list(batch), list(window)
        for d in range(rank):
            dims.append((w if d in places else b).pop(0))
        return batch, places, dims

    def op_gather(self):
        x = self.some()
        indexed, sizes, dropped = self.numbers(x)
        window = [n for d, n in enumerate(sizes) if d not in dropped]
        batch, places, dims = self.batch_and_windows(window)
        i = self.indices((*batch, len(indexed)), max(x.dims[d] for d in indexed))
        self.emit("f32", dims, f"gather({x.name}, {i.name}), offset_dims={braces(places)}, "
                  f"collapsed_slice_dims={braces(dropped)}, start_index_map={braces(indexed)}, "
                  f"index_vector_dim={len(batch)}, slice_sizes={braces(sizes)}")

    def op_scatter(self):
        x = self.some()
        indexed, sizes, dropped = self.numbers(x)
        window = [n for d, n in enumerate(sizes) if d not in dropped]
        batch, places, dims = self.batch_and_windows(window)
        i = self.indices((*batch, len(indexed)), max(x.dims[d] for d in indexed))
        u = self.given(dims, wild=False)
        op = self.rng.choice(("add", "maximum", "set"))
        body = self.reducer(op) if op != "set" else self.helper(
            "set", "{\n  a = f32[] parameter(0)\n  ROOT b = f32[] parameter(1)\n}")
        y = self.emit("f32", x.dims, f"scatter({x.name}, {i.name}, {u.name}), update_window_dims={braces(places)}, "
                      f"inserted_window_dims={braces(dropped)}, scatter_dims_to_operand_dims={braces(indexed)}, "
                      f"index_vector_dim={len(batch)}, to_apply={body}", keep=False)
        self.small(y)

    def op_batched_gather(self):
        b, n, k = (self.rng.choice((2, 3, 4, 8)) for _ in range(3))
        x = self.given((b, n, 4))
        i = self.indices((b, k, 1), n)
        self.emit("f32", (b, k, 4), f"gather({x.name}, {i.name}), offset_dims={{2}}, collapsed_slice_dims={{1}}, "
                  "start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
                  "index_vector_dim=2, slice_sizes={1,1,4}")

    def op_random(self):
        dims = self.dims()
        s = self.emit("u64", (2,), f"constant({{{self.rng.randrange(99)}, 7}})", keep=False)
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"  {name} = (u64[2], {shape_text('u32', dims)}) rng-bit-generator({s.name}), algorithm="
                          f"{self.rng.choice(('rng_three_fry', 'rng_philox'))}")
        bits = self.emit("u32", dims, f"get-tuple-element({name}), index=1", keep=False)
        mask = self.emit("u32", dims, f"broadcast({self.scalar(7, 'u32').name}), dimensions={{}}", keep=False)
        low = self.emit("u32", dims, f"and({bits.name}, {mask.name})", keep=False)
        self.emit("f32", dims, f"convert({low.name})")

    def op_while(self):
        x = self.some()
        note = self.sharding(x.dims)
        shape = x.text()
        n = x.dims[0]
        self.count += 1
        k = self.count
        roll = f"  a{k} = f32[{braces((1,) + x.dims[1:])[1:-1]}] slice(x), slice={{[0:1]" + "".join(
            f",[0:{m}]" for m in x.dims[1:]) + "}\n" + (
                f"  b{k} = f32[{braces((n - 1,) + x.dims[1:])[1:-1]}] slice(x), slice={{[1:{n}]" + "".join(
                    f",[0:{m}]" for m in x.dims[1:]) + "}\n" +
                    f"  c{k}_ = {shape} concatenate(b{k}, a{k}), dimensions={{0}}\n"
                if n > 1 else f"  c{k}_ = {shape} negate(x)\n")
        inner = f'  d{k} = {shape} custom-call(c{k}_), custom_call_target="Sharding"{note}\n' if note else \
            f"  d{k} = {shape} copy(c{k}_)\n"
        body = self.helper(("body", k), "{\n  p = (s32[], " + shape + ") parameter(0)\n"
                           "  i = s32[] get-tuple-element(p), index=0\n  x = " + shape +
                           " get-tuple-element(p), index=1\n"
                           "  one = s32[] constant(1)\n  j = s32[] add(i, one)\n" + roll + inner +
                           f"  ROOT t = (s32[], {shape}) tuple(j, d{k})\n}}")
        cond = self.helper(("cond", k), "{\n  p = (s32[], " + shape + ") parameter(0)\n"
                           "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(3)\n"
                           "  ROOT r = pred[] compare(i, n), direction=LT\n}")
        zero = self.scalar(0, "s32")
        self.lines.append(f"  init{k} = (s32[], {shape}) tuple({zero.name}, {x.name})")
        self.lines.append(f"  loop{k} = (s32[], {shape}) while(init{k}), condition={cond}, body={body}")
        self.emit("f32", x.dims, f"get-tuple-element(loop{k}), index=1")

    def op_conditional(self):
        x = self.some()
        shape, note = x.text(), self.sharding(x.dims)
        self.count += 1
        k = self.count
        one = self.helper(("yes", k), "{\n  x = " + shape + " parameter(0)\n" +
                          f'  c = {shape} custom-call(x), custom_call_target="Sharding"{note or ", sharding={replicated}"}\n'
                          f"  ROOT r = {shape} abs(c)\n}}")
        two = self.helper(("no", k), "{\n  x = " + shape + " parameter(0)\n" +
                          f"  ROOT r = {shape} reverse(x), dimensions={{0}}\n}}")
        y = self.given((2,), wild=False)
        total = self.emit("f32", (), f"reduce({y.name}, {self.scalar(0).name}), dimensions={{0}}, "
                          f"to_apply={self.reducer('add')}", keep=False)
        which = self.emit("pred", (), f"compare({total.name}, {self.scalar(0).name}), direction=GT", keep=False)
        self.emit("f32", x.dims, f"conditional({which.name}, {x.name}, {x.name}), true_computation={one}, "
                  f"false_computation={two}")

    # --- the program ---

    def text(self):
        operations = [getattr(self, name) for name in dir(self) if name.startswith("op_")]
        heavy = [self.op_convolution, self.op_gather, self.op_scatter, self.op_reduce_window, self.op_constraint] * 2
        self.given()
        for _ in range(self.rng.randint(2, 7)):
            self.rng.choice(operations + heavy)()
        results = self.values[-1:] + self.rng.sample(self.values, min(len(self.values), 4))
        roots = []
        for value in results:
            note = self.sharding(value.dims)
            name = f"o{len(roots)}"
            self.lines.append(f'  {name} = {value.text()} custom-call({value.name}), custom_call_target="Sharding"{note}'
                              if note else f"  {name} = {value.text()} copy({value.name})")
            roots.append((name, value.text()))
        self.lines.append(f"  ROOT out = ({', '.join(s for _, s in roots)}) tuple({', '.join(n for n, _ in roots)})")
        helpers = "\n\n".join(f"{name} {text}" for name, text in self.helpers.values())
        return "\n".join([f"HloModule sharded, num_partitions={product(self.mesh)}", "", helpers, "", "ENTRY main {",
                          *self.lines, "}", ""])
