"""All random calls of TensorFlow's operations that need no more than arrays. The order of the imports is that of OPS and
of the draws of random numbers."""
from tf_op_calls import OPS, C, I, R, ops  # noqa: F401, for those that import this module
import tf_op_elementwise  # noqa: F401, registers its rows in OPS
import tf_op_reductions  # noqa: F401, registers its rows in OPS
import tf_op_movement  # noqa: F401, registers its rows in OPS
import tf_op_products  # noqa: F401, registers its rows in OPS
import tf_op_quantised  # noqa: F401, registers its rows in OPS
import tf_op_linear  # noqa: F401, registers its rows in OPS
import tf_op_images  # noqa: F401, registers its rows in OPS
import tf_op_sizes  # noqa: F401, registers its rows in OPS
from tf_op_linear import definite  # noqa: F401
