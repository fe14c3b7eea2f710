/* A cache of MAX_CACHED_SHAPES specializations, keyed by the actual sizes of dynamic argument
 * dimensions, with least-recently-used replacement. A set of sizes whose compilation failed is
 * cached too, so that it is not tried again. After MAX_COMPILED compilations no more are made:
 * sizes that change at every step would cost more than they save. A specialization is used only if
 * its communication instructions equal the program's, in order and in attributes. */
#include "shape_specializations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ir/print.h"
#include "passes/lib/pass_equal.h"

#define MAX_CACHED_SHAPES 8 /* least recently used is replaced */
#define MAX_COMPILED 32     /* compilations per program */

typedef struct variant {
  int64_t *sizes; /* sizes of the dynamic dimensions, in order */
  uint64_t used;  /* time of last use, in calls; 0: free entry */
  compiled_program_t compiled;
  exec_compiled_t *machine; /* NULL: compilation failed for these sizes */
} specialization_t;

/* Communication instructions of a program, in the order of its plan. */
typedef struct comm_summary {
  int count;
  const hlo_instr_t **instrs;
} comm_summary_t;

struct specializations {
  specializations_options_t options;
  hr_arena_t arena;
  int leaf_count, size_count;
  const hlo_shape_t **leaves;  /* as declared */
  int64_t *sizes;              /* key of the current lookup */
  comm_summary_t comm_summary; /* by the program */
  specializations_stats_t figures;
  uint64_t clock;
  specialization_t cached[MAX_CACHED_SHAPES];
};

/* --- sizes --- */

static hr_status_t find_leaves(specializations_t *specializations) {
  const hlo_module_t *module = specializations->options.plan->module;
  int params = (int)module->entry->params.count;
  for (int p = 0; p < params; p++)
    specializations->leaf_count += hlo_shape_leaf_count(hlo_entry_param_shape(module, p));
  HR_TRY(
      HR_NEW_ARRAY(&specializations->arena, specializations->leaf_count, &specializations->leaves));
  for (int p = 0, leaf = 0; p < params; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++)
      specializations->leaves[leaf++] = hlo_shape_leaf(shape, i);
  }
  for (int k = 0; k < specializations->leaf_count; k++)
    for (int d = 0; d < specializations->leaves[k]->rank; d++)
      specializations->size_count +=
          specializations->leaves[k]->dynamic && specializations->leaves[k]->dynamic[d];
  HR_TRY(
      HR_NEW_ARRAY(&specializations->arena, specializations->size_count, &specializations->sizes));
  for (int i = 0; i < MAX_CACHED_SHAPES; i++)
    HR_TRY(HR_NEW_ARRAY(&specializations->arena, specializations->size_count,
                        &specializations->cached[i].sizes));
  return NULL;
}

static void note_sizes(specializations_t *specializations, hlo_value_t *const *args) {
  int count = 0;
  for (int k = 0; k < specializations->leaf_count; k++)
    for (int d = 0; specializations->leaves[k]->dynamic && d < specializations->leaves[k]->rank;
         d++)
      if (specializations->leaves[k]->dynamic[d])
        specializations->sizes[count++] = args[k]->dims[d];
}

static hr_status_t actual_leaves(hr_arena_t *arena, const specializations_t *specializations,
                                 hlo_value_t *const *args, const hlo_shape_t *const **out_leaves) {
  const hlo_shape_t **leaves;
  HR_TRY(HR_NEW_ARRAY(arena, specializations->leaf_count, &leaves));
  for (int k = 0; k < specializations->leaf_count; k++)
    if (hlo_shape_is_array(specializations->leaves[k]))
      HR_TRY(hlo_shape_array(arena, args[k]->dtype, args[k]->rank, args[k]->dims, &leaves[k]));
  *out_leaves = leaves;
  return NULL;
}

/* --- communication --- */

static void add_signature(const plan_body_t *body, comm_summary_t *comm_summary) {
  for (int s = 0; body && s < body->step_count; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    if (!hlo_op_is(instr->op, OP_COMM)) continue;
    if (comm_summary->instrs) comm_summary->instrs[comm_summary->count] = instr;
    comm_summary->count++;
  }
}

static hr_status_t find_signature(hr_arena_t *arena, const plan_t *plan,
                                  comm_summary_t *out_signature) {
  comm_summary_t comm_summary = {0};
  size_t count = plan->module->computations.count;
  for (size_t c = 0; c < count; c++) add_signature(plan->bodies[c], &comm_summary);
  HR_TRY(HR_NEW_ARRAY(arena, comm_summary.count, &comm_summary.instrs));
  comm_summary.count = 0;
  for (size_t c = 0; c < count; c++) add_signature(plan->bodies[c], &comm_summary);
  *out_signature = comm_summary;
  return NULL;
}

static bool has_equal_text(const hlo_instr_t *a, const hlo_instr_t *b) {
  hr_strbuf_t texts[2];
  for (int i = 0; i < 2; i++) {
    hr_strbuf_init(&texts[i]);
    hlo_print_instr(&texts[i], i ? b : a, HLO_PRINT_SHORT);
  }
  hr_status_t st = hr_status_join(hr_strbuf_finish(&texts[0]), hr_strbuf_finish(&texts[1]));
  bool equal = !st && !strcmp(texts[0].data, texts[1].data);
  for (int i = 0; i < 2; i++) hr_strbuf_deinit(&texts[i]);
  hr_status_release(st);
  return equal;
}

/* Equal communication, whatever the operands are called and however they were computed. */
static bool signatures_match(const hlo_instr_t *a, const hlo_instr_t *b) {
  hlo_instr_t plain = *a, alike = *b; /* copies, so that none is printed as the root */
  if (a->operand_count != b->operand_count || a->called_count != b->called_count) return false;
  if (!hr_str_equal(a->parent->name, b->parent->name)) return false;
  for (int k = 0; k < a->operand_count; k++)
    if (!hlo_shape_equal(a->operands[k]->shape, b->operands[k]->shape)) return false;
  for (int c = 0; c < a->called_count; c++)
    if (!pass_computation_equal(a->called[c], b->called[c])) return false;
  alike.name = a->name;
  alike.operands = a->operands;
  alike.called = a->called;
  return has_equal_text(&plain, &alike);
}

/* Peers may run the program itself, or specializations for other sizes. */
static hr_status_t check_same_communication(const specializations_t *specializations,
                                            const compiled_program_t *compiled) {
  comm_summary_t comm_summary;
  HR_TRY(find_signature(&compiled->plan->arena, compiled->plan, &comm_summary));
  bool same = comm_summary.count == specializations->comm_summary.count;
  for (int i = 0; same && i < comm_summary.count; i++)
    same = signatures_match(specializations->comm_summary.instrs[i], comm_summary.instrs[i]);
  return same ? NULL : hr_error(HR_UNSUPPORTED, "specialising it would change its communication");
}

/* --- compilation --- */

/* Each specialization is dumped to a subfolder of the program's folder. */
static hr_status_t dump_dir(hr_arena_t *arena, const specializations_t *specializations,
                            const char **out_folder) {
  char path[4096];
  const char *folder = secure_getenv("HLORUN_DUMP_TO");
  if (!folder) return NULL;
  int size = snprintf(path, sizeof path, "%s/sizes%d", folder, specializations->figures.made);
  if (size >= (int)sizeof path) return hr_error(HR_USAGE, "HLORUN_DUMP_TO is too long a path");
  return hr_arena_cstr(arena, (hr_str_t){path, (size_t)size}, out_folder);
}

static hr_status_t compile_for(const specializations_t *specializations, hlo_value_t *const *args,
                               compiled_program_t *out_compiled) {
  compiler_options_t compiler = specializations->options.compiler;
  hr_arena_t arena;
  hr_arena_init(&arena);
  compiler.unproved = true; /* the proof of the program is that of its copies */
  hr_status_t st = actual_leaves(&arena, specializations, args, &compiler.actual);
  if (!st) st = dump_dir(&arena, specializations, &compiler.dump_dir);
  if (!st)
    st = compile_bytes(specializations->options.name, specializations->options.bytes, &compiler,
                       out_compiled);
  hr_arena_deinit(&arena);
  return st;
}

static void add_times(specializations_stats_t *figures, const compiled_program_t *compiled) {
  figures->read_s += compiled->read_s;
  figures->passes_s += compiled->passes_s;
  figures->plan_s += compiled->plan_s;
  figures->code_s += compiled->code_s;
}

static hr_status_t make(specializations_t *specializations, hlo_value_t *const *args,
                        specialization_t *variant) {
  HR_TRY(compile_for(specializations, args, &variant->compiled));
  add_times(&specializations->figures, &variant->compiled);
  HR_TRY(check_same_communication(specializations, &variant->compiled));
  if (!variant->compiled.flat) return hr_error(HR_UNSUPPORTED, "no flat plan can hold it");
  return specializations->options.make_machine(specializations->options.context, &variant->compiled,
                                               &variant->machine);
}

static void clear(specialization_t *variant) {
  if (variant->machine) { /* progress reports may still refer to its instructions */
    const exec_machine_options_t *options =
        exec_machine_options(exec_compiled_machine(variant->machine));
    if (options->current) atomic_store(options->current, NULL);
  }
  exec_compiled_destroy(variant->machine);
  compiled_program_deinit(&variant->compiled);
  variant->machine = NULL;
}

/* Failed sizes are cached too, so that they are not compiled again. */
static void fill(specializations_t *specializations, hlo_value_t *const *args,
                 specialization_t *variant) {
  clear(variant);
  memcpy(variant->sizes, specializations->sizes,
         (size_t)specializations->size_count * sizeof *variant->sizes);
  specializations->figures.made++;
  hr_status_t st = make(specializations, args, variant);
  if (!st) return;
  hr_log(HR_LOG_JIT, HR_LOG_INFO, "%s runs by reference kernels for these sizes: %s",
         specializations->options.name, hr_status_message(st));
  hr_status_release(st);
  clear(variant);
}

/* --- */

exec_compiled_t *specializations_find(specializations_t *specializations,
                                      hlo_value_t *const *args) {
  size_t bytes = (size_t)specializations->size_count * sizeof *specializations->sizes;
  specialization_t *oldest = &specializations->cached[0], *found = NULL;
  note_sizes(specializations, args);
  for (int i = 0; i < MAX_CACHED_SHAPES && !found; i++) {
    specialization_t *variant = &specializations->cached[i];
    if (variant->used < oldest->used) oldest = variant;
    if (variant->used && !memcmp(variant->sizes, specializations->sizes, bytes)) found = variant;
  }
  specializations->figures.last = NULL;
  if (!found && specializations->figures.made == MAX_COMPILED) return NULL;
  if (!found) fill(specializations, args, found = oldest);
  found->used = ++specializations->clock;
  if (found->machine) specializations->figures.last = &found->compiled;
  return found->machine;
}

specializations_stats_t specializations_stats(const specializations_t *specializations) {
  return specializations->figures;
}

static hr_status_t init(specializations_t *specializations) {
  HR_TRY(hr_arena_cstr(&specializations->arena, hr_str_from(specializations->options.name),
                       &specializations->options.name));
  HR_TRY(find_leaves(specializations));
  return find_signature(&specializations->arena, specializations->options.plan,
                        &specializations->comm_summary);
}

hr_status_t specializations_create(const specializations_options_t *options,
                                   specializations_t **out_variants) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(specializations_t), &memory));
  specializations_t *specializations = memory;
  specializations->options = *options;
  hr_buffer_retain(options->bytes);
  hr_arena_init(&specializations->arena);
  hr_status_t st = init(specializations);
  if (st)
    specializations_destroy(specializations);
  else
    *out_variants = specializations;
  return st;
}

void specializations_destroy(specializations_t *specializations) {
  if (!specializations) return;
  for (int i = 0; i < MAX_CACHED_SHAPES; i++) clear(&specializations->cached[i]);
  hr_buffer_release(specializations->options.bytes);
  hr_arena_deinit(&specializations->arena);
  hr_free(specializations);
}
