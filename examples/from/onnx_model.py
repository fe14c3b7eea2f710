"""A small ONNX model with its input and result: model.onnx, in.npz, want.npz."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(1)
weights = {"w1": random.normal(size=(8, 16)), "b1": random.normal(size=16),
           "w2": random.normal(size=(16, 3)), "b2": random.normal(size=3)}
nodes = [helper.make_node("Gemm", ["x", "w1", "b1"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
         helper.make_node("Gemm", ["r", "w2", "b2"], ["z"]),
         helper.make_node("Softmax", ["z"], ["y"], axis=-1)]
graph = helper.make_graph(
    nodes, "model",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 8])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 3])],
    [numpy_helper.from_array(a.astype(np.float32), name) for name, a in weights.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
onnx.checker.check_model(model)
onnx.save(model, "model.onnx")

x = random.normal(size=(2, 8)).astype(np.float32)
np.savez("in.npz", in0=x)
np.savez("want.npz", out0=ReferenceEvaluator(model).run(None, {"x": x})[0])
