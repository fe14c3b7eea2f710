"""Recommenders, graphs, speech, probability and physics of bench_models.py."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.optimize import minimize
from jax.scipy.special import logsumexp

from models_tools import cross_entropy, f32, integers, model, normal, uniform

# --- recommenders and graphs

dlrm_weights = {"tables": normal(8, 20000, 16, scale=.1), "bottom": [normal(13, 64, scale=.1),
                                                                     normal(64, 16, scale=.1)],
                "top": [normal(52, 64, scale=.1), normal(64, 1, scale=.1)]}


@model("dlrm_train", dlrm_weights, normal(1024, 13), integers(0, 20000, 1024, 8), integers(0, 2, 1024))
def dlrm_train(w, dense, sparse, clicks):
    def loss(w):
        x = jax.nn.relu(jax.nn.relu(dense @ w["bottom"][0]) @ w["bottom"][1])
        rows = jax.vmap(lambda table, i: table[i], (0, 1), 1)(w["tables"], sparse)
        features = jnp.concatenate([x[:, None], rows], 1)
        i, j = np.triu_indices(9, 1)
        pairs = jnp.einsum("nie,nje->nij", features, features)[:, i, j]
        y = (jax.nn.relu(jnp.concatenate([x, pairs], 1) @ w["top"][0]) @ w["top"][1])[:, 0]
        return jnp.mean(jax.nn.softplus(y) - y * clicks)
    value, g = jax.value_and_grad(loss)(w)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, w, g)


gat_weights = [(normal(64, 4, 16, scale=.1), normal(4, 16, scale=.3), normal(4, 16, scale=.3)) for _ in range(2)]


@model("gnn_gat_train", gat_weights, normal(2000, 64), integers(0, 2000, 16000), integers(0, 2000, 16000),
       integers(0, 64, 2000))
def gnn_gat_train(w, x, senders, receivers, labels):
    def layer(x, w):
        h = jnp.einsum("nd,dhe->nhe", x, w[0])
        score = jax.nn.leaky_relu((h * w[1]).sum(-1)[senders] + (h * w[2]).sum(-1)[receivers])
        score = jnp.exp(score - jax.ops.segment_max(score, receivers, 2000)[receivers])
        share = score / jax.ops.segment_sum(score, receivers, 2000)[receivers]
        return jax.nn.elu(jax.ops.segment_sum(h[senders] * share[..., None], receivers, 2000)).reshape(2000, 64)
    value, g = jax.value_and_grad(lambda w: cross_entropy(layer(layer(x, w[0]), w[1]), labels))(w)
    return value, jax.tree.map(lambda p, g: p - 0.1 * g, w, g)


# --- speech: alignments by dynamic programming

@model("speech_ctc_grad", normal(8, 100, 32), integers(1, 32, 8, 20), normal(80, 128, scale=.1),
       normal(128, 32, scale=.1),
       normal(8, 100, 80))
def speech_ctc_grad(bias, labels, w1, w2, audio):
    extended = jnp.zeros((8, 41), jnp.int32).at[:, 1::2].set(labels)
    skip = jnp.concatenate([jnp.zeros((8, 2), bool), (extended[:, 2:] != extended[:, :-2]) & (extended[:, 2:] != 0)], 1)

    def loss(w):
        logp = jax.nn.log_softmax(jnp.tanh(audio @ w[0]) @ w[1] + bias)
        emit = jnp.take_along_axis(logp, jnp.broadcast_to(extended[:, None], (8, 100, 41)), 2)
        start = jnp.where(jnp.arange(41) < 2, emit[:, 0], -1e30)

        def step(a, e):
            shifted = lambda n: jnp.pad(a, ((0, 0), (n, 0)), constant_values=-1e30)[:, :41]
            return logsumexp(jnp.stack([a, shifted(1), jnp.where(skip, shifted(2), -1e30)]), 0) + e, None
        last = lax.scan(step, start, jnp.swapaxes(emit[:, 1:], 0, 1))[0]
        return -jnp.mean(jnp.logaddexp(last[:, -1], last[:, -2]))
    return jax.value_and_grad(loss)((w1, w2))


@model("rnnt_loss_grad", normal(4, 60, 24, 32))
def rnnt_loss_grad(logits):
    def loss(logits):
        logp = jax.nn.log_softmax(logits)
        blank, label = logp[..., 0], logp[..., 1]

        def row(alpha, t):
            up = alpha + blank[:, t - 1]

            def cell(left, u):
                new = jnp.logaddexp(up[:, u], left + label[:, t, u - 1])
                return new, new
            rest = lax.scan(cell, up[:, 0], jnp.arange(1, 24))[1]
            return jnp.concatenate([up[:, :1], rest.T], 1), None
        first = jnp.concatenate([jnp.zeros((4, 1)), jnp.cumsum(label[:, 0, :-1], 1)], 1)
        return -jnp.mean(lax.scan(row, first, jnp.arange(1, 60))[0][:, -1])
    return jax.value_and_grad(loss)(logits)


# --- probability

@model("hmc_chains", normal(64, 16), normal(200, 16), integers(0, 2, 200), np.uint32([3, 4]))
def hmc_chains(q, x, y, key):
    def logp(q):
        z = x @ q
        return jnp.sum(y * z - jax.nn.softplus(z)) - 0.5 * jnp.sum(q * q)

    def chain(q, key):
        def sample(q, key):
            p = jax.random.normal(key, q.shape)

            def leap(_, s):
                q, p = s
                p = p + 0.005 * jax.grad(logp)(q)
                q = q + 0.01 * p
                return q, p + 0.005 * jax.grad(logp)(q)
            q2, p2 = lax.fori_loop(0, 8, leap, (q, p))
            accept = jnp.log(jax.random.uniform(key)) < logp(q2) - logp(q) + 0.5 * (p @ p - p2 @ p2)
            q = jnp.where(accept, q2, q)
            return q, q
        return lax.scan(sample, q, jax.random.split(key, 5))[1]
    return jax.vmap(chain)(q, jax.random.split(jax.random.wrap_key_data(key), 64))


@model("hmm_em_viterbi", normal(16), normal(16, 16), normal(16, 32), integers(0, 32, 16, 100))
def hmm_em_viterbi(start, step, emit, seen):
    a, b = jax.nn.log_softmax(step), jax.nn.log_softmax(emit)

    def one(seen):
        likely = b[:, seen].T
        forward = lax.scan(lambda f, e: ((logsumexp(f[:, None] + a, 0) + e,) * 2), start + likely[0], likely[1:])[1]
        backward = lax.scan(lambda g, e: ((logsumexp(a + (e + g), 1),) * 2), jnp.zeros(16), likely[1:], reverse=True)[1]

        def best(v, e):
            s = v[:, None] + a
            return s.max(0) + e, s.argmax(0)
        last, back = lax.scan(best, start + likely[0], likely[1:])
        path = lax.scan(lambda s, p: (p[s],) * 2, last.argmax(), back, reverse=True)[1]
        return jax.nn.softmax(forward[:-1] + backward[1:], -1).sum(0), path
    return jax.vmap(one)(seen)


@model("kalman_grad", normal(4, 4, scale=.3), normal(2, 4), normal(100, 2))
def kalman_grad(f, h, seen):
    def loss(f):
        def step(state, z):
            x, p = f @ state[0], f @ state[1] @ f.T + 0.1 * jnp.eye(4)
            s = h @ p @ h.T + 0.2 * jnp.eye(2)
            k = jnp.linalg.solve(s, h @ p).T
            r = z - h @ x
            return (x + k @ r, p - k @ h @ p), r @ jnp.linalg.solve(s, r) + jnp.linalg.slogdet(s)[1]
        return lax.scan(step, (jnp.zeros(4), jnp.eye(4)), seen)[1].sum()
    return jax.value_and_grad(loss)(f)


@model("gp_fit", normal(200, 3), normal(200), f32([0, 0, -2]))
def gp_fit(x, y, parameters):
    def loss(p):
        d = jnp.square(x[:, None] - x[None]).sum(-1)
        k = jnp.exp(p[0] - 0.5 * d * jnp.exp(p[1])) + (jnp.exp(p[2]) + 1e-4) * jnp.eye(200)
        factor = jnp.linalg.cholesky(k)
        z = jax.scipy.linalg.cho_solve((factor, True), y)
        return 0.5 * y @ z + jnp.log(jnp.diag(factor)).sum()
    return lax.fori_loop(0, 5, lambda _, p: p - 0.001 * jax.grad(loss)(p), parameters)


flow_weights = [(normal(4, 64, scale=.2), normal(64, 4 * 23, scale=.1)) for _ in range(3)]


@model("flow_spline_grad", flow_weights, normal(512, 8))
def flow_spline_grad(w, x):
    """Coupling layers of rational quadratic splines with 8 bins."""
    def spline(x, p):
        inside = jnp.abs(x) < 3
        z = jnp.clip(x, -3, 3)
        edges = lambda q: jnp.pad(jnp.cumsum(6 * (1e-3 + 0.992 * jax.nn.softmax(q)), -1), ((0, 0), (0, 0), (1, 0))) - 3
        xs, ys = edges(p[..., :8]), edges(p[..., 8:16])
        slopes = jnp.pad(1e-3 + jax.nn.softplus(p[..., 16:]), ((0, 0), (0, 0), (1, 1)), constant_values=1.0)
        bin = jnp.clip((z[..., None] >= xs).sum(-1) - 1, 0, 7)[..., None]
        at = lambda a, o=0: jnp.take_along_axis(a, bin + o, -1)[..., 0]
        width, height = at(xs, 1) - at(xs), at(ys, 1) - at(ys)
        slope, d0, d1, t = height / width, at(slopes), at(slopes, 1), (z - at(xs)) / width
        below = slope + (d1 + d0 - 2 * slope) * t * (1 - t)
        y = at(ys) + height * (slope * t * t + d0 * t * (1 - t)) / below
        grow = 2 * jnp.log(slope) + jnp.log(d1 * t * t + 2 * slope * t * (1 - t) + d0 *
                                            (1 - t) ** 2) - 2 * jnp.log(below)
        return jnp.where(inside, y, x), jnp.where(inside, grow, 0).sum(-1)

    def loss(w):
        a, b, total = x[:, :4], x[:, 4:], 0.0
        for first, second in w:
            y, grow = spline(b, (jnp.tanh(a @ first) @ second).reshape(512, 4, 23))
            a, b, total = y, a, total + grow
        return jnp.mean(0.5 * (a * a).sum(-1) + 0.5 * (b * b).sum(-1) - total)
    return jax.value_and_grad(loss)(w)


@model("sinkhorn_grad", normal(256, 8), normal(256, 8))
def sinkhorn_grad(x, y):
    def loss(x):
        cost = jnp.square(x[:, None] - y[None]).sum(-1)

        def step(_, s):
            f = -logsumexp((s[1][None] - cost) * 2, 1) / 2
            return f, -logsumexp((f[:, None] - cost) * 2, 0) / 2
        f, g = lax.fori_loop(0, 10, step, (jnp.zeros(256), jnp.zeros(256)))
        return f.mean() + g.mean()
    return jax.value_and_grad(loss)(x)


@model("ppo_cartpole", [normal(4, 32, scale=.3), normal(32, 3, scale=.3)], normal(64, 4, scale=.05), np.uint32([5, 6]))
def ppo_cartpole(w, state, key):
    def policy(w, s):
        out = jnp.tanh(s @ w[0]) @ w[1]
        return jax.nn.log_softmax(out[..., :2]), out[..., 2]

    def move(s, key):
        logp, value = policy(w, s)
        action = jax.random.categorical(key, logp)
        force = jnp.where(action == 1, 10.0, -10.0)
        sin, cos = jnp.sin(s[:, 2]), jnp.cos(s[:, 2])
        t = (force + 0.05 * s[:, 3] ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * t) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        new = s + 0.02 * jnp.stack([s[:, 1], t - 0.05 * turn * cos / 1.1, s[:, 3], turn], 1)
        done = (jnp.abs(new[:, 0]) > 2.4) | (jnp.abs(new[:, 2]) > 0.2)
        return jnp.where(done[:, None], 0.0, new), (s, action, jnp.take_along_axis(logp, action[:, None], 1)[:, 0],
                                                    value, done)
    _, (s, action, old, value, done) = lax.scan(move, state, jax.random.split(jax.random.wrap_key_data(key), 64))

    def advantage(carry, step):
        carry = 1 + 0.95 * jnp.where(step[1], 0.0, carry) - step[0]
        return carry, carry
    gain = lax.scan(advantage, jnp.zeros(64), (value, done), reverse=True)[1]

    def loss(w):
        logp, now = policy(w, s)
        ratio = jnp.exp(jnp.take_along_axis(logp, action[..., None], -1)[..., 0] - old)
        return -jnp.mean(jnp.minimum(ratio * gain, jnp.clip(ratio, 0.8,
                                                            1.2) * gain)) + jnp.mean(jnp.square(now - value - gain))
    return lax.fori_loop(0, 4, lambda _, w: jax.tree.map(lambda p, g: p - 0.01 * g, w, jax.grad(loss)(w)), w)


# --- solvers

@model("cg_implicit_grad", normal(64, 64, scale=.1), normal(64))
def cg_implicit_grad(a, b):
    def loss(a):
        m = a @ a.T + jnp.eye(64)
        return jnp.sum(jnp.sin(jax.scipy.sparse.linalg.cg(lambda x: m @ x, b, maxiter=30)[0]))
    return jax.value_and_grad(loss)(a)


@model("vmapped_bfgs", normal(32, 4))
def vmapped_bfgs(starts):
    rosenbrock = lambda x: jnp.sum(100 * jnp.square(x[1:] - x[:-1] ** 2) + jnp.square(1 - x[:-1]))
    return jax.vmap(lambda x: minimize(rosenbrock, x, method="BFGS", options={"maxiter": 10}).fun)(starts)


@model("neural_ode_adjoint", normal(8, 32, scale=.3), normal(32, 8, scale=.3), normal(16, 8))
def neural_ode_adjoint(w1, w2, x):
    from jax.experimental.ode import odeint

    def loss(w):
        field = lambda y, t, w: jnp.tanh(y @ w[0]) @ w[1]
        return jnp.sum(jnp.square(odeint(field, x, jnp.linspace(0.0, 1.0, 3), w, rtol=1e-3, atol=1e-3)[-1]))
    return jax.value_and_grad(loss)((w1, w2))


pinn_weights = [(normal(a, b, scale=.3), np.zeros(b, f32)) for a, b in ((2, 40), (40, 40), (40, 40), (40, 1))]


@model("pinn_burgers_grad", pinn_weights, uniform(-1, 1, 1024, 2), uniform(-1, 1, 128, 2), normal(128))
def pinn_burgers_grad(w, inside, edge, wanted):
    """Burgers' equation by a network: derivatives by place and time within the loss."""
    def loss(w):
        def u(x, t):
            h = jnp.stack([x, t])
            for a, b in w[:-1]:
                h = jnp.tanh(h @ a + b)
            return (h @ w[-1][0] + w[-1][1])[0]

        def residual(x, t):
            slope = lambda x: jax.grad(u)(x, t)
            bend = jax.jvp(slope, (x,), (1.,))[1]
            return jax.grad(u, 1)(x, t) + u(x, t) * slope(x) - .003 * bend
        at_edge = jax.vmap(u)(edge[:, 0], edge[:, 1])
        return jnp.mean(jax.vmap(residual)(inside[:, 0], inside[:, 1]) ** 2) + jnp.mean((at_edge - wanted) ** 2)
    return jax.value_and_grad(loss)(w)


@model("navier_stokes_fft", normal(128, 128))
def navier_stokes_fft(vorticity):
    k = jnp.fft.fftfreq(128, 1 / 128)
    kx, ky = k[:, None], jnp.abs(k[None, :65])
    square = kx ** 2 + ky ** 2
    keep = (jnp.abs(kx) < 42) & (jnp.abs(ky) < 42)

    def step(w, _):
        stream = w / jnp.where(square == 0, 1, square)
        back = lambda z: jnp.fft.irfft2(z)
        u, v, wx, wy = back(1j * ky * stream), back(-1j * kx * stream), back(1j * kx * w), back(1j * ky * w)
        return (w - 1e-3 * keep * jnp.fft.rfft2(u * wx + v * wy)) / (1 + 1e-5 * square), None
    return jnp.fft.irfft2(lax.scan(step, jnp.fft.rfft2(vorticity), None, length=5)[0])


@model("lattice_boltzmann", 1 + 0.01 * normal(9, 128, 128))
def lattice_boltzmann(f):
    cx, cy = np.array([0, 1, 0, -1, 0, 1, -1, -1, 1]), np.array([0, 0, 1, 0, -1, 1, 1, -1, -1])
    weights = np.array([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4, f32)[:, None, None]

    def step(f, _):
        density = f.sum(0)
        ux, uy = (f * cx[:, None, None]).sum(0) / density, (f * cy[:, None, None]).sum(0) / density
        cu = 3 * (cx[:, None, None] * ux + cy[:, None, None] * uy)
        f = f - 0.6 * (f - density * weights * (1 + cu + cu * cu / 2 - 1.5 * (ux * ux + uy * uy)))
        return jnp.stack([jnp.roll(f[i], (cx[i], cy[i]), (0, 1)) for i in range(9)]), None
    return lax.scan(step, f, None, length=10)[0]


@model("wave_inversion_grad", 1 + 0.1 * normal(64, 64), normal(64, 64), normal(40, 64))
def wave_inversion_grad(speed, source, seen):
    def loss(c):
        def step(s, _):
            now, before = s
            lap = sum(jnp.roll(now, d, a) for a in (0, 1) for d in (1, -1)) - 4 * now
            return (2 * now - before + 0.1 * c * c * lap, now), now[32]
        return jnp.sum(jnp.square(lax.scan(step, (source, source), None, length=40)[1] - seen))
    return jax.value_and_grad(loss)(speed)


@model("md_neighbours", uniform(0, 8, 512, 3))
def md_neighbours(x):
    def neighbours(x):
        d = x[:, None] - x[None]
        d = d - 8 * jnp.round(d / 8)
        far = jnp.where(jnp.eye(512, dtype=bool), 1e9, jnp.square(d).sum(-1))
        return lax.top_k(-far, 48)[1]

    def energy(x, near):
        d = x[:, None] - x[near]
        d = d - 8 * jnp.round(d / 8)
        r = 1 / (jnp.square(d).sum(-1) + 0.3)
        return jnp.sum(jnp.where(r > 0.2, r ** 6 - r ** 3, 0))

    def step(s, _):
        x, v, near = s
        v = v - 1e-4 * jax.grad(energy)(x, near)
        return (x + 1e-3 * v, v, near), energy(x, near)
    return lax.scan(step, (x, jnp.zeros_like(x), neighbours(x)), None, length=10)


@model("quantum_vqe_grad", normal(3, 10, 2))
def quantum_vqe_grad(angles):
    """Rotations and controlled gates on ten qubits."""
    def rotate(state, qubit, angle):
        c, s = jnp.cos(angle[0] / 2), jnp.sin(angle[0] / 2)
        phase = jnp.exp(0.5j * angle[1])
        gate = jnp.array([[c * jnp.conj(phase), -s * jnp.conj(phase)], [s * phase, c * phase]])
        return jnp.moveaxis(jnp.tensordot(gate, state, ((1,), (qubit,))), 0, qubit)

    def entangle(state, a, b):
        not_gate = jnp.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], jnp.complex64).reshape(2, 2, 2,
            2)
        return jnp.moveaxis(jnp.tensordot(not_gate, state, ((2, 3), (a, b))), (0, 1), (a, b))

    def energy(angles):
        state = jnp.zeros((2,) * 10, jnp.complex64).at[(0,) * 10].set(1)
        for layer in range(3):
            for qubit in range(10):
                state = rotate(state, qubit, angles[layer, qubit])
            for qubit in range(9):
                state = entangle(state, qubit, qubit + 1)
        p = jnp.square(jnp.abs(state))
        return sum(jnp.sum(p.sum(tuple(a for a in range(10) if a != q)) * jnp.array([1., -1.])) for q in range(10))
    return jax.value_and_grad(energy)(angles)
