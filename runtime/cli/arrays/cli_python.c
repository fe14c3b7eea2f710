/* The module consists of two tables, parameters and results with their paths, types and sizes, and
 * of fixed functions over them. Paths are those of JAX's trees: a name, then ['key'], [0] or
 * .field. In programs without such paths, parameters have their HLO names, and results are a
 * list. */
#include "cli/arrays/cli_python.h"

#include <string.h>

static const char functions[] =
    "\n"
    "\n"
    "def _dtype(name):\n"
    "    kinds = {\"s\": \"int\", \"u\": \"uint\", \"c\": \"complex\", \"f\": \"float\"}\n"
    "    if name == \"pred\":\n"
    "        return np.dtype(bool)\n"
    "    if name[1:] in (\"8\", \"16\", \"32\", \"64\", \"128\"):\n"
    "        return np.dtype(kinds[name[0]] + name[1:])\n"
    "    import ml_dtypes\n"
    "\n"
    "    names = {\"bf16\": \"bfloat16\", \"s4\": \"int4\", \"u4\": \"uint4\", \"s2\": \"int2\", "
    "\"u2\": \"uint2\"}\n"
    "    return np.dtype(getattr(ml_dtypes, names.get(name) or f\"float{name[1]}_{name[2:]}\"))\n"
    "\n"
    "\n"
    "def _split(path):\n"
    "    \"\"\"\"a['b'][0].c\" as (\"a\", [\"b\", 0, \"c\"]).\"\"\"\n"
    "    root = re.match(r\"\\w*\", path).group()\n"
    "    steps = re.findall(r\"\\['([^']*)'\\]|\\[(\\d+)\\]|\\.(\\w+)\", path[len(root):])\n"
    "    return root, [int(index) if index else key or field for key, index, field in steps]\n"
    "\n"
    "\n"
    "def _pick(tree, steps):\n"
    "    for step in steps:\n"
    "        is_field = isinstance(step, str) and hasattr(tree, step) and not hasattr(tree, "
    "\"keys\")\n"
    "        tree = getattr(tree, step) if is_field else tree[step]\n"
    "    return tree\n"
    "\n"
    "\n"
    "def _arrays(table):\n"
    "    return [(k, row) for k, row in enumerate(table) if row[1] != \"token\"]\n"
    "\n"
    "\n"
    "def save_arguments(file, *arrays, **trees):\n"
    "    \"\"\"Writes an .npz for `hlorun --input`: arrays in the order of PARAMETERS, or trees by "
    "the names of arguments.\"\"\"\n"
    "    wanted = _arrays(PARAMETERS)\n"
    "    if len(arrays) not in (0, len(wanted)):\n"
    "        raise TypeError(f\"found {len(arrays)} arrays, want {len(wanted)}\")\n"
    "    out = {}\n"
    "    arrays = iter(arrays) if arrays else None\n"
    "    for k, (path, dtype, shape) in wanted:\n"
    "        root, steps = _split(path)\n"
    "        array = np.asarray(next(arrays) if arrays else _pick(trees[root], steps))\n"
    "        if array.shape != shape and None not in shape:\n"
    "            raise ValueError(f\"{path} has the shape {array.shape}, want {shape}\")\n"
    "        out[f\"in{k}\"] = array.astype(_dtype(dtype))\n"
    "    np.savez(file, **out)\n"
    "\n"
    "\n"
    "def _insert(tree, steps, leaf):\n"
    "    if not steps:\n"
    "        return leaf\n"
    "    if tree is None:\n"
    "        tree = [] if isinstance(steps[0], int) else {}\n"
    "    if isinstance(tree, list):\n"
    "        tree += [None] * (steps[0] + 1 - len(tree))\n"
    "    old = tree[steps[0]] if isinstance(tree, list) else tree.get(steps[0])\n"
    "    tree[steps[0]] = _insert(old, steps[1:], leaf)\n"
    "    return tree\n"
    "\n"
    "\n"
    "def load_results(file, rank=None):\n"
    "    \"\"\"The results that `hlorun --output` wrote (of one process, if `rank` is given), as a "
    "tree.\"\"\"\n"
    "    suffix = \"\" if rank is None else f\"@{rank}\"\n"
    "    tree = None\n"
    "    with np.load(file) as arrays:\n"
    "        for k, (path, dtype, _) in _arrays(RESULTS):\n"
    "            leaf = arrays[f\"out{k}{suffix}\"]\n"
    "            leaf = leaf.view(_dtype(dtype)) if leaf.dtype.kind == \"V\" else leaf\n"
    "            tree = _insert(tree, _split(path)[1] if path else [k], leaf)\n"
    "    return tree\n";

/* A quoted Python string; names come from programs. */
static void add_quoted(hr_strbuf_t *text, hr_str_t words) {
  hr_strbuf_add_char(text, '"');
  for (size_t i = 0; i < words.size; i++) {
    unsigned char c = (unsigned char)words.data[i];
    if (c == '"' || c == '\\')
      hr_strbuf_printf(text, "\\%c", c);
    else if (c < ' ')
      hr_strbuf_printf(text, "\\x%02x", c);
    else
      hr_strbuf_add_char(text, words.data[i]);
  }
  hr_strbuf_add_char(text, '"');
}

/* A row of the table of parameters: path, element type, sizes (None: dynamic). */
static void add_row(hr_strbuf_t *text, hr_str_t path, const hlo_shape_t *shape) {
  hr_strbuf_add_str(text, "    (");
  add_quoted(text, path);
  hr_strbuf_printf(text, ", \"%s\", (", hr_dtype_name(shape->dtype));
  for (int d = 0; d < shape->rank; d++) {
    bool varies = shape->dynamic && shape->dynamic[d];
    if (varies)
      hr_strbuf_add_str(text, "None,");
    else
      hr_strbuf_printf(text, "%lld,", (long long)shape->dims[d]);
    if (d + 1 < shape->rank) hr_strbuf_add_char(text, ' ');
  }
  hr_strbuf_add_str(text, ")),\n");
}

/* The path in a parameter's metadata, else its own name without the number. */
static hr_str_t path_of(const hlo_instr_t *param) {
  const hlo_metadata_t *metadata = param->extra ? param->extra->metadata : NULL;
  if (metadata && metadata->op_name.size) return metadata->op_name;
  const char *dot = memrchr(param->name.data, '.', param->name.size);
  return (hr_str_t){param->name.data, dot ? (size_t)(dot - param->name.data) : param->name.size};
}

/* Tuples are flattened, as in files of arrays. */
static void print_parameters(hr_strbuf_t *text, const hlo_module_t *module) {
  const hlo_computation_t *entry = module->entry;
  hr_strbuf_add_str(text, "PARAMETERS = [\n");
  for (size_t p = 0; p < entry->params.count; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, (int)p);
    hr_str_t path = path_of(entry->params.data[p]);
    int leaves = hlo_shape_leaf_count(shape);
    for (int i = 0; i < leaves; i++) {
      char numbered[256];
      snprintf(numbered, sizeof numbered, "%.*s[%d]", HR_STR_ARGS(path), i);
      add_row(text, leaves > 1 ? hr_str_from(numbered) : path, hlo_shape_leaf(shape, i));
    }
  }
  hr_strbuf_add_str(text, "]\n");
}

/* The function @main, which hlorun runs; NULL: the program has none of this name. */
static const mlir_op_t *find_main(const mlir_module_t *tree) {
  const mlir_region_t *body = tree && tree->op->region_count ? tree->op->regions[0] : NULL;
  const mlir_block_t *block = body && body->blocks.count ? body->blocks.data[0] : NULL;
  for (size_t i = 0; block && i < block->ops.count; i++) {
    const mlir_attr_t *name = mlir_op_attr(block->ops.data[i], "sym_name");
    if (name && hr_str_is(name->text, "main")) return block->ops.data[i];
  }
  return NULL;
}

/* jax.result_info of a result of @main; empty if absent. */
static hr_str_t result_path(const mlir_op_t *function, int index) {
  const mlir_attr_t *results = function ? mlir_op_attr(function, "res_attrs") : NULL;
  bool has_one = results && results->kind == MLIR_ATTR_ARRAY && index < results->count;
  const mlir_attr_t *info =
      has_one ? mlir_attr_field(results->items[index], "jax.result_info") : NULL;
  return info && info->kind == MLIR_ATTR_STRING ? info->text : (hr_str_t){"", 0};
}

/* A result without a path is an element of a list. */
static void print_results(hr_strbuf_t *text, const hlo_module_t *module,
                          const mlir_module_t *tree) {
  const hlo_shape_t *result = hlo_entry_result_shape(module);
  const mlir_op_t *function = find_main(tree);
  hr_strbuf_add_str(text, "RESULTS = [\n");
  for (int r = 0; r < hlo_shape_leaf_count(result); r++)
    add_row(text, result_path(function, r), hlo_shape_leaf(result, r));
  hr_strbuf_add_str(text, "]\n");
}

void cli_python_print(hr_strbuf_t *text, const hlo_module_t *module, const mlir_module_t *tree) {
  hr_strbuf_printf(
      text,
      "\"\"\"Arguments and results of the program %.*s. Written by hlorun.\n\n"
      "save_arguments(\"in.npz\", ...); hlorun --input in.npz --output out.npz PROGRAM; "
      "load_results(\"out.npz\")\n\"\"\"\n\n"
      "import re\n\nimport numpy as np\n\n"
      "# path, element type of HLO, sizes (None: any)\n",
      HR_STR_ARGS(module->name));
  print_parameters(text, module);
  print_results(text, module, tree);
  hr_strbuf_add_str(text, functions);
}
