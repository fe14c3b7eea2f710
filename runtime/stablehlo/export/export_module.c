/* Computations, functions and the module. The entry becomes @main; a computation that a call names
 * becomes a private function, made once, after its caller; all others become regions or are
 * inlined at their call. Tuples are flattened: parameters and results are their leaves. Inlining
 * duplicates computations, hence the limits EXPORT_MAX_DEPTH and EXPORT_FREE_OPS. */
#include "base/log.h"
#include "stablehlo/export/export.h"

#define SAME NULL
#define I64(name, key) \
  { EXPORT_I64, name, HLO_ATTR_##key, NULL }
#define I32(name, key) \
  { EXPORT_I32, name, HLO_ATTR_##key, NULL }
#define F32(name, key) \
  { EXPORT_F32, name, HLO_ATTR_##key, NULL }
#define STR(name, key) \
  { EXPORT_STR, name, HLO_ATTR_##key, NULL }
#define INTS(name, key) \
  { EXPORT_INTS, name, HLO_ATTR_##key, NULL }
#define BOOL(name, key) \
  { EXPORT_BOOL, name, HLO_ATTR_##key, NULL }
#define UNIT(name, key) \
  { EXPORT_UNIT, name, HLO_ATTR_##key, NULL }
#define ENUM(name, key, enum_name) \
  { EXPORT_ENUM, name, HLO_ATTR_##key, enum_name }
#define DIM(name) \
  { EXPORT_DIM, name, HLO_ATTR_DIMENSIONS, NULL }

/* Rows by opcode; ops without a row have neither function nor attributes. Lists end with zeros,
 * which is EXPORT_END. */
static const struct {
  const char *name;
  export_fn *export;
  export_attr_row_t attrs[5];
} table[HLO_OPCODE_COUNT] = {
#define EXPORT(op, name, function, ...) [HLO_##op] = {name, export_##function, {__VA_ARGS__}},
#include "stablehlo/export/export.def"
#undef EXPORT
};

/* --- instructions --- */

/* The row's name, or "stablehlo." and the name in ops.def; NULL: StableHLO has no such op. */
static const char *op_name(exporter_t *exporter, hlo_opcode_t op) {
  const char *name = table[op].name;
  if (!name && hlo_op_table[op].stablehlo_name[0])
    export_keep(exporter, hr_arena_printf(exporter->arena, &name, "stablehlo.%s",
                                          hlo_op_table[op].stablehlo_name));
  return name;
}

/* StableHLO has one recv for HLO's recv and recv-done: attributes of the start (pairs of ranks,
 * sharding, metadata) are merged into those of the done. */
static const hlo_extra_t *both_halves(exporter_t *exporter, const hlo_instr_t *instr) {
  const hlo_instr_t *start = instr->op == HLO_RECV_DONE ? instr->operands[0] : NULL;
  if (!start || start->op != HLO_RECV || !start->extra) return instr->extra;
  hlo_extra_t *extra = export_alloc(exporter, 1, sizeof *extra);
  if (!extra) return NULL;
  if (instr->extra) *extra = *instr->extra;
  if (start->extra->frontend_attributes.count)
    extra->frontend_attributes = start->extra->frontend_attributes;
  if (!extra->sharding) extra->sharding = start->extra->sharding;
  if (!extra->metadata) extra->metadata = start->extra->metadata;
  return extra;
}

/* Adds the instruction's attributes to the last op made for it. Without an op they are lost; lost
 * control dependencies are counted and reported at the end. */
static void attach_extra(export_frame_t *frame, const hlo_instr_t *instr, size_t ops_before) {
  exporter_t *exporter = frame->exporter;
  export_attrs_t attrs = {.count = 0};
  if (export_failed(frame)) return;
  if (frame->block->ops.count == ops_before) {
    if (instr->extra && instr->extra->control_count && !exporter->lost_orders++)
      exporter->first_lost = instr;
    return;
  }
  hlo_instr_t said = *instr;
  said.extra = both_halves(exporter, instr);
  export_extra(exporter, &said, frame->awaited && frame->awaited[instr->id], &attrs);
  if (attrs.count && !export_failed(frame))
    export_add_to_op(frame->exporter, frame->block->ops.data[frame->block->ops.count - 1], &attrs);
}

/* Exports by the row of the opcode. Attributes of an inlined call are not added to the ops of its
 * body. */
static void export_instr(export_frame_t *frame, const hlo_instr_t *instr) {
  exporter_t *exporter = frame->exporter;
  export_row_t row = {op_name(exporter, instr->op), table[instr->op].export,
                      table[instr->op].attrs};
  size_t ops_before = frame->block->ops.count;
  exporter->instr = instr;
  if (!row.export) {
    export_error(frame, instr, "StableHLO has no form of %s", hlo_op_name(instr->op));
    return;
  }
  row.export(frame, instr, &row);
  exporter->instr = instr;
  /* ops of an inlined body belong to other instructions */
  attach_extra(frame, instr, row.export == export_inlined ? frame->block->ops.count : ops_before);
}

/* Parameters take consecutive arguments, one for each leaf. */
static void set_parameters(export_frame_t *frame, const hlo_computation_t *computation,
                           const export_values_t *args) {
  int at = 0;
  for (size_t p = 0; p < computation->params.count; p++) {
    const hlo_instr_t *param = computation->params.data[p];
    int count = hlo_shape_leaf_count(param->shape);
    if (at + count > args->count) {
      export_error(frame, param, "the caller gives %d arguments", args->count);
      return;
    }
    export_set(frame, param, (export_values_t){count, args->items + at});
    at += count;
  }
}

/* Writes the instructions into `block` and returns the leaves of the root; `args` are the leaves
 * of the parameters. */
export_values_t export_computation(exporter_t *exporter, const hlo_computation_t *computation,
                                   mlir_block_t *block, const export_values_t *args) {
  export_frame_t frame = {exporter, block, NULL, NULL};
  frame.values = export_alloc(exporter, computation->instrs.count, sizeof *frame.values);
  if (!exporter->status)
    export_keep(exporter, export_find_awaited(exporter, computation, &frame.awaited));
  const hlo_instr_t *outer = exporter->instr;
  if (++exporter->depth > EXPORT_MAX_DEPTH)
    export_error(&frame, computation->root, "computations nest more than %d deep",
                 EXPORT_MAX_DEPTH);
  if (exporter->status) return (export_values_t){0, NULL};
  set_parameters(&frame, computation, args);
  for (size_t i = 0; i < computation->instrs.count && !exporter->status; i++)
    if (computation->instrs.data[i]->op != HLO_PARAMETER)
      export_instr(&frame, computation->instrs.data[i]);
  exporter->instr = outer;
  exporter->depth--;
  return exporter->status ? (export_values_t){0, NULL} : frame.values[computation->root->id];
}

/* --- regions --- */

/* Makes empty regions of the op; export_region fills them in. */
void export_alloc_regions(export_frame_t *frame, mlir_op_t *op, int count) {
  mlir_region_t **regions =
      op ? export_alloc(frame->exporter, (size_t)count, sizeof *regions) : NULL;
  for (int r = 0; regions && r < count; r++) {
    regions[r] = export_alloc(frame->exporter, 1, sizeof *regions[r]);
    if (regions[r]) regions[r]->parent = op;
  }
  if (!op || export_failed(frame)) return;
  op->regions = regions;
  op->region_count = count;
}

/* Adds a block argument for each leaf of the parameters. */
static export_values_t add_arguments(exporter_t *exporter, mlir_block_t *block,
                                     const hlo_computation_t *computation) {
  int count = hlo_computation_param_leaf_count(computation), at = 0;
  block->args = export_alloc(exporter, (size_t)count, sizeof *block->args);
  mlir_value_t **items = export_alloc(exporter, (size_t)count, sizeof *items);
  for (size_t p = 0; p < computation->params.count; p++) {
    export_types_t types = export_leaf_types(exporter, computation->params.data[p]->shape);
    for (int i = 0; i < types.count; i++, at++) {
      block->args[at] = (mlir_value_t){.type = types.items[i], .block = block, .index = at};
      items[at] = &block->args[at];
    }
  }
  block->arg_count = exporter->status ? 0 : count;
  return (export_values_t){block->arg_count, items};
}

/* Adds the terminator, which has no location. */
static void add_return(exporter_t *exporter, mlir_block_t *block, const char *name,
                       export_values_t values) {
  export_frame_t frame = {exporter, block, NULL, NULL};
  mlir_op_t *op = export_op(&frame, name, values.count, values.items, 0, NULL, NULL);
  if (op) op->location = NULL;
}

/* Writes a computation into region `index`, with new block arguments or with `args` as its
 * parameters. */
void export_region(export_frame_t *frame, mlir_op_t *op, int index,
                   const hlo_computation_t *computation, const export_values_t *args) {
  exporter_t *exporter = frame->exporter;
  mlir_block_t *block;
  if (!op || export_failed(frame)) return;
  if (export_keep(exporter, mlir_region_add_block(exporter->to, op->regions[index], &block)))
    return;
  export_values_t given = args ? *args : add_arguments(exporter, block, computation);
  add_return(exporter, block, "stablehlo.return",
             export_computation(exporter, computation, block, &given));
}

/* --- functions --- */

/* An unused function name: `wanted`, with a number if it is taken. */
static hr_str_t new_symbol(exporter_t *exporter, hr_str_t wanted) {
  hr_str_t name = export_text(exporter, wanted);
  for (int i = 0; !exporter->status && hr_map_get(&exporter->symbols, name); i++) {
    const char *numbered = NULL;
    export_keep(exporter,
                hr_arena_printf(exporter->arena, &numbered, "%.*s_%d", HR_STR_ARGS(wanted), i));
    name = hr_str_from(numbered);
  }
  if (!exporter->status)
    export_keep(exporter, hr_map_put(&exporter->symbols, name, exporter, NULL));
  return name;
}

/* Queues a function, written after the current one (export_module), as functions are not nested. */
static hr_status_t push_pending(exporter_t *exporter, const hlo_computation_t *computation) {
  HR_VEC_PUSH(&exporter->pending, computation);
  return NULL;
}

/* The name of a computation's function, which is written later. */
hr_str_t export_function_name(exporter_t *exporter, const hlo_computation_t *computation) {
  if (exporter->status) return (hr_str_t){"", 0};
  if (!exporter->names[computation->id].size) {
    exporter->names[computation->id] = new_symbol(exporter, computation->name);
    export_keep(exporter, push_pending(exporter, computation));
  }
  return exporter->names[computation->id];
}

/* Number of the argument for an alias's parameter; -1: none. */
int export_argument_of(const exporter_t *exporter, const hlo_alias_t *alias) {
  const hlo_computation_t *entry = exporter->from->entry;
  if (alias->operand < 0 || (size_t)alias->operand >= entry->params.count) return -1;
  int leaf = hlo_shape_leaf_at(entry->params.data[alias->operand]->shape, alias->operand_index);
  return leaf < 0 ? -1 : exporter->argument_starts[alias->operand] + leaf;
}

/* What the aliases say of the entry's arguments, by number; NULL: nothing, for other functions. */
typedef struct donations {
  bool *is_donor;
  int *result; /* 1 + number of the result that overwrites the argument; 0: none */
} donations_t;

/* The first alias of an argument counts. */
static void find_donations(exporter_t *exporter, int count, donations_t *donations) {
  const hlo_module_t *from = exporter->from;
  const hlo_aliasing_t *aliasing = &from->input_output_alias, *donors = &from->buffer_donor;
  donations->is_donor = export_alloc(exporter, (size_t)count, sizeof *donations->is_donor);
  donations->result = export_alloc(exporter, (size_t)count, sizeof *donations->result);
  if (exporter->status) return;
  for (int i = 0; i < donors->count; i++) {
    int argument = export_argument_of(exporter, &donors->aliases[i]);
    if (argument >= 0) donations->is_donor[argument] = true;
  }
  for (int i = 0; i < aliasing->count; i++) {
    int argument = export_argument_of(exporter, &aliasing->aliases[i]);
    int result = hlo_shape_leaf_at(from->entry->root->shape, aliasing->aliases[i].output_index);
    if (argument >= 0 && result >= 0 && !donations->result[argument])
      donations->result[argument] = 1 + result;
  }
}

/* tf.aliasing_output names the result of an alias, jax.buffer_donor is a donation without one. */
static void add_donations(exporter_t *exporter, const donations_t *donations, int argument,
                          export_attrs_t *attrs) {
  const mlir_attr_t *yes = NULL;
  if (donations->is_donor && donations->is_donor[argument]) {
    export_keep(exporter, mlir_make_bool(exporter->arena, true, &yes));
    export_add(exporter, attrs, "jax.buffer_donor", yes);
  }
  if (donations->result && donations->result[argument])
    export_add(exporter, attrs, "tf.aliasing_output",
               export_integer(exporter, donations->result[argument] - 1, 32));
}

/* parameter_replication of one leaf. */
static void add_replication(exporter_t *exporter, const hlo_extra_t *extra, int leaf,
                            export_attrs_t *attrs) {
  const mlir_attr_t *flag = NULL;
  if (!extra || leaf >= extra->replication_count || exporter->status) return;
  export_keep(exporter, mlir_make_bool(exporter->arena, extra->replication[leaf], &flag));
  export_add(exporter, attrs, "mhlo.parameter_replication", export_array(exporter, 1, &flag));
}

/* One leaf's part of the instruction's sharding; NULL: none. */
static const hlo_sharding_t *leaf_sharding(const hlo_instr_t *instr, int leaf) {
  const hlo_sharding_t *sharding = instr->extra ? instr->extra->sharding : NULL;
  if (!sharding || sharding->kind != HLO_TILE_KIND_TUPLE) return sharding;
  return leaf < sharding->element_count ? sharding->elements[leaf] : NULL;
}

/* DictionaryAttr of the collected attributes; NULL after a failure. */
static const mlir_attr_t *dict_of(exporter_t *exporter, const export_attrs_t *attrs) {
  const mlir_attr_t *dict = NULL;
  if (!exporter->status)
    export_keep(exporter, mlir_make_dict(exporter->arena, attrs->count, attrs->items, &dict));
  return dict;
}

/* Adds arg_attrs or res_attrs, with a dictionary for each value, unless all are empty. */
static void add_dicts(exporter_t *exporter, const char *name, int count,
                      const mlir_attr_t *const *dicts, export_attrs_t *attrs) {
  for (int i = 0; !exporter->status && i < count; i++)
    if (dicts[i]->count) {
      export_add(exporter, attrs, name, export_array(exporter, count, dicts));
      return;
    }
}

/* hlo.* attributes describe the whole parameter: they are omitted for a flattened tuple. */
static void add_parameter_extra(exporter_t *exporter, const hlo_instr_t *param, int leaves,
                                export_attrs_t *attrs) {
  static const hlo_name_values_t none;
  export_attrs_t notes = {.count = 0};
  if (leaves == 1) export_frontend_attrs(exporter, param, false, &notes);
  export_frontend(exporter, param->extra ? &param->extra->frontend_attributes : &none, &notes,
                  attrs);
}

/* Adds shardings, replication, frontend attributes and donations of each argument. */
static void add_argument_attrs(exporter_t *exporter, const hlo_computation_t *function, int count,
                               export_attrs_t *attrs) {
  const mlir_attr_t **dicts = export_alloc(exporter, (size_t)count, sizeof *dicts);
  donations_t donations = {NULL, NULL};
  int at = 0;
  if (function == exporter->from->entry) find_donations(exporter, count, &donations);
  for (size_t p = 0; !exporter->status && p < function->params.count; p++) {
    const hlo_instr_t *param = function->params.data[p];
    int leaves = hlo_shape_leaf_count(param->shape);
    for (int leaf = 0; leaf < leaves; leaf++, at++) {
      export_attrs_t own = {.count = 0};
      const hlo_sharding_t *sharding = leaf_sharding(param, leaf);
      add_parameter_extra(exporter, param, leaves, &own);
      if (sharding)
        export_add(exporter, &own, "mhlo.sharding", export_sharding(exporter, sharding));
      add_replication(exporter, param->extra, leaf, &own);
      add_donations(exporter, &donations, at, &own);
      dicts[at] = dict_of(exporter, &own);
    }
  }
  add_dicts(exporter, "arg_attrs", count, dicts, attrs);
}

/* Adds shardings of the results. */
static void add_result_attrs(exporter_t *exporter, const hlo_computation_t *function, int count,
                             export_attrs_t *attrs) {
  const mlir_attr_t **dicts = export_alloc(exporter, (size_t)count, sizeof *dicts);
  for (int i = 0; dicts && i < count; i++) {
    export_attrs_t own = {.count = 0};
    const hlo_sharding_t *sharding = leaf_sharding(function->root, i);
    if (sharding) export_add(exporter, &own, "mhlo.sharding", export_sharding(exporter, sharding));
    dicts[i] = dict_of(exporter, &own);
  }
  add_dicts(exporter, "res_attrs", count, dicts, attrs);
}

/* Types of the arguments and of the results' leaves. */
static const mlir_attr_t *function_type(exporter_t *exporter, const mlir_block_t *block,
                                        export_types_t results) {
  mlir_type_t *type = export_alloc(exporter, 1, sizeof *type);
  const mlir_type_t **inputs = export_alloc(exporter, (size_t)block->arg_count, sizeof *inputs);
  const mlir_attr_t *attr = NULL;
  if (exporter->status) return NULL;
  for (int i = 0; i < block->arg_count; i++) inputs[i] = block->args[i].type;
  *type = (mlir_type_t){.kind = MLIR_TYPE_FUNCTION,
                        .input_count = block->arg_count,
                        .result_count = results.count,
                        .inputs = inputs,
                        .results = results.items};
  export_keep(exporter, mlir_make_type_attr(exporter->arena, type, &attr));
  return attr;
}

/* Sets name, visibility and type. */
static void set_function_attrs(exporter_t *exporter, mlir_op_t *op,
                               const hlo_computation_t *function, const mlir_block_t *block) {
  export_attrs_t attrs = {.count = 0};
  bool is_entry = function == exporter->from->entry;
  export_types_t results = export_leaf_types(exporter, function->root->shape);
  export_add(exporter, &attrs, "sym_name", export_string(exporter, exporter->names[function->id]));
  export_add(exporter, &attrs, "function_type", function_type(exporter, block, results));
  export_add(exporter, &attrs, "sym_visibility",
             export_string(exporter, is_entry ? HR_STR("public") : HR_STR("private")));
  add_argument_attrs(exporter, function, block->arg_count, &attrs);
  if (is_entry) add_result_attrs(exporter, function, results.count, &attrs);
  const mlir_attr_t *dict = dict_of(exporter, &attrs);
  if (!dict) return;
  op->attrs = dict->fields;
  op->attr_count = dict->count;
}

/* The op is made before its body, whose ops need their parent. */
static void export_function(exporter_t *exporter, const hlo_computation_t *function) {
  export_frame_t top = {exporter, exporter->top, NULL, NULL};
  mlir_block_t *block;
  exporter->instr = function->root;
  mlir_op_t *op = export_op(&top, "func.func", 0, NULL, 0, NULL, NULL);
  export_alloc_regions(&top, op, 1);
  if (exporter->status ||
      export_keep(exporter, mlir_region_add_block(exporter->to, op->regions[0], &block)))
    return;
  export_values_t args = add_arguments(exporter, block, function);
  add_return(exporter, block, "func.return", export_computation(exporter, function, block, &args));
  set_function_attrs(exporter, op, function, block);
}

/* --- the module --- */

/* Sets name, sizes of the grid, frontend attributes and hlo.module. */
static void set_module_attrs(exporter_t *exporter, mlir_op_t *op) {
  const hlo_module_t *from = exporter->from;
  export_attrs_t attrs = {.count = 0};
  export_attrs_t notes = {.count = 0};
  export_add(exporter, &attrs, "sym_name", export_string(exporter, from->name));
  export_module_frontend_attrs(exporter, &notes);
  export_frontend(exporter, &from->frontend_attributes, &notes, &attrs);
  export_add(exporter, &attrs, "mhlo.num_partitions",
             export_integer(exporter, from->num_partitions, 32));
  export_add(exporter, &attrs, "mhlo.num_replicas",
             export_integer(exporter, from->replica_count, 32));
  if (!exporter->status) export_add_to_op(exporter, op, &attrs);
}

/* Errors on ops of the tree quote the source program. */
static void set_source(exporter_t *exporter) {
  exporter->to->source = exporter->from->source;
  if (exporter->from->source_buffer)
    exporter->to->source_buffer = hr_buffer_retain(exporter->from->source_buffer);
  if (exporter->from->source.path)
    exporter->to->source.path =
        export_text(exporter, hr_str_from(exporter->from->source.path)).data;
}

/* Some ops are written as several. */
static int64_t most_ops(const hlo_module_t *from) {
  int64_t count = EXPORT_FREE_OPS;
  for (size_t c = 0; c < from->computations.count; c++)
    count += 16 * (int64_t)from->computations.data[c]->instrs.count;
  return count;
}

static void number_arguments(exporter_t *exporter) {
  const hlo_computation_t *entry = exporter->from->entry;
  int at = 0;
  exporter->argument_starts =
      export_alloc(exporter, entry->params.count, sizeof *exporter->argument_starts);
  for (size_t p = 0; !exporter->status && p < entry->params.count; p++) {
    exporter->argument_starts[p] = at;
    at += hlo_shape_leaf_count(entry->params.data[p]->shape);
  }
}

/* The entry is first; functions made pending by calls follow in the order of their first call. */
static void export_module(exporter_t *exporter) {
  mlir_op_t *op = export_alloc(exporter, 1, sizeof *op);
  exporter->names =
      export_alloc(exporter, exporter->from->computations.count, sizeof *exporter->names);
  number_arguments(exporter);
  set_source(exporter);
  if (exporter->status) return;
  op->name = HR_STR("builtin.module");
  exporter->to->op = op;
  export_frame_t top = {exporter, NULL, NULL, NULL};
  export_alloc_regions(&top, op, 1);
  if (exporter->status ||
      export_keep(exporter, mlir_region_add_block(exporter->to, op->regions[0], &exporter->top)))
    return;
  set_module_attrs(exporter, op);
  exporter->names[exporter->from->entry->id] = new_symbol(exporter, HR_STR("main"));
  export_function(exporter, exporter->from->entry);
  for (size_t i = 0; i < exporter->pending.count && !exporter->status; i++)
    export_function(exporter, exporter->pending.data[i]);
}

/* Warns once of lost control dependencies. The caller destroys the tree, after a failure too. */
hr_status_t stablehlo_export(const hlo_module_t *from, mlir_module_t *to) {
  exporter_t exporter = {.from = from, .to = to, .arena = &to->arena, .most_ops = most_ops(from)};
  export_module(&exporter);
  if (exporter.lost_orders)
    hr_log(HR_LOG_READ, HR_LOG_WARN,
           "the control predecessors of %d instructions are left out, for StableHLO has no op "
           "for them; the first is %.*s, a %s",
           exporter.lost_orders, HR_STR_ARGS(exporter.first_lost->name),
           hlo_op_name(exporter.first_lost->op));
  hr_map_deinit(&exporter.symbols);
  HR_VEC_FREE(&exporter.pending);
  return exporter.status;
}
