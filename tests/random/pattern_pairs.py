"""Steps of random programs with all pairs of two lists of points: distances, and what is summed of them."""
from computation import product
from pattern_steps import PatternSteps, is_float

MOST_PAIRS = 40000


class PairSteps(PatternSteps):
    def points(self, dtype, dims):
        """Small numbers that sums of any order keep."""
        return self.tame(self.matching(dtype, dims))

    def op_pairs(self):
        rng, dtype = self.rng, self.rng.choice(self.program.types)
        n, m = (rng.choice([9, 17, 40, 48, 64, 100, 190]) for _ in range(2))
        width = rng.choice([2, 3, 3, 4, 5, 8, 16, 17])
        lead = rng.choice([(), (), (2,)])
        if product(lead) * n * m * min(width, 4) > 4 * MOST_PAIRS or dtype == "pred":
            return
        first, rank = len(lead), len(lead) + 3
        place = list(range(rank))   # where both points and the coordinate are
        if rng.random() < 0.2:
            place = place[:first] + [first + 1, first + 2, first]
        dims = [0] * rank
        for d, size in enumerate(list(lead) + [n, m, width]):
            dims[place[d]] = size
        points = []
        for one in (first, first + 1):
            where = sorted(place[d] for d in range(rank) if d != 2 * first + 1 - one)
            x = self.points(dtype, [dims[d] for d in where])
            points.append(self.broadcast(x, dims, where))
        self.sums(self.step(rng.choice(["subtract", "subtract", "add", "maximum"]), *points), dims, place, first)

    def sums(self, d, dims, place, lead):
        """Sums over coordinates, and what they weigh, summed over one of both points or over both."""
        rng, coordinate = self.rng, place[-1]
        across, down = place[lead + 1], place[lead]
        square = self.step(rng.choice(["multiply", "maximum"]), d, d) if rng.random() < 0.7 else self.step("abs", d)
        if not is_float(d) and d.dtype[0] != "s":
            square = d
        near = self.tame(self.reduced(square, [coordinate], rng.choice(["add", "add", "maximum"])))
        near = self.tame(self.chain(near, rng.choice([0, 1, 2])))
        kept = [x for x in range(len(dims)) if x != coordinate]
        over = [kept.index(across)]
        for _ in range(rng.choice([1, 2, 3])):
            way = rng.choice(["rows", "rows", "columns", "all", "weighted", "product"])
            if way == "weighted":
                wide = self.step("multiply", self.broadcast(near, dims, kept), self.tame(d))
                self.bounded(self.reduced(wide, [across if rng.random() < 0.7 else down], "add"))
            elif way == "product" and is_float(near):
                self.thin_product(near, over[0], lead)
            else:
                axes = {"columns": [kept.index(down)], "all": sorted([kept.index(down), over[0]])}.get(way, over)
                self.bounded(self.reduced(near, axes, rng.choice(["add", "maximum"])))

    def thin_product(self, near, over, lead):
        """The product with a matrix of few columns, or with a vector."""
        columns = self.rng.choice([[], [1], [2], [3], [8], [9]])
        batch = list(range(lead))
        thin = self.points(near.dtype, list(near.dims[:lead]) + [near.dims[over]] + columns)
        kept = [size for d, size in enumerate(near.dims) if d >= lead and d != over]
        numbers = [f"{{{','.join(map(str, batch))}}}"] * 2 if batch else None
        more = f", lhs_contracting_dims={{{over}}}, rhs_contracting_dims={{{lead}}}"
        if numbers:
            more += f", lhs_batch_dims={numbers[0]}, rhs_batch_dims={numbers[1]}"
        self.bounded(self.step("dot", near, thin, dims=list(near.dims[:lead]) + kept + columns, more=more))
