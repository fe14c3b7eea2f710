"""Libraries on top of JAX, a small program for each. Prints "N passed, N failed[, N skipped]"."""
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

from run_programs import fails_with, needs, run_all


# A convolution with batch statistics and dropout learns; so does a layer of the newer interface.
@needs("flax", "optax")
def flax_linen():
    import flax.linen as nn
    import optax

    class Net(nn.Module):
        @nn.compact
        def __call__(self, x, train):
            x = nn.relu(nn.Conv(8, (3, 3))(x))
            x = nn.BatchNorm(use_running_average=not train)(x)
            x = nn.Dropout(0.1, deterministic=not train)(x).reshape(x.shape[0], -1)
            return nn.Dense(3)(x)

    net = Net()
    key = jax.random.key(0)
    x = jax.random.normal(key, (16, 8, 8, 1))
    y = jnp.arange(16) % 3
    variables = net.init({"params": key, "dropout": key}, x, True)
    optimizer = optax.adamw(1e-2)

    @jax.jit
    def step(params, stats, state, key):
        def loss(p):
            out, new = net.apply({"params": p, "batch_stats": stats}, x, True, mutable=["batch_stats"],
                                 rngs={"dropout": key})
            return optax.softmax_cross_entropy_with_integer_labels(out, y).mean(), new["batch_stats"]
        (value, stats), gradient = jax.value_and_grad(loss, has_aux=True)(params)
        updates, state = optimizer.update(gradient, state, params)
        return optax.apply_updates(params, updates), stats, state, value

    params, stats = variables["params"], variables["batch_stats"]
    state = optimizer.init(params)
    losses = []
    for i in range(30):
        params, stats, state, value = step(params, stats, state, jax.random.fold_in(key, i))
        losses.append(float(value))
    assert losses[-1] < 0.3 * losses[0], losses


@needs("flax", "optax")
def flax_nnx():
    from flax import nnx
    import optax
    model = nnx.Linear(4, 2, rngs=nnx.Rngs(0))
    optimizer = nnx.Optimizer(model, optax.sgd(0.1), wrt=nnx.Param)

    @nnx.jit
    def step(model, optimizer, x):
        value, gradient = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
        optimizer.update(model, gradient)
        return value

    losses = [float(step(model, optimizer, jnp.ones((3, 4)))) for _ in range(20)]
    assert losses[-1] < 0.1 * losses[0], losses


# The loss falls with each optimizer.
@needs("optax")
def optax_optimizers():
    import optax

    def loss(p):
        return ((p["a"] - 3) ** 2).sum() + ((p["b"] @ p["b"].T - jnp.eye(3)) ** 2).sum()

    def train(optimizer, is_search):
        @jax.jit
        def step(p, state):
            value, gradient = jax.value_and_grad(loss)(p)
            more = {"value": value, "grad": gradient, "value_fn": loss} if is_search else {}
            updates, state = optimizer.update(gradient, state, p, **more)
            return optax.apply_updates(p, updates), state, value

        p = {"a": jnp.ones(4), "b": jnp.ones((3, 3)) * 0.3 + jnp.eye(3)}
        state = optimizer.init(p)
        values = []
        for _ in range(40):
            p, state, value = step(p, state)
            values.append(float(value))
        return values

    for name in ["adam", "adamw", "sgd", "rmsprop", "lion", "adafactor", "lamb", "adabelief", "yogi", "novograd"]:
        values = train(getattr(optax, name)(0.05), False)
        assert values[-1] < values[0], (name, values)
    values = train(optax.lbfgs(), True)
    assert values[-1] < 1e-3 * values[0], values


# A network learns a product; a check at run time fails with its message.
@needs("equinox", "optax")
def equinox_network():
    import equinox as eqx
    import optax
    model = eqx.nn.MLP(2, 1, 16, 2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (64, 2))
    y = x[:, :1] * x[:, 1:]
    optimizer = optax.adam(1e-2)

    @eqx.filter_jit
    def step(m, state):
        value, gradient = eqx.filter_value_and_grad(lambda m: ((jax.vmap(m)(x) - y) ** 2).mean())(m)
        updates, state = optimizer.update(gradient, state, m)
        return eqx.apply_updates(m, updates), state, value

    state = optimizer.init(eqx.filter(model, eqx.is_array))
    losses = []
    for _ in range(100):
        model, state, value = step(model, state)
        losses.append(float(value))
    assert losses[-1] < 0.3 * losses[0], losses

    @eqx.filter_jit
    def check(v):
        return eqx.error_if(v, v < 0, "it is negative")

    check(jnp.float32(1))
    fails_with("it is negative", check, jnp.float32(-1))


# An orbit closes, a gradient through an implicit solver is right, a stochastic equation stays finite.
@needs("diffrax")
def diffrax_equations():
    import diffrax as dfx

    def orbit(y):
        return dfx.diffeqsolve(dfx.ODETerm(lambda t, y, args: jnp.array([y[1], -y[0]])), dfx.Tsit5(), 0.0, 2 * np.pi,
                               0.1,
                               y, saveat=dfx.SaveAt(ts=jnp.linspace(0, 2 * np.pi, 9)),
                               stepsize_controller=dfx.PIDController(rtol=1e-6, atol=1e-6)).ys

    np.testing.assert_allclose(jax.jit(orbit)(jnp.array([1.0, 0.0]))[-1], [1, 0], atol=1e-3)

    def decay(k):
        return dfx.diffeqsolve(dfx.ODETerm(lambda t, y, args: -k * y), dfx.Kvaerno5(), 0.0, 1.0, 0.1, jnp.float32(1),
                               stepsize_controller=dfx.PIDController(rtol=1e-4, atol=1e-5)).ys[0]

    np.testing.assert_allclose(jax.grad(decay)(jnp.float32(2.0)), -np.exp(-2), rtol=1e-2)
    motion = dfx.VirtualBrownianTree(0, 1, 1e-3, (), jax.random.key(0))
    terms = dfx.MultiTerm(dfx.ODETerm(lambda t, y, args: -y), dfx.ControlTerm(lambda t, y, args: 0.1, motion))
    assert np.isfinite(dfx.diffeqsolve(terms, dfx.Heun(), 0, 1, 0.01, 1.0).ys).all()


# A line is found by sampling and by variational inference.
@needs("numpyro")
def numpyro_inference():
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer import MCMC, NUTS, SVI, Trace_ELBO, autoguide
    x = np.linspace(-1, 1, 50)
    y = 2 * x + 0.5 + 0.1 * np.random.default_rng(0).normal(size=50)

    def model(x, y=None):
        slope = numpyro.sample("slope", dist.Normal(0, 2))
        offset = numpyro.sample("offset", dist.Normal(0, 2))
        scale = numpyro.sample("scale", dist.HalfNormal(1))
        with numpyro.plate("n", len(x)):
            numpyro.sample("y", dist.Normal(slope * x + offset, scale), obs=y)

    chain = MCMC(NUTS(model), num_warmup=200, num_samples=200, progress_bar=False)
    chain.run(jax.random.key(0), x, y)
    np.testing.assert_allclose(chain.get_samples()["slope"].mean(), 2, atol=0.1)
    guide = autoguide.AutoNormal(model)
    search = SVI(model, guide, numpyro.optim.Adam(0.02), Trace_ELBO())
    found = search.run(jax.random.key(1), 800, x, y, progress_bar=False)
    np.testing.assert_allclose(guide.median(found.params)["slope"], 2, atol=0.2)


# Samples of a normal distribution have its mean and deviation.
@needs("blackjax")
def blackjax_sampling():
    import blackjax

    def log_density(q):
        return -0.5 * ((q["x"] - 1) ** 2 / 0.25).sum()

    key = jax.random.key(0)
    warmup = blackjax.window_adaptation(blackjax.nuts, log_density)
    (state, parameters), _ = warmup.run(key, {"x": jnp.zeros(3)}, num_steps=200)
    kernel = blackjax.nuts(log_density, **parameters).step

    def step(state, key):
        state, _ = kernel(key, state)
        return state, state.position["x"]

    _, xs = jax.jit(lambda state, keys: jax.lax.scan(step, state, keys))(state, jax.random.split(key, 300))
    np.testing.assert_allclose(xs.mean(0), 1, atol=0.2)
    np.testing.assert_allclose(xs.std(0), 0.5, atol=0.2)


# The last of three checkpoints comes back, its array in its sharding.
@needs("orbax")
def orbax_checkpoints():
    import orbax.checkpoint as ocp
    count = len(jax.devices())
    sharding = NamedSharding(jax.make_mesh((count,), ("x",)), P("x"))
    state = {"w": jax.device_put(jnp.arange(8.0 * count).reshape(count, 8), sharding), "h": jnp.ones(3, jnp.bfloat16),
             "n": 3}
    with tempfile.TemporaryDirectory() as folder:
        with ocp.CheckpointManager(folder, options=ocp.CheckpointManagerOptions(max_to_keep=2)) as manager:
            for k in range(3):
                manager.save(k, args=ocp.args.StandardSave(state))
            manager.wait_until_finished()

            def describe(a):
                return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=a.sharding) if hasattr(a, "shape") else a

            got = manager.restore(2, args=ocp.args.StandardRestore(jax.tree.map(describe, state)))
    np.testing.assert_array_equal(got["w"], state["w"])
    assert got["w"].sharding == sharding and got["n"] == 3


@needs("optimistix")
def optimistix_solvers():
    import optimistix as optx
    root = optx.root_find(lambda y, args: y ** 2 - 2, optx.Newton(1e-6, 1e-6), jnp.float32(1.0))
    np.testing.assert_allclose(root.value, 2 ** 0.5, rtol=1e-5)
    valley = optx.least_squares(lambda y, args: jnp.array([y[0] - 1, 10 * (y[1] - y[0] ** 2)]),
                                optx.LevenbergMarquardt(1e-6, 1e-6), jnp.zeros(2))
    np.testing.assert_allclose(valley.value, [1, 1], atol=1e-3)


run_all()
