/* Parts of random programs for fuzz_memory: parameters, shapes, arrays in bounds. */
#include "memory_maker.h"

#include <stdio.h>
#include <string.h>

uint64_t program_random(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return z ^ (z >> 31);
}

int64_t fuzz_below(maker_t *maker, int64_t limit) {
  return limit > 0 ? (int64_t)(program_random(&maker->random) % (uint64_t)limit) : 0;
}

int64_t fuzz_within(maker_t *maker, int64_t least, int64_t most) {
  return least + fuzz_below(maker, most - least + 1);
}
bool fuzz_chance(maker_t *maker, int one_in) { return fuzz_below(maker, one_in) == 0; }

const char *fuzz_pick_dtype(maker_t *maker) {
  static const char *const dtypes[] = {"s32", "s32", "s32", "f32",  "f32",  "f64", "s64", "u8",
                                       "s8",  "u16", "u32", "pred", "bf16", "f16", "c64", "u64"};
  return dtypes[fuzz_below(maker, (int64_t)(sizeof dtypes / sizeof *dtypes))];
}

bool fuzz_is_integer(const char *dtype) { return *dtype == 's' || *dtype == 'u'; }
bool fuzz_is_real(const char *dtype) { return *dtype == 'f' || *dtype == 'b'; }

int64_t fuzz_pick_size(maker_t *maker) {
  if (fuzz_chance(maker, 12)) return 0;
  if (fuzz_chance(maker, 12)) return fuzz_within(maker, 15, 70);
  return fuzz_within(maker, 1, 6);
}

const char *fuzz_shape_text(const array_t *array, char text[96]) {
  int at = snprintf(text, 96, "%s[", array->dtype);
  for (int d = 0; d < array->rank; d++)
    at += snprintf(text + at, 96 - (size_t)at, "%s%ld", d ? "," : "", (long)array->dims[d]);
  snprintf(text + at, 96 - (size_t)at, "]");
  return text;
}

/* --- arrays --- */

array_t *fuzz_add_array(maker_t *maker, const array_t *shape) {
  if (maker->array_count == MOST_ARRAYS) maker->array_count--;
  array_t *array = &maker->arrays[maker->array_count++];
  *array = *shape;
  array->id = maker->next++;
  array->uses = 0;
  return array;
}

void fuzz_begin_array(maker_t *maker, const array_t *shape) {
  char text[96];
  array_t *array = fuzz_add_array(maker, shape);
  hr_strbuf_printf(&maker->body, "  v%d = %s ", array->id, fuzz_shape_text(array, text));
}

array_t fuzz_add_param(maker_t *maker, const char *dtype, int rank, const int64_t *dims,
                       bool is_index) {
  program_t *program = maker->program;
  array_t shape = {.dtype = dtype, .rank = rank};
  program_param_t *param = &program->params[program->param_count];
  for (int d = 0; d < rank; d++) shape.dims[d] = dims[d];
  *param = (program_param_t){.dtype = dtype, .rank = rank, .is_index = is_index};
  memcpy(param->dims, shape.dims, sizeof param->dims);
  fuzz_begin_array(maker, &shape);
  hr_strbuf_printf(&maker->body, "parameter(%d)\n", program->param_count++);
  return maker->arrays[maker->array_count - 1];
}

bool fuzz_has_room(const maker_t *maker, int params) {
  return maker->program->param_count + params <= ASKED_PARAMS;
}

int fuzz_index_scalar(maker_t *maker) {
  static const char *const dtypes[] = {"s32", "s32", "s64", "u32", "s8", "u64"};
  return fuzz_add_param(maker, dtypes[fuzz_below(maker, 6)], 0, NULL, true).id;
}

array_t fuzz_size_list(maker_t *maker, int64_t count) {
  return fuzz_add_param(maker, fuzz_chance(maker, 4) ? "s64" : "s32", 1, &count, true);
}

void fuzz_be_honest(maker_t *maker, const int64_t *values, int count) {
  program_param_t *param = &maker->program->params[maker->program->param_count - 1];
  if (fuzz_chance(maker, 4)) return;
  param->honest_count = count;
  for (int i = 0; i < count; i++) param->honest[i] = values[i];
}

array_t fuzz_honest_list(maker_t *maker, const int64_t *values, int count) {
  array_t list = fuzz_size_list(maker, count);
  fuzz_be_honest(maker, values, count);
  return list;
}

int fuzz_honest_size(maker_t *maker, int64_t value) {
  int id = fuzz_add_param(maker, "s32", 0, NULL, true).id;
  fuzz_be_honest(maker, &value, 1);
  return id;
}

array_t fuzz_random_param(maker_t *maker) {
  int64_t dims[PROGRAM_MOST_RANK], count = 1;
  int rank = (int)fuzz_within(maker, 0, 3);
  for (int d = 0; d < rank; d++) {
    dims[d] = count > MOST_ELEMENTS / 70 ? fuzz_within(maker, 0, 2) : fuzz_pick_size(maker);
    count *= dims[d];
  }
  return fuzz_add_param(maker, fuzz_pick_dtype(maker), rank, dims, false);
}

array_t fuzz_pick(maker_t *maker) {
  array_t *array = &maker->arrays[fuzz_below(maker, maker->array_count)];
  array->uses++;
  return *array;
}

array_t fuzz_pick_lines(maker_t *maker) {
  for (int tries = 0; tries < 12; tries++) {
    array_t array = fuzz_pick(maker);
    if (array.rank) return array;
  }
  int64_t dims[2] = {fuzz_pick_size(maker), fuzz_pick_size(maker)};
  return fuzz_add_param(maker, fuzz_pick_dtype(maker), 2, dims, false);
}

array_t fuzz_pick_like(maker_t *maker, const array_t *like) {
  for (int tries = 0; tries < 12; tries++) {
    array_t other = fuzz_pick(maker);
    bool fits = !strcmp(other.dtype, like->dtype) && other.rank == like->rank;
    for (int d = 0; fits && d < like->rank; d++) fits = other.dims[d] == like->dims[d];
    if (fits) return other;
  }
  return *like;
}

int fuzz_add_function(maker_t *maker, const char *dtype) {
  static const char *const any[] = {"add", "maximum", "minimum", "multiply"};
  int id = maker->next++;
  const char *op = strcmp(dtype, "pred") == 0 ? "or"
                   : *dtype == 'c'            ? "add"
                                              : any[fuzz_below(maker, 4)];
  hr_strbuf_printf(&maker->functions, "fun%d {\n  a = %s[] parameter(0)\n  b = %s[] parameter(1)\n",
                   id, dtype, dtype);
  hr_strbuf_printf(&maker->functions, "  ROOT c = %s[] %s(a, b)\n}\n", dtype, op);
  if (!fuzz_is_integer(dtype)) maker->program->is_exact = false;
  return id;
}

int fuzz_zero_of(maker_t *maker, const char *dtype) {
  int id = maker->next++;
  const char *zero = *dtype == 'c' ? "(0, 0)" : "0";
  if (strcmp(dtype, "pred") == 0) zero = "false";
  hr_strbuf_printf(&maker->body, "  v%d = %s[] constant(%s)\n", id, dtype, zero);
  return id;
}

void fuzz_print_list(maker_t *maker, const char *before, const int64_t *items, int count,
                     const char *after) {
  hr_strbuf_printf(&maker->body, "%s", before);
  for (int i = 0; i < count; i++)
    hr_strbuf_printf(&maker->body, "%s%ld", i ? "," : "", (long)items[i]);
  hr_strbuf_printf(&maker->body, "%s", after);
}

void fuzz_print_indices(maker_t *maker, const int *ids, int count) {
  for (int d = 0; d < count; d++) hr_strbuf_printf(&maker->body, ", v%d", ids[d]);
}
