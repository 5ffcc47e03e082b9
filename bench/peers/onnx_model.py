"""Writes the whole layer as an ONNX model: one projection, com.microsoft.MultiHeadAttention, the output projection.

    onnx_model.py FOLDER      reads the weights there (ours.cpp says which) and writes FOLDER/layer.onnx
"""

import pathlib
import sys

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

E, H = 512, 8

folder = pathlib.Path(sys.argv[1])


def weights(name, shape):
    return numpy.fromfile(folder / f"{name}.f32", dtype=numpy.float32).reshape(shape)


qkv_weight, qkv_bias = weights("in_proj_weight", (3 * E, E)), weights("in_proj_bias", (3 * E,))
constants = {"output_weight": weights("out_proj_weight", (E, E)).T, "output_bias": weights("out_proj_bias", (E,))}
nodes = []
for part, name in enumerate(("query", "key", "value")):
    constants[f"{name}_weight"] = qkv_weight[part * E : (part + 1) * E].T
    nodes.append(helper.make_node("MatMul", ["x", f"{name}_weight"], [name]))
constants["bias"] = qkv_bias
nodes.append(
    helper.make_node(
        "MultiHeadAttention", ["query", "key", "value", "bias"], ["context"], domain="com.microsoft", num_heads=H
    )
)
nodes.append(helper.make_node("MatMul", ["context", "output_weight"], ["unbiased"]))
nodes.append(helper.make_node("Add", ["unbiased", "output_bias"], ["y"]))

graph = helper.make_graph(
    nodes,
    "layer",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", "L", E])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", "L", E])],
    [numpy_helper.from_array(numpy.ascontiguousarray(array), name) for name, array in constants.items()],
)
opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(folder / "layer.onnx"))
