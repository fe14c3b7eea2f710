"""Random programs with a manual computation on a mesh of its own: other sizes, other names, another order of devices
than the program's other mesh. manual_programs.py SEED PROGRAM WHOLE writes the program, and one without meshes that
means the same, and prints the number of processes.

Inside, an array has local sizes; the program without meshes has it with one leading dimension for each manual axis,
so that a collective over an axis is an operation along that dimension."""
import itertools
import random
import sys

from computation import product

SIZES = {4: ((2, 2), (4,)), 6: ((2, 3), (3, 2), (6,)), 8: ((2, 4), (4, 2), (2, 2, 2), (8,)),
         12: ((3, 4), (2, 3, 2), (4, 3))}


def tensor(dims):
    return "tensor<" + "".join(f"{n}x" for n in dims) + "f32>"


class Mesh:
    def __init__(self, rng, name, sizes, letters):
        self.name, self.sizes = name, sizes
        self.axes = [letters[k] for k in range(len(sizes))]
        self.ids = list(range(product(sizes)))
        if rng.random() < 0.6:
            rng.shuffle(self.ids)

    def size(self, axis):
        return self.sizes[self.axes.index(axis)]

    def text(self):
        axes = ", ".join(f'"{a}"={n}' for a, n in zip(self.axes, self.sizes))
        listed = f", device_ids=[{', '.join(map(str, self.ids))}]" if self.ids != sorted(self.ids) else ""
        return f"  sdy.mesh @{self.name} = <[{axes}]{listed}>"

    def devices(self, fixed):
        """Devices along the axes that are not fixed, by coordinates in order."""
        spans = [[fixed[a]] if a in fixed else range(n) for a, n in zip(self.axes, self.sizes)]
        for at in itertools.product(*spans):
            position = 0
            for c, n in zip(at, self.sizes):
                position = position * n + c
            yield self.ids[position]

    def groups(self, axis):
        """Lists of the devices that differ in one axis alone."""
        others = [a for a in self.axes if a != axis]
        for at in itertools.product(*(range(self.size(a)) for a in others)):
            yield list(self.devices(dict(zip(others, at))))


class ManualProgram:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.devices = rng.choice(list(SIZES))
        self.outer = Mesh(rng, "outer", rng.choice(SIZES[self.devices]), "abc")
        self.inner = Mesh(rng, "inner", rng.choice(SIZES[self.devices]), "pqr")
        self.manual = [a for a in self.inner.axes if rng.random() < 0.7] or self.inner.axes[:1]
        self.free = [a for a in self.inner.axes if a not in self.manual]
        self.body, self.whole, self.count, self.channel = [], [], 0, 0
        cut = self.manual[:]
        rng.shuffle(cut)
        at = rng.randint(0, len(cut))
        kept = cut[:rng.randint(1, len(cut))]
        self.cuts = [[a for a in cut[:at] if a in kept], [a for a in cut[at:] if a in kept]]
        self.local = [rng.choice((1, 2, 3, 4)), rng.choice((2, 3, 4, 6))]

    def lead(self):
        return [self.inner.size(a) for a in self.manual]

    def sharding(self, mesh, axes_of_dims):
        return f"<@{mesh}, [" + ", ".join("{" + ", ".join(f'"{a}"' for a in axes) + "}" for axes in axes_of_dims) + "]>"

    def emit(self, local, text, whole_text):
        """One step of both programs; $ stands for the value before it."""
        old, self.count = self.count, self.count + 1
        before, self.local = self.local, list(local)
        types = {"B": tensor(before), "A": tensor(local), "WB": tensor(self.lead() + before),
                 "WA": tensor(self.lead() + list(local))}
        for lines, template, prefix in ((self.body, text, "b"), (self.whole, whole_text, "w")):
            for number, line in enumerate(template):
                for key in ("WB", "WA", "B", "A"):
                    line = line.replace(f"<{key}>", types[key])
                name = f"%{prefix}{self.count}" if number == len(template) - 1 else f"%{prefix}{self.count}_{number}"
                line = line.replace("$", f"%{prefix}{old}").replace("@0", f"%{prefix}{self.count}_0").replace(
                    "@1", f"%{prefix}{self.count}_1")
                lines.append(f"    {name} = {line}")

    # --- steps ---

    def step_negate(self):
        self.emit(self.local, ["stablehlo.negate $ : <A>"], ["stablehlo.negate $ : <WA>"])

    def step_transpose(self):
        k = len(self.manual)
        order = ", ".join(map(str, [*range(k), k + 1, k]))
        self.emit(self.local[::-1], ["stablehlo.transpose $, dims = [1, 0] : (<B>) -> <A>"],
                  [f"stablehlo.transpose $, dims = [{order}] : (<WB>) -> <WA>"])

    def step_reverse(self):
        k = len(self.manual)
        self.emit(self.local, ["stablehlo.reverse $, dims = [1] : <A>"],
                  [f"stablehlo.reverse $, dims = [{k + 1}] : <WA>"])

    def step_constraint(self):
        if not self.free:
            return
        axes = [[], []]
        axes[self.rng.randrange(2)] = [self.rng.choice(self.free)]
        self.emit(self.local, [f"sdy.sharding_constraint $ {self.sharding('inner', axes)} : <A>",
                               "stablehlo.abs @0 : <A>"],
                  ["stablehlo.abs $ : <WA>"])

    def step_dot(self):
        """With a matrix of ones and twos: a contraction over what free axes may cut."""
        n, k = self.local[1], len(self.manual)
        numbers = "[" + ", ".join("[" + ", ".join(str(float(1 + (i + j) % 2)) for j in range(n)) + "]"
                                  for i in range(n)) + "]"
        m = tensor((n, n))
        self.emit(self.local,
                  [f"stablehlo.constant dense<{numbers}> : {m}",
                   f"stablehlo.dot_general $, @0, contracting_dims = [1] x [0] : (<B>, {m}) -> <A>"],
                  [f"stablehlo.constant dense<{numbers}> : {m}",
                   f"stablehlo.dot_general $, @0, contracting_dims = [{k + 1}] x [0] : (<WB>, {m}) -> <WA>"])

    def groups(self, axis):
        return "[" + ", ".join(map(str, self.inner.groups(axis))) + "]"

    def step_all_reduce(self, axis=None):
        axis = axis or self.rng.choice(self.manual)
        d, n = self.manual.index(axis), self.inner.size(axis)
        count = self.devices // n
        self.channel += 1
        kept = [i for i in range(len(self.manual) + 2) if i != d]
        rest = tensor([m for i, m in enumerate(self.lead() + self.local) if i != d])
        self.emit(self.local, [
            '"stablehlo.all_reduce"($) ({ ^bb0(%l: tensor<f32>, %r: tensor<f32>): %s = stablehlo.maximum %l, %r : tensor<f32> '
            f'stablehlo.return %s : tensor<f32> }}) {{replica_groups = dense<{self.groups(axis)}> : tensor<{count}x{n}xi64>, '
            f"channel_handle = #stablehlo.channel_handle<handle = {self.channel}, type = 1>, use_global_device_ids}} : (<B>) -> <A>"],
            ["stablehlo.constant dense<0xFF800000> : tensor<f32>",
             f"stablehlo.reduce($ init: @0) applies stablehlo.maximum across dimensions = [{d}] : (<WB>, tensor<f32>) -> {rest}",
             f"stablehlo.broadcast_in_dim @1, dims = {kept} : ({rest}) -> <WA>"])

    def step_shift(self):
        """Each takes what its neighbour along an axis has."""
        axis = self.rng.choice(self.manual)
        d, n = self.manual.index(axis), self.inner.size(axis)
        pairs = [[g[i], g[(i + 1) % n]] for g in self.inner.groups(axis) for i in range(n)]
        self.channel += 1
        dims = self.lead() + self.local

        def part(low, high):
            ranges = ", ".join(f"{low}:{high}" if i == d else f"0:{m}" for i, m in enumerate(dims))
            shape = tensor([high - low if i == d else m for i, m in enumerate(dims)])
            return f"stablehlo.slice $ [{ranges}] : (<WB>) -> {shape}", shape
        (last, last_shape), (first, first_shape) = part(n - 1, n), part(0, n - 1)
        self.emit(self.local, [
            f'"stablehlo.collective_permute"($) {{source_target_pairs = dense<{pairs}> : tensor<{len(pairs)}x2xi64>, '
            f"channel_handle = #stablehlo.channel_handle<handle = {self.channel}, type = 1>}} : (<B>) -> <A>"],
            [last, first, f"stablehlo.concatenate @0, @1, dim={d} : ({last_shape}, {first_shape}) -> <WA>"])

    # --- ends ---

    def whole_of(self, value, local, into):
        """From leading axes to the whole array, or back: text of the steps for the program without meshes."""
        k = len(self.manual)
        named = [a for axes in self.cuts for a in axes]
        lost = [a for a in self.manual if a not in named]
        kept = [a for a in self.manual if a in named]
        order = [*self.cuts[0], 0, *self.cuts[1], 1]  # dimensions of the split whole array
        split = [local[a] if isinstance(a, int) else self.inner.size(a) for a in order]
        sizes = [product([self.inner.size(a) for a in axes]) * n for axes, n in zip(self.cuts, local)]
        small = [self.inner.size(a) for a in kept] + local
        lines = []
        if into:
            places = [order.index(a) for a in kept] + [order.index(0), order.index(1)]
            lines += [f"    %s0 = stablehlo.reshape {value} : ({tensor(sizes)}) -> {tensor(split)}",
                      f"    %s1 = stablehlo.transpose %s0, dims = {places} : ({tensor(split)}) -> {tensor(small)}"]
            dims = [self.manual.index(a) for a in kept] + [k, k + 1]
            lines.append(f"    %w0 = stablehlo.broadcast_in_dim %s1, dims = {dims} : ({tensor(small)}) -> "
                         f"{tensor(self.lead() + local)}")
            return lines, sizes
        ranges = ", ".join(f"0:{1 if a in lost else self.inner.size(a)}" for a in self.manual)
        cut = [1 if a in lost else self.inner.size(a) for a in self.manual] + local
        places = [(kept + [0, 1]).index(a) for a in order]
        lines += [f"    %t0 = stablehlo.slice {value} [{ranges}, 0:{local[0]}, 0:{local[1]}] : "
                  f"({tensor(self.lead() + local)}) -> {tensor(cut)}",
                  f"    %t1 = stablehlo.reshape %t0 : ({tensor(cut)}) -> {tensor(small)}",
                  f"    %t2 = stablehlo.transpose %t1, dims = {places} : ({tensor(small)}) -> {tensor(split)}",
                  f"    %t3 = stablehlo.reshape %t2 : ({tensor(split)}) -> {tensor(sizes)}"]
        return lines, sizes

    def outside(self, sizes):
        """A sharding of an array outside, which need not divide."""
        axes, lists = self.outer.axes[:], []
        self.rng.shuffle(axes)
        for n in sizes:
            lists.append([axes.pop()] if axes and n % self.outer.size(axes[-1]) == 0 and self.rng.random() < 0.7
                         else [])
        return self.sharding("outer", lists)

    def texts(self):
        rng = self.rng
        first, sizes = self.whole_of("%x", self.local, True)
        enter = self.sharding("inner", self.cuts)
        start = list(self.local)
        for _ in range(rng.randint(2, 5)):
            rng.choice((self.step_negate, self.step_transpose, self.step_reverse, self.step_constraint, self.step_dot,
                        self.step_all_reduce, self.step_shift, self.step_shift))()
        named = [a for axes in self.cuts for a in axes]
        for axis in self.manual:
            if axis not in named:
                self.step_all_reduce(axis)
        last, out = self.whole_of(f"%w{self.count}", self.local, False)
        program = ["module @m {", self.outer.text(), self.inner.text(),
                   f"  func.func @main(%x: {tensor(sizes)} {{sdy.sharding = #sdy.sharding{self.outside(sizes)}}}) -> "
                   f"({tensor(out)} {{sdy.sharding = #sdy.sharding{self.outside(out)}}}) {{",
                   f"    %y = stablehlo.negate %x : {tensor(sizes)}",
                   f"    %z = sdy.manual_computation(%y) in_shardings=[{enter}] out_shardings=[{enter}] manual_axes={{" +
                   ", ".join(f'"{a}"' for a in self.manual) + f"}} (%b0: {tensor(start)}) {{", *self.body,
                   f"    sdy.return %b{self.count} : {tensor(self.local)}",
                   f"    }} : ({tensor(sizes)}) -> {tensor(out)}",
                   f"    %r = stablehlo.negate %z : {tensor(out)}", f"    return %r : {tensor(out)}", "  }", "}", ""]
        whole = ["module @w {", f"  func.func @main(%a: {tensor(sizes)}) -> {tensor(out)} {{",
                 f"    %x = stablehlo.negate %a : {tensor(sizes)}", *first, *self.whole, *last,
                 f"    %r = stablehlo.negate %t3 : {tensor(out)}", f"    return %r : {tensor(out)}", "  }", "}", ""]
        return "\n".join(program), "\n".join(whole)


def main():
    made = ManualProgram(int(sys.argv[1]))
    for path, text in zip(sys.argv[2:4], made.texts()):
        with open(path, "w") as out:
            out.write(text)
    print(made.devices)


if __name__ == "__main__":
    main()
