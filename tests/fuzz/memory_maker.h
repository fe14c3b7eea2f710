/* A random program under construction, for the files that add operations to it. */
#ifndef FUZZ_MEMORY_MAKER_H
#define FUZZ_MEMORY_MAKER_H

#include "memory_programs.h"

typedef struct array {
  int id;
  const char *dtype;
  int rank;
  int64_t dims[PROGRAM_MOST_RANK];
  int uses;
} array_t;

enum {
  MOST_ARRAYS = 64,
  MOST_RESULTS = 5,
  ASKED_PARAMS = 24 /* a few more are made without asking */,
  MOST_ELEMENTS = 4096
};

typedef struct maker {
  uint64_t random;
  program_t *program;
  hr_strbuf_t functions, body;
  int next; /* number of an instruction or function */
  int array_count;
  array_t arrays[MOST_ARRAYS];
} maker_t;

int64_t fuzz_below(maker_t *maker, int64_t limit);
int64_t fuzz_within(maker_t *maker, int64_t least, int64_t most);
bool fuzz_chance(maker_t *maker, int one_in);
bool fuzz_is_integer(const char *dtype);
bool fuzz_is_real(const char *dtype);
int64_t fuzz_pick_size(maker_t *maker);
const char *fuzz_pick_dtype(maker_t *maker);
const char *fuzz_shape_text(const array_t *array, char text[96]);
array_t *fuzz_add_array(maker_t *maker, const array_t *shape);
/* "  vN = SHAPE ": the caller adds the operation and the line's end. */
void fuzz_begin_array(maker_t *maker, const array_t *shape);
array_t fuzz_add_param(maker_t *maker, const char *dtype, int rank, const int64_t *dims,
                       bool is_index);
bool fuzz_has_room(const maker_t *maker, int params);
/* A number that only the run knows. */
int fuzz_index_scalar(maker_t *maker);
array_t fuzz_size_list(maker_t *maker, int64_t count);
/* The parameter made last has these values, more often than not. */
void fuzz_be_honest(maker_t *maker, const int64_t *values, int count);
array_t fuzz_honest_list(maker_t *maker, const int64_t *values, int count);
int fuzz_honest_size(maker_t *maker, int64_t value);
array_t fuzz_random_param(maker_t *maker);
array_t fuzz_pick(maker_t *maker);
/* One of rank 1 or more. */
array_t fuzz_pick_lines(maker_t *maker);
/* Another of this shape, or itself. */
array_t fuzz_pick_like(maker_t *maker, const array_t *like);
/* A function of two scalars; returns its number. */
int fuzz_add_function(maker_t *maker, const char *dtype);
int fuzz_zero_of(maker_t *maker, const char *dtype);
void fuzz_print_list(maker_t *maker, const char *before, const int64_t *items, int count,
                     const char *after);
/* ", vN" for each. */
void fuzz_print_indices(maker_t *maker, const int *ids, int count);

/* Operations: each adds one, or nothing if what is there does not suit it. */
void make_unary(maker_t *maker);
void make_binary(maker_t *maker);
void make_select(maker_t *maker);
void make_broadcast(maker_t *maker);
void make_reshape(maker_t *maker);
void make_transpose(maker_t *maker);
void make_reverse(maker_t *maker);
void make_slice(maker_t *maker);
void make_pad(maker_t *maker);
void make_concatenate(maker_t *maker);
void make_reduce(maker_t *maker);
void make_window(maker_t *maker);
void make_dot(maker_t *maker);
void make_sort(maker_t *maker);
void make_convolution(maker_t *maker);
void make_bitcast(maker_t *maker);
void make_factors(maker_t *maker);
void make_top_k(maker_t *maker);
void make_select_and_scatter(maker_t *maker);
void make_dynamic_slice(maker_t *maker);
void make_dynamic_update(maker_t *maker);
void make_gather(maker_t *maker);
void make_scatter(maker_t *maker);
void make_loop(maker_t *maker);
void make_conditional(maker_t *maker);
void make_slice_to_dynamic(maker_t *maker);
void make_dynamic_pad(maker_t *maker);
void make_real_slice(maker_t *maker);
void make_dynamic_reshape(maker_t *maker);
void make_dynamic_gather(maker_t *maker);
void make_dynamic_top_k(maker_t *maker);
void make_dynamic_bits(maker_t *maker);
void make_dynamic_window(maker_t *maker);
void make_bounded(maker_t *maker);
void make_custom_call(maker_t *maker);
void make_feeds(maker_t *maker);

#endif
