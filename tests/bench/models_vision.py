"""Vision models of bench_models.py: convolutional networks, diffusion, radiance fields."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from models_tools import cross_entropy, f32, integers, layer_norm, model, normal, ones, zeros_like


def conv(x, w, stride=1, groups=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                    feature_group_count=groups)


def scale_and_shift(n):
    return ones(n), 0 * ones(n)


# --- ResNet with bottlenecks

# Channels within a block and of its result, the stride of the first block, the number of blocks.
STAGES = [(64, 256, 1, 2), (128, 512, 2, 2), (256, 1024, 2, 2)]


def resnet_weights(stages=STAGES, classes=100):
    w = {"stem": normal(7, 7, 3, 64, scale=.1), "stem_bn": scale_and_shift(64),
         "head": normal(stages[-1][1], classes, scale=.05), "blocks": []}
    inputs = 64
    for width, outputs, _, count in stages:
        for inputs in (inputs, *[outputs] * (count - 1)):
            w["blocks"].append({
                "a": normal(1, 1, inputs, width, scale=inputs ** -.5), "a_bn": scale_and_shift(width),
                "b": normal(3, 3, width, width, scale=(9 * width) ** -.5), "b_bn": scale_and_shift(width),
                "c": normal(1, 1, width, outputs, scale=width ** -.5), "c_bn": scale_and_shift(outputs),
                "short": normal(1, 1, inputs, outputs, scale=inputs ** -.5)})
    return w


def block_strides(stages):
    """The stride of each block's window; None: the block adds its operand as it is."""
    return [stride if i == 0 else None for _, _, stride, count in stages for i in range(count)]


def equal_sides(window):
    """Padding as PyTorch's ResNet has it; SAME puts less of it before an even number of elements than after."""
    return [(window // 2, window // 2)] * 2


def resnet(w, x, norm, stages=STAGES, padding=lambda window: "SAME"):
    relu = jax.nn.relu
    padded = lambda x, w, stride=1: conv(x, w, stride, padding=padding(w.shape[0]))
    x = relu(norm(padded(x, w["stem"], 2), w["stem_bn"]))
    pad = padding(3)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          pad if isinstance(pad, str) else [(0, 0), *pad, (0, 0)])
    for b, stride in zip(w["blocks"], block_strides(stages)):
        y = relu(norm(padded(x, b["a"]), b["a_bn"]))
        y = relu(norm(padded(y, b["b"], stride or 1), b["b_bn"]))
        x = padded(x, b["short"], stride) if stride else x
        x = relu(norm(conv(y, b["c"]), b["c_bn"]) + x)
    return x.mean((1, 2)) @ w["head"]


def batch_norm(x, w):
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) * lax.rsqrt(var + 1e-5) * w[0] + w[1]


@model("resnet_infer", resnet_weights(), normal(2, 160, 160, 3))
def resnet_infer(w, x):
    return resnet(w, x, lambda x, n: (x - 0.01) * lax.rsqrt(n[0] + 1e-5) * n[0] + n[1])


@model("resnet_train", resnet_weights(), zeros_like(resnet_weights()), normal(4, 96, 96, 3), integers(0, 100, 4))
def resnet_train(w, momentum, x, labels):
    value, g = jax.value_and_grad(lambda w: cross_entropy(resnet(w, x, batch_norm), labels))(w)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, g)
    return value, jax.tree.map(lambda p, m: p - 0.1 * m, w, momentum), momentum


convnext_weights = [{"dw": normal(7, 7, 1, c, scale=.1), "ln": scale_and_shift(c), "up": normal(c, 4 * c, scale=.05),
                     "down": normal(4 * c, c, scale=.05), "merge": normal(2, 2, c, 2 * c, scale=.05)} for c in (96,
                         192)]


@model("convnext_infer", convnext_weights, normal(4, 4, 3, 96, scale=.1), normal(1, 224, 224, 3))
def convnext_infer(w, stem, x):
    x = conv(x, stem, 4, padding="VALID")
    for stage in w:
        for _ in range(2):
            y = layer_norm(conv(x, stage["dw"], groups=x.shape[-1]), *stage["ln"])
            x = x + jax.nn.gelu(y @ stage["up"]) @ stage["down"]
        x = conv(x, stage["merge"], 2, padding="VALID")
    return x.mean((1, 2))


# --- a U-Net for diffusion: group norms, embeddings of time, attention in the middle

def unet_weights(c):
    def block(i, o):
        return {"n1": scale_and_shift(i), "c1": normal(3, 3, i, o, scale=.05), "time": normal(64, o, scale=.05),
                "n2": scale_and_shift(o), "c2": normal(3, 3, o, o, scale=.05), "short": normal(1, 1, i, o, scale=.1)}
    return {"in": normal(3, 3, 3, c, scale=.2), "d1": block(c, c), "d2": block(c, 2 * c), "mid": block(2 * c, 2 * c),
            "qkv": normal(2 * c, 6 * c, scale=.05), "out": normal(2 * c, 2 * c, scale=.05), "u2": block(4 * c, c),
            "u1": block(2 * c, c), "last": normal(3, 3, c, 3, scale=.05)}


def group_norm(x, w):
    n, h, width, c = x.shape
    y = x.reshape(n, h, width, 8, c // 8)
    mean, var = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
    return ((y - mean) * lax.rsqrt(var + 1e-5)).reshape(x.shape) * w[0] + w[1]


def unet(w, x, t):
    half = jnp.exp(-jnp.arange(32) * 0.3)
    time = jnp.concatenate([jnp.sin(t[:, None] * half), jnp.cos(t[:, None] * half)], -1)

    def block(b, x):
        y = conv(jax.nn.silu(group_norm(x, b["n1"])), b["c1"]) + (time @ b["time"])[:, None, None]
        return conv(jax.nn.silu(group_norm(y, b["n2"])), b["c2"]) + conv(x, b["short"])

    def attend(x):
        n, h, width, c = x.shape
        q, k, v = jnp.split(x.reshape(n, h * width, 1, c) @ w["qkv"], 3, -1)
        return x + jax.nn.dot_product_attention(q, k, v).reshape(x.shape) @ w["out"]
    half_size = lambda x: lax.reduce_window(x, 0., lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4
    double = lambda x: jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)
    a = block(w["d1"], conv(x, w["in"]))
    b = block(w["d2"], half_size(a))
    m = attend(block(w["mid"], half_size(b)))
    u = block(w["u2"], jnp.concatenate([double(m), b], -1))
    return conv(block(w["u1"], jnp.concatenate([double(u), a], -1)), w["last"])


@model("unet_diffusion_step", unet_weights(32), normal(4, 32, 32, 3), np.uint32([1, 2]))
def unet_diffusion_step(w, x, key):
    key = jax.random.wrap_key_data(key)
    noise, t = jax.random.normal(key, x.shape), jax.random.uniform(key, (4,))
    noisy = x * jnp.sqrt(1 - t)[:, None, None, None] + noise * jnp.sqrt(t)[:, None, None, None]
    value, g = jax.value_and_grad(lambda w: jnp.mean(jnp.square(unet(w, noisy, 1000 * t) - noise)))(w)
    return value, jax.tree.map(lambda p, g: p - 1e-3 * g, w, g)


@model("unet_ddim_sample", unet_weights(32), normal(1, 32, 32, 3))
def unet_ddim_sample(w, x):
    def step(x, t):
        noise = unet(w, x, jnp.full((1,), 1000 * t))
        return (x - noise * jnp.sqrt(t)) * 0.98 + noise * jnp.sqrt(t - 0.1), None
    return lax.scan(step, x, jnp.linspace(1.0, 0.2, 5))[0]


nerf_weights = [normal(a, b, scale=.1) for a, b in ((63, 128), (128, 128), (128, 128), (128, 4))]


@model("nerf_grad", nerf_weights, normal(512, 3), normal(512, 3), normal(512, 3))
def nerf_grad(w, origins, directions, colours):
    depths = jnp.linspace(2.0, 6.0, 48)

    def loss(w):
        points = origins[:, None] + directions[:, None] * depths[:, None]
        angles = points[..., None] * 2.0 ** jnp.arange(10)
        x = jnp.concatenate([points, jnp.sin(angles).reshape(512, 48, 30), jnp.cos(angles).reshape(512, 48, 30)], -1)
        for layer in w[:-1]:
            x = jax.nn.relu(x @ layer)
        x = x @ w[-1]
        alpha = 1 - jnp.exp(-jax.nn.softplus(x[..., 3]) * (4 / 48))
        past = jnp.cumprod(1 - alpha + 1e-10, 1) / (1 - alpha + 1e-10)
        return jnp.mean(jnp.square(((alpha * past)[..., None] * jax.nn.sigmoid(x[..., :3])).sum(1) - colours))
    return jax.value_and_grad(loss)(w)


# --- a Swin transformer: windows of 7 x 7 places, every other time shifted

def swin_block_weights(c):
    return {"ln1": ones(c), "qkv": normal(c, 3 * c, scale=.05), "bias": normal(169, c // 32, scale=.02),
            "out": normal(c, c, scale=.05), "ln2": ones(c), "up": normal(c, 4 * c, scale=.05),
            "down": normal(4 * c, c, scale=.05)}


swin_weights = {"patch": normal(4, 4, 3, 96, scale=.1), "first": [swin_block_weights(96) for _ in range(2)],
                "merge": normal(384, 192, scale=.05), "second": [swin_block_weights(192) for _ in range(2)],
                "head": normal(192, 100, scale=.05)}
places = np.stack(np.meshgrid(np.arange(7), np.arange(7), indexing="ij"), -1).reshape(-1, 2)
distances = ((places[:, None] - places + 6) @ np.array([13, 1])).astype(np.int32)


def swin_windows(x):
    n, h, w, c = x.shape
    return x.reshape(n, h // 7, 7, w // 7, 7, c).transpose(0, 1, 3, 2, 4, 5).reshape(-1, 49, c)


def swin_block(x, w, shift):
    n, h, _, c = x.shape
    heads = c // 32
    y = swin_windows(jnp.roll(layer_norm(x, w["ln1"], 0), (-shift, -shift), (1, 2)))
    q, k, v = jnp.moveaxis((y @ w["qkv"]).reshape(-1, 49, 3, heads, 32), 2, 0)
    scores = jnp.einsum("nqhd,nkhd->nhqk", q, k) * f32(32 ** -.5) + w["bias"][distances].transpose(2, 0, 1)
    if shift:  # places that were not neighbours before the shift; as the published model masks them
        strip = np.repeat([0, 1, 2], [h - 7, 7 - shift, shift])
        region = swin_windows((3 * strip[:, None] + strip)[None, ..., None])[..., 0]
        mask = np.where(region[:, None] == region[:, :, None], 0, -100).astype(f32)
        scores = (scores.reshape(n, -1, heads, 49, 49) + mask[:, None]).reshape(-1, heads, 49, 49)
    y = jnp.einsum("nhqk,nkhd->nqhd", jax.nn.softmax(scores), v).reshape(-1, 49, c) @ w["out"]
    y = y.reshape(n, h // 7, h // 7, 7, 7, c).transpose(0, 1, 3, 2, 4, 5).reshape(x.shape)
    x = x + jnp.roll(y, (shift, shift), (1, 2))
    return x + jax.nn.gelu(layer_norm(x, w["ln2"], 0) @ w["up"]) @ w["down"]


@model("swin_grad", swin_weights, normal(2, 112, 112, 3), integers(0, 100, 2))
def swin_grad(w, images, labels):
    def loss(w):
        x = conv(images, w["patch"], 4, padding="VALID")
        for b, shift in zip(w["first"], (0, 3)):
            x = swin_block(x, b, shift)
        x = x.reshape(2, 14, 2, 14, 2, 96).transpose(0, 1, 3, 2, 4, 5).reshape(2, 14, 14, 384) @ w["merge"]
        for b, shift in zip(w["second"], (0, 3)):
            x = swin_block(x, b, shift)
        return cross_entropy(x.mean((1, 2)) @ w["head"], labels)
    return jax.value_and_grad(loss)(w)
