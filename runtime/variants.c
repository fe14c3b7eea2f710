#include "variants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "ir/print.h"
#include "passes/pass_equal.h"

#define MOST_KEPT 8  /* that were used last */
#define MOST_MADE 32 /* sizes that differ from step to step would cost more than they save */

typedef struct variant {
  int64_t *sizes; /* of the dynamic dimensions, in order */
  uint64_t used;  /* when, counted in calls; 0: the place is free */
  compiled_program_t compiled;
  exec_compiled_t *machine; /* NULL: there is none for these sizes */
} variant_t;

/* What a program says to its peers, in the order of the plan. */
typedef struct said {
  int count;
  const hlo_instr_t **instrs;
} said_t;

struct variants {
  variants_options_t options;
  hr_arena_t arena;
  int leaf_count, size_count;
  const hlo_shape_t **leaves; /* as declared */
  int64_t *sizes;             /* that are looked for */
  said_t said;                /* by the program */
  variants_figures_t figures;
  uint64_t clock;
  variant_t kept[MOST_KEPT];
};

/* --- sizes --- */

static hr_status_t find_leaves(variants_t *variants) {
  const hlo_module_t *module = variants->options.plan->module;
  int params = (int)module->entry->params.count;
  for (int p = 0; p < params; p++) variants->leaf_count += hlo_shape_leaf_count(hlo_entry_param_shape(module, p));
  HR_TRY(HR_NEW_ARRAY(&variants->arena, variants->leaf_count, &variants->leaves));
  for (int p = 0, leaf = 0; p < params; p++) {
    const hlo_shape_t *shape = hlo_entry_param_shape(module, p);
    for (int i = 0; i < hlo_shape_leaf_count(shape); i++) variants->leaves[leaf++] = hlo_shape_leaf(shape, i);
  }
  for (int k = 0; k < variants->leaf_count; k++)
    for (int d = 0; d < variants->leaves[k]->rank; d++)
      variants->size_count += variants->leaves[k]->dynamic && variants->leaves[k]->dynamic[d];
  HR_TRY(HR_NEW_ARRAY(&variants->arena, variants->size_count, &variants->sizes));
  for (int i = 0; i < MOST_KEPT; i++)
    HR_TRY(HR_NEW_ARRAY(&variants->arena, variants->size_count, &variants->kept[i].sizes));
  return NULL;
}

static void note_sizes(variants_t *variants, hlo_value_t *const *args) {
  int count = 0;
  for (int k = 0; k < variants->leaf_count; k++)
    for (int d = 0; variants->leaves[k]->dynamic && d < variants->leaves[k]->rank; d++)
      if (variants->leaves[k]->dynamic[d]) variants->sizes[count++] = args[k]->dims[d];
}

static hr_status_t actual_leaves(hr_arena_t *arena, const variants_t *variants, hlo_value_t *const *args,
                                 const hlo_shape_t *const **out_leaves) {
  const hlo_shape_t **leaves;
  HR_TRY(HR_NEW_ARRAY(arena, variants->leaf_count, &leaves));
  for (int k = 0; k < variants->leaf_count; k++)
    if (hlo_shape_is_array(variants->leaves[k]))
      HR_TRY(hlo_shape_array(arena, args[k]->dtype, args[k]->rank, args[k]->dims, &leaves[k]));
  *out_leaves = leaves;
  return NULL;
}

/* --- what is said to peers --- */

static void add_said(const plan_body_t *body, said_t *said) {
  for (int s = 0; body && s < body->step_count; s++) {
    const hlo_instr_t *instr = body->steps[s].op.instr;
    if (!hlo_op_is(instr->op, OP_COMM)) continue;
    if (said->instrs) said->instrs[said->count] = instr;
    said->count++;
  }
}

static hr_status_t find_said(hr_arena_t *arena, const plan_t *plan, said_t *out_said) {
  said_t said = {0};
  size_t count = plan->module->computations.count;
  for (size_t c = 0; c < count; c++) add_said(plan->bodies[c], &said);
  HR_TRY(HR_NEW_ARRAY(arena, said.count, &said.instrs));
  said.count = 0;
  for (size_t c = 0; c < count; c++) add_said(plan->bodies[c], &said);
  *out_said = said;
  return NULL;
}

static bool has_equal_text(const hlo_instr_t *a, const hlo_instr_t *b) {
  hr_text_t texts[2];
  for (int i = 0; i < 2; i++) {
    hr_text_init(&texts[i]);
    hlo_print_instr(&texts[i], i ? b : a, HLO_PRINT_SHORT);
  }
  hr_status_t st = hr_status_join(hr_text_finish(&texts[0]), hr_text_finish(&texts[1]));
  bool equal = !st && !strcmp(texts[0].data, texts[1].data);
  for (int i = 0; i < 2; i++) hr_text_deinit(&texts[i]);
  hr_status_release(st);
  return equal;
}

/* The same in the same place, whatever the values are called and however they were computed. */
static bool is_said_alike(const hlo_instr_t *a, const hlo_instr_t *b) {
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

/* Peers may run the program itself, or copies for other sizes. */
static hr_status_t check_says_the_same(const variants_t *variants, const compiled_program_t *compiled) {
  said_t said;
  HR_TRY(find_said(&compiled->plan->arena, compiled->plan, &said));
  bool same = said.count == variants->said.count;
  for (int i = 0; same && i < said.count; i++) same = is_said_alike(variants->said.instrs[i], said.instrs[i]);
  return same ? NULL : hr_error(HR_UNSUPPORTED, "with static sizes it would say something else to its peers");
}

/* --- making one --- */

/* A folder for each beside the stages of the program itself. */
static hr_status_t dump_dir(hr_arena_t *arena, const variants_t *variants, const char **out_folder) {
  char path[4096];
  const char *folder = secure_getenv("HLORUN_DUMP_TO");
  if (!folder) return NULL;
  int size = snprintf(path, sizeof path, "%s/sizes%d", folder, variants->figures.made);
  if (size >= (int)sizeof path) return hr_error(HR_USAGE, "HLORUN_DUMP_TO is too long a path");
  return hr_arena_cstr(arena, (hr_str_t){path, (size_t)size}, out_folder);
}

static hr_status_t compile_for(const variants_t *variants, hlo_value_t *const *args, compiled_program_t *out_compiled) {
  compiler_options_t compiler = variants->options.compiler;
  hr_arena_t arena;
  hr_arena_init(&arena);
  compiler.unproved = true; /* the proof of the program is that of its copies */
  hr_status_t st = actual_leaves(&arena, variants, args, &compiler.actual);
  if (!st) st = dump_dir(&arena, variants, &compiler.dump_dir);
  if (!st) st = compile_bytes(variants->options.name, variants->options.bytes, &compiler, out_compiled);
  hr_arena_deinit(&arena);
  return st;
}

static void add_times(variants_figures_t *figures, const compiled_program_t *compiled) {
  figures->read_s += compiled->read_s;
  figures->passes_s += compiled->passes_s;
  figures->plan_s += compiled->plan_s;
  figures->code_s += compiled->code_s;
}

static hr_status_t make(variants_t *variants, hlo_value_t *const *args, variant_t *variant) {
  HR_TRY(compile_for(variants, args, &variant->compiled));
  add_times(&variants->figures, &variant->compiled);
  HR_TRY(check_says_the_same(variants, &variant->compiled));
  if (!variant->compiled.flat) return hr_error(HR_UNSUPPORTED, "no flat plan can hold it");
  return variants->options.make_machine(variants->options.context, &variant->compiled, &variant->machine);
}

static void clear(variant_t *variant) {
  if (variant->machine) { /* nobody may look at an instruction of it any more */
    const exec_machine_options_t *options = exec_machine_options(exec_compiled_machine(variant->machine));
    if (options->current) atomic_store(options->current, NULL);
  }
  exec_compiled_destroy(variant->machine);
  compiled_program_deinit(&variant->compiled);
  variant->machine = NULL;
}

/* The sizes are kept also of what cannot be made, so that nobody tries again. */
static void fill(variants_t *variants, hlo_value_t *const *args, variant_t *variant) {
  clear(variant);
  memcpy(variant->sizes, variants->sizes, (size_t)variants->size_count * sizeof *variant->sizes);
  variants->figures.made++;
  hr_status_t st = make(variants, args, variant);
  if (!st) return;
  hr_log(HR_LOG_JIT, HR_LOG_INFO, "%s runs by reference kernels for these sizes: %s", variants->options.name,
         hr_status_message(st));
  hr_status_release(st);
  clear(variant);
}

/* --- */

exec_compiled_t *variants_find(variants_t *variants, hlo_value_t *const *args) {
  size_t bytes = (size_t)variants->size_count * sizeof *variants->sizes;
  variant_t *oldest = &variants->kept[0], *found = NULL;
  note_sizes(variants, args);
  for (int i = 0; i < MOST_KEPT && !found; i++) {
    variant_t *variant = &variants->kept[i];
    if (variant->used < oldest->used) oldest = variant;
    if (variant->used && !memcmp(variant->sizes, variants->sizes, bytes)) found = variant;
  }
  variants->figures.last = NULL;
  if (!found && variants->figures.made == MOST_MADE) return NULL;
  if (!found) fill(variants, args, found = oldest);
  found->used = ++variants->clock;
  if (found->machine) variants->figures.last = &found->compiled;
  return found->machine;
}

variants_figures_t variants_figures(const variants_t *variants) { return variants->figures; }

static hr_status_t init(variants_t *variants) {
  HR_TRY(hr_arena_cstr(&variants->arena, hr_str_from(variants->options.name), &variants->options.name));
  HR_TRY(find_leaves(variants));
  return find_said(&variants->arena, variants->options.plan, &variants->said);
}

hr_status_t variants_create(const variants_options_t *options, variants_t **out_variants) {
  void *memory;
  HR_TRY(hr_alloc_zeroed(sizeof(variants_t), &memory));
  variants_t *variants = memory;
  variants->options = *options;
  hr_buffer_retain(options->bytes);
  hr_arena_init(&variants->arena);
  hr_status_t st = init(variants);
  if (st)
    variants_destroy(variants);
  else
    *out_variants = variants;
  return st;
}

void variants_destroy(variants_t *variants) {
  if (!variants) return;
  for (int i = 0; i < MOST_KEPT; i++) clear(&variants->kept[i]);
  hr_buffer_release(variants->options.bytes);
  hr_arena_deinit(&variants->arena);
  hr_free(variants);
}
