"""The models of bench_torch.py in jax, in their usual sizes: name -> (function, arguments). torch_side.py has the
same ones."""
import jax
import jax.numpy as jnp
from jax import lax

from models_language import attention_by_hand, block, block_weights, llama_decode, llama_weights
from models_tools import adamw, cross_entropy, f32, integers, layer_norm, normal, ones, zeros_like
from models_vision import batch_norm, equal_sides, resnet, resnet_weights

P = {}
RESNET50 = [(64, 256, 1, 3), (128, 512, 2, 4), (256, 1024, 2, 6), (512, 2048, 2, 3)]


def model(make_arguments):
    """Arguments are made when they are asked for: all at once would take gigabytes."""
    def add(function):
        P[function.__name__] = (function, make_arguments)
        return function
    return add


def transformer_weights(vocabulary, positions, layers, d):
    return {"embed": normal(vocabulary, d, scale=.02), "position": normal(positions, d, scale=.02),
            "blocks": [block_weights(d, 4 * d) for _ in range(layers)], "ln": (ones(d), 0 * ones(d))}


def gpt2_arguments():
    w = transformer_weights(50257, 128, 12, 768)
    return w, zeros_like(w), zeros_like(w), integers(0, 50257, 2, 129), f32(7)


@model(gpt2_arguments)
def gpt2_small_train(w, m, v, tokens, step):
    def loss(w):
        mask = jnp.tril(jnp.ones((128, 128), bool))
        x = w["embed"][tokens[:, :-1]] + w["position"]
        for b in w["blocks"]:
            x = block(b, x, 12, lambda q, k, v: attention_by_hand(q, k, v, mask))
        return cross_entropy(layer_norm(x, *w["ln"]) @ w["embed"].T, tokens[:, 1:])
    value, g = jax.value_and_grad(loss)(w)
    return value, adamw(w, m, v, g, step)


@model(lambda: (transformer_weights(30522, 128, 12, 768), integers(0, 30522, 2, 128), integers(0, 30522, 2, 128)))
def bert_base_grad(w, tokens, labels):
    def loss(w):
        x = layer_norm(w["embed"][tokens] + w["position"], *w["ln"])
        for b in w["blocks"]:
            x = block(b, x, 12, jax.nn.dot_product_attention)
        return cross_entropy(x @ w["embed"].T, labels)
    return jax.value_and_grad(loss)(w)


def vit_arguments():
    w = {"patch": normal(768, 384, scale=.02), "class": normal(1, 1, 384), "position": normal(197, 384, scale=.02),
         "blocks": [block_weights(384, 1536) for _ in range(12)], "head": normal(384, 1000, scale=.02)}
    return w, normal(4, 224, 224, 3), integers(0, 1000, 4)


@model(vit_arguments)
def vit_s16_grad(w, images, labels):
    def loss(w):
        x = images.reshape(4, 14, 16, 14, 16, 3).transpose(0, 1, 3, 2, 4, 5).reshape(4, 196, 768) @ w["patch"]
        x = jnp.concatenate([jnp.broadcast_to(w["class"], (4, 1, 384)), x], 1) + w["position"]
        for b in w["blocks"]:
            x = block(b, x, 6, jax.nn.dot_product_attention)
        return cross_entropy(x[:, 0] @ w["head"], labels)
    return jax.value_and_grad(loss)(w)


def resnet50_training():
    w = resnet_weights(RESNET50, 1000)
    return w, zeros_like(w), normal(4, 224, 224, 3), integers(0, 1000, 4)


@model(resnet50_training)
def resnet50_train(w, momentum, x, labels):
    value, g = jax.value_and_grad(lambda w: cross_entropy(resnet(w, x, batch_norm, RESNET50, equal_sides), labels))(w)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, g)
    return value, jax.tree.map(lambda p, m: p - 0.1 * m, w, momentum), momentum


@model(lambda: (resnet_weights(RESNET50, 1000), normal(4, 224, 224, 3)))
def resnet50_infer(w, x):
    return resnet(w, x, lambda x, n: (x - 0.01) * lax.rsqrt(1.0 + 1e-5) * n[0] + n[1], RESNET50,
                  equal_sides)


@model(lambda: (llama_weights(8, 1024, 16, 4, 2816, 32000), integers(0, 32000, 1)))
def llama_decode_8(w, prompt):
    return llama_decode(w, prompt, 8, 256)
