/* Random programs for fuzz_memory as text, with their inputs. */
#include "memory_programs.h"

#include <stdio.h>
#include <string.h>

#include "memory_maker.h"

typedef void (*make_fn)(maker_t *maker);

static const make_fn plain_ops[] = {
    make_unary,       make_binary,  make_select,  make_broadcast, make_reshape,
    make_transpose,   make_reverse, make_slice,   make_pad,       make_concatenate,
    make_reduce,      make_window,  make_dot,     make_sort,      make_custom_call,
    make_convolution, make_bitcast, make_factors, make_top_k,     make_select_and_scatter};
static const make_fn hostile_ops[] = {
    make_dynamic_slice, make_dynamic_update,  make_gather,           make_scatter,
    make_loop,          make_conditional,     make_slice_to_dynamic, make_dynamic_pad,
    make_real_slice,    make_dynamic_reshape, make_dynamic_gather,   make_dynamic_top_k,
    make_dynamic_bits,  make_dynamic_window,  make_bounded,          make_feeds};

static bool is_large(const array_t *array) {
  int64_t count = 1;
  for (int d = 0; d < array->rank; d++) count *= array->dims[d];
  return count > MOST_ELEMENTS;
}

/* One operation. An array that became too large is not worked on any more. */
static void make_one(maker_t *maker) {
  if (fuzz_chance(maker, 3))
    hostile_ops[fuzz_below(maker, (int64_t)(sizeof hostile_ops / sizeof *hostile_ops))](maker);
  else
    plain_ops[fuzz_below(maker, (int64_t)(sizeof plain_ops / sizeof *plain_ops))](maker);
  while (maker->array_count > 1 && is_large(&maker->arrays[maker->array_count - 1]))
    maker->array_count--;
}

/* Results: arrays that nothing uses, the last ones first, and some parameters that they may lie
 * over. */
static void end_program(maker_t *maker) {
  program_t *program = maker->program;
  const array_t *results[MOST_RESULTS];
  int count = 0, width = 0;
  char shape[96];
  hr_strbuf_t shapes, names, aliases;
  hr_strbuf_init(&shapes);
  hr_strbuf_init(&names);
  hr_strbuf_init(&aliases);
  for (int a = maker->array_count; a-- > 0 && count < MOST_RESULTS;)
    if (!maker->arrays[a].uses || fuzz_chance(maker, 8)) results[count++] = &maker->arrays[a];
  if (!count) results[count++] = &maker->arrays[maker->array_count - 1];
  for (int r = 0; r < count; r++) {
    hr_strbuf_printf(&shapes, "%s%s", r ? ", " : "", fuzz_shape_text(results[r], shape));
    hr_strbuf_printf(&names, "%sv%d", r ? ", " : "", results[r]->id);
  }
  for (int p = 0, r = 0; p < program->param_count && r < count; p++) {
    const program_param_t *param = &program->params[p];
    bool fits = !strcmp(param->dtype, results[r]->dtype) && param->rank == results[r]->rank &&
                !memcmp(param->dims, results[r]->dims, (size_t)param->rank * sizeof *param->dims);
    if (!fits || fuzz_chance(maker, 3)) continue;
    hr_strbuf_printf(&aliases, "%s{%d}: (%d, {}, may-alias)", width++ ? ", " : "", r++, p);
  }
  hr_strbuf_add_str(&program->text, "HloModule fuzz");
  if (width) hr_strbuf_printf(&program->text, ", input_output_alias={ %s }", aliases.data);
  hr_strbuf_add_char(&program->text, '\n');
  if (maker->functions.size)
    hr_strbuf_add(&program->text, maker->functions.data, maker->functions.size);
  hr_strbuf_printf(&program->text, "ENTRY main {\n%s  ROOT r = (%s) tuple(%s)\n}\n",
                   maker->body.data, shapes.data, names.data);
  hr_strbuf_deinit(&shapes);
  hr_strbuf_deinit(&names);
  hr_strbuf_deinit(&aliases);
}

void program_make(uint64_t seed, program_t *out_program) {
  maker_t maker = {.random = seed * UINT64_C(0xD1342543DE82EF95) + 1, .program = out_program};
  memset(out_program, 0, sizeof *out_program);
  out_program->is_exact = true;
  hr_strbuf_init(&out_program->text);
  hr_strbuf_init(&maker.functions);
  hr_strbuf_init(&maker.body);
  for (int64_t n = fuzz_within(&maker, 1, 3); n > 0; n--) fuzz_random_param(&maker);
  if (fuzz_chance(&maker, 4)) fuzz_index_scalar(&maker);
  for (int64_t n = fuzz_within(&maker, 1, 8); n > 0; n--) make_one(&maker);
  end_program(&maker);
  hr_strbuf_deinit(&maker.functions);
  hr_strbuf_deinit(&maker.body);
}
