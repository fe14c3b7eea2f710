"""Makes a program that fails smaller, instruction by instruction, as long as it fails."""
import copy
import re
import time

from computation import product

LINE = re.compile(r"^\s*(ROOT )?(\S+) = (\(.*?\)|\S+) ([a-z][\w-]*)\((.*?)\)((?:, [a-z_]+=.*)?)$")
CALLED = re.compile(r"(?:condition|body|to_apply|true_computation|false_computation)=([\w.-]+)")
ENDS = ("parameter", "constant", "iota")


class Instruction:
    def __init__(self, root, name, shape, op, inside, more):
        self.root, self.name, self.shape, self.op, self.more = bool(root), name, shape, op, more
        self.inside = inside if op in ("constant", "parameter") else None
        self.args = inside.split(", ") if inside and self.inside is None else []

    def text(self):
        inside = ", ".join(self.args) if self.inside is None else self.inside
        return f"  {'ROOT ' if self.root else ''}{self.name} = {self.shape} {self.op}({inside}){self.more}"

    def index(self):
        return int(re.search(r"index=(\d+)", self.more).group(1))


def parts_of(shape):
    """The shapes in that of a tuple."""
    return re.findall(r"\w+\[[\d,]*\](?:\{[\d,]*\})?", shape)


class Module:
    """Computations by name, each a list of instructions; the last one is the entry."""

    def __init__(self, text):
        self.head, self.bodies = "HloModule small", {}
        for line in text.replace("%", "").split("\n"):
            match = LINE.match(line)
            if match:
                self.bodies[name].append(Instruction(*match.groups()))
            elif line.rstrip().endswith("{") and not line.startswith("HloModule"):
                name = line.split(" {")[0].split(" (")[0]
                self.bodies[name] = []

    def text(self):
        return "\n\n".join([self.head] + [f"{name} {{\n" + "\n".join(i.text() for i in body) + "\n}"
                                           for name, body in self.bodies.items()]) + "\n"

    def entry(self):
        return next(name for name in self.bodies if name.startswith("ENTRY"))

    def clean(self):
        """Without what nothing uses."""
        for name, body in self.bodies.items():
            used = set()
            for i in reversed(body):
                if i.root or i.name in used:
                    used.update(i.args)
            self.bodies[name] = [i for i in body if i.root or i.name in used or i.op == "parameter"]
        called, open_ = {self.entry()}, [self.entry()]
        while open_:
            for i in self.bodies[open_.pop()]:
                fresh = [c for c in CALLED.findall(i.more) if c not in called]
                called.update(fresh)
                open_ += fresh
        self.bodies = {name: body for name, body in self.bodies.items() if name in called}
        return self

    def size(self):
        return sum(len(body) for body in self.bodies.values())


def replace(body, old, new):
    for i in body:
        i.args = [new if a == old else a for a in i.args]


def simpler_ends(body, at):
    """Puts a plain array in the place of an instruction: its neighbouring elements differ, or they do not."""
    i = body[at]
    dims = [int(d) for d in re.search(r"\[([\d,]*)\]", i.shape).group(1).split(",") if d]
    if i.shape.startswith("(") or i.op in ENDS:
        return
    if dims and product(dims) > 1 and not i.shape.startswith("pred"):
        yield [Instruction(i.root, i.name, i.shape, "iota", "", f", iota_dimension={len(dims) - 1}")]
    dtype = i.shape.split("[")[0]
    if i.op != "broadcast" or not is_constant(body, i.args[0]):
        one = Instruction(None, i.name + "_one" if dims else i.name, f"{dtype}[]", "constant",
                          "true" if dtype == "pred" else "1", "")
        one.root = i.root and not dims
        wide = Instruction(i.root, i.name, i.shape, "broadcast", one.name, ", dimensions={}")
        yield [one, wide] if dims else [one]


def is_constant(body, name):
    return any(i.name == name and i.op == "constant" for i in body)


def stand_ins(module, body, at):
    """Other values that may stand for an instruction: operands, what a loop begins with, earlier ones of its shape."""
    i, named = body[at], {j.name: j for j in body}
    if i.op == "get-tuple-element" and named[i.args[0]].op in ("while", "tuple"):
        of = named[i.args[0]]
        first = named[of.args[0]] if of.op == "while" else of
        if first.op == "tuple":
            yield first.args[i.index()]
    operands = [a for a in i.args if named[a].shape == i.shape]
    yield from operands
    if i.op in ENDS:
        return
    earlier = [j.name for j in body[:at] if j.shape == i.shape and j.name not in operands]
    yield from earlier[:2]


def smaller_values(module, name, at):
    body = module.bodies[name]
    for other in stand_ins(module, body, at):
        new = copy.deepcopy(module)
        target = new.bodies[name]
        if target[at].root:
            for j in target:
                j.root = j.name == other
        replace(target, target[at].name, other)
        if target[at].root:
            continue
        yield new.clean()
    for lines in simpler_ends(body, at):
        new = copy.deepcopy(module)
        new.bodies[name][at:at + 1] = copy.deepcopy(lines)
        yield new.clean()


def simpler_stretch(module, name, at, count):
    """Plain arrays for several instructions, the last one of them at a place."""
    new = copy.deepcopy(module)
    body = new.bodies[name]
    for k in range(at, max(at - count, -1), -1):
        lines = next(simpler_ends(body, k), None)
        if lines and not body[k].root:
            body[k:k + 1] = lines
    yield new.clean()


def fewer_results(module, name, at):
    """Of the program's results, one alone."""
    body = module.bodies[name]
    if name != module.entry() or not body[at].root or body[at].op != "tuple" or len(body[at].args) < 2:
        return
    for k, shape in enumerate(parts_of(body[at].shape)):
        new = copy.deepcopy(module)
        root = new.bodies[name][at]
        root.args, root.shape = [root.args[k]], f"({shape})"
        yield new.clean()


def fewer_carries(module, name, at):
    """A loop without one of the arrays that it hands from turn to turn."""
    i = module.bodies[name][at]
    if i.op != "while" or not any(j.name == i.args[0] and j.op == "tuple" for j in module.bodies[name]):
        return
    for k in range(len(parts_of(i.shape)) - 1, 0, -1):
        new = copy.deepcopy(module)
        drop_carry(new, new.bodies[name], new.bodies[name][at], k)
        yield new.clean()


def drop_carry(module, body, loop, k):
    first = next(j for j in body if j.name == loop.args[0])
    begin, shapes = first.args[k], parts_of(loop.shape)
    shape = "(" + ", ".join(shapes[:k] + shapes[k + 1:]) + ")"
    inner = CALLED.findall(loop.more)
    for called in inner:
        drop_reads(module.bodies[called], "parameter", None, k)
        for j in module.bodies[called]:
            if j.op == "parameter" or j.root and j.op == "tuple":
                j.shape = shape
            if j.root and j.op == "tuple":
                del j.args[k]
    first.shape = loop.shape = shape
    del first.args[k]
    drop_reads(body, "while", begin, k, loop.name)


def drop_reads(body, op, instead, k, of=None):
    """Reads of element k of the tuple become `instead`, or ones; those after it read one place before."""
    sources = [j.name for j in body if j.op == op and of in (None, j.name)]
    for at in range(len(body) - 1, -1, -1):
        j = body[at]
        if j.op != "get-tuple-element" or j.args[0] not in sources:
            continue
        if j.index() > k:
            j.more = f", index={j.index() - 1}"
        elif j.index() == k and instead:
            replace(body, j.name, instead)
            del body[at]
        elif j.index() == k:
            body[at:at + 1] = list(simpler_ends(body, at))[-1]


def shorter_loops(module, name, at):
    i = module.bodies[name][at]
    if i.op != "constant" or not re.fullmatch(r"\d+", i.inside) or not i.shape.startswith("s32[]"):
        return
    for smaller in {1, 2, int(i.inside) // 2, int(i.inside) - 1}:
        if 0 < smaller < int(i.inside):
            new = copy.deepcopy(module)
            new.bodies[name][at].inside = str(smaller)
            yield new


def weight(module):
    """What shrinking lessens: instructions, then what they need, then trips."""
    steps = sum(i.op not in ENDS for body in module.bodies.values() for i in body)
    trips = sum(int(i.inside) for body in module.bodies.values() for i in body
                if i.op == "constant" and re.fullmatch(r"\d+", i.inside))
    return steps, module.size(), trips


def first_failing(module, name, at, fails):
    for way in (fewer_results, fewer_carries, smaller_values, shorter_loops):
        for new in way(module, name, at):
            if weight(new) < weight(module) and fails(new.text()):
                return new
    return None


def passed_over(best, step, stride, fails):
    """Once over all instructions, from the last one on, `stride` at a time."""
    for name in list(reversed(best.bodies)):
        at = len(best.bodies.get(name, ())) - 1
        while at >= 0 and name in best.bodies:
            found = step(best, name, at, fails)
            best, at = found or best, at if found else at - stride
            at = min(at, len(best.bodies.get(name, ())) - 1)
    return best


def shrink(text, fails, seconds=60):
    """A program like `text` of which fails() is true, as small as is found in this time."""
    best, end = Module(text).clean(), time.monotonic() + seconds
    if not fails(best.text()):
        return text

    def in_time(small):
        return time.monotonic() < end and fails(small)

    def stretch(count):
        def step(module, name, at, fails):
            return next((new for new in simpler_stretch(module, name, at, count)
                         if weight(new) < weight(module) and fails(new.text())), None)
        return step

    for count in (16, 4):
        best = passed_over(best, stretch(count), count, in_time)
    before = None
    while before is None or weight(best) < before:
        before = weight(best)
        best = passed_over(best, first_failing, 1, in_time)
    return best.text()
