"""All programs of operations that need more than arrays: functions, variables, random numbers without a seed. The order
of the imports is that of OPS."""
from tf_op_program import P  # noqa: F401, for those that import this module
import tf_op_variables  # noqa: F401, registers its rows in OPS
import tf_op_functions  # noqa: F401, registers its rows in OPS
import tf_op_xla  # noqa: F401, registers its rows in OPS
import tf_op_random  # noqa: F401, registers its rows in OPS
