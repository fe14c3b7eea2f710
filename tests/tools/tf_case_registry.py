"""The cases of tests/cases/tf: CASES maps a name to (function of tensors, inputs). A graph has a placeholder per input,
in0, in1, ..., and an Identity per result, which nothing else uses: these are the feeds and fetches that hlorun takes by
itself."""
import os

import numpy as np
import tensorflow as tf

import tf_user_graphs  # noqa: F401, registers its graphs in tf_graphs
import tf_user_functions  # noqa: F401, registers its graphs
import tf_user_signals  # noqa: F401, registers its graphs
import tf_user_sizes  # noqa: F401, registers its graphs
import tf_user_tasks  # noqa: F401, registers its graphs
from tf_graphs import GRAPHS

tf1 = tf.compat.v1
random = np.random.default_rng(7)
CASES = {name: GRAPHS[name] for name in ("triangle_of_loops", "triangle_of_loops_v1", "second_derivative_of_loop",
                                         "growing_array",
                                      "growing_array_by_size", "growing_array_gradient", "growing_array_that_is_read",
                                      "growing_array_v1_loop", "growing_array_v1_outside", "jacobian_by_pfor",
                                      "sizes_of_data",
                                      "masks_of_rows", "gradients_of_masks", "branches_of_sizes",
                                      "masks_of_other_bounds", "sizes_in_losses",
                                      "sizes_in_normalisations", "sizes_that_are_cut_again",
                                      "sizes_of_matrices", "sizes_in_loops",
                                      "gradients_of_sizes", "gradients_of_loops_over_sizes", "constants_of_branches",
                                      "limits_that_meet", "einsum_diagonals", "convolutions_along_sizes",
                                      "strided_windows_along_sizes", "paddings_by_sizes",
                                      "cond_in_foldl_in_map_gradient_v1", "three_maps_gradient_v1",
                                      "soft_warping_gradient", "segments")}
COMPILED = set()  # cases of operations that only XLA has
BOUNDED = {"stacks"}  # cases whose stacks are given a bound; others learn it from their loops


def case(*inputs):
    """Registers a function of tensors that returns a tensor, a list or a dict of them."""
    def register(function):
        CASES[function.__name__] = (function, inputs)
        return function
    return register


def f32(*shape, low=-2.0, high=2.0):
    return random.uniform(low, high, shape).astype(np.float32)


def s32(*shape, low=-9, high=9):
    return random.integers(low, high, shape).astype(np.int32)


def flatten(results):
    return [tf.convert_to_tensor(r) for r in tf.nest.flatten(results)]


def pull_back(y, inputs):
    """Gradients with respect to the inputs, where y's is its cosine."""
    return tf.gradients(y, inputs, grad_ys=tf.cos(y))


def bound_stacks(definition):
    """Stacks of gradients are made without a bound outside XLA; compiled ones need it."""
    nodes = {n.name: n for n in definition.node}
    for node in definition.node:
        if node.op == "StackV2":
            nodes[node.input[0].split(":")[0]].attr["value"].tensor.int_val[:] = [9]


def write(name, folder):
    function, inputs = CASES[name]
    graph = tf.Graph()
    with graph.as_default():
        feeds = [tf1.placeholder(x.dtype, x.shape, "in%d" % i) for i, x in enumerate(inputs)]
        results = [tf.identity(r, "out%d" % i) for i, r in enumerate(flatten(function(*feeds)))]
    needed = [r.op.name for r in results]
    definition = tf1.graph_util.extract_sub_graph(graph.as_graph_def(), needed)
    if name in BOUNDED:
        bound_stacks(definition)
    # extract_sub_graph sorts nodes as they were made: results keep their order.
    unused = {f.op.name for f in feeds} - {n.name for n in definition.node}
    assert not unused, "inputs that no result uses: %s" % unused
    if name in COMPILED:
        values = [v.numpy() for v in tf.function(lambda *x: flatten(function(*x)), jit_compile=True)(*inputs)]
    else:
        with tf1.Session(graph=graph) as session:
            values = session.run(results, dict(zip(feeds, inputs)))
    with open(os.path.join(folder, name + ".pb"), "wb") as file:
        file.write(definition.SerializeToString(deterministic=True))
    arrays = {"in%d" % i: x for i, x in enumerate(inputs)}
    arrays.update({"out%d" % i: v for i, v in enumerate(values)})
    np.savez(os.path.join(folder, name + ".npz"), **arrays)
    print(name, len(definition.node), "nodes")
