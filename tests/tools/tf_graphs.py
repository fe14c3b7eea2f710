"""The first graphs of check_tf_models.py, and what further ones need. The order of the imports is that of the draws of
random numbers."""
from tf_graph_registry import GRAPHS, REFUSED, f32, graph, legacy, pull_back, refused, s32  # noqa: F401
import tf_graphs_legacy  # noqa: F401, registers its graphs
import tf_graphs_functions  # noqa: F401, registers its graphs
from tf_graphs_functions import traced  # noqa: F401
