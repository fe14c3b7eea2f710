/* Convolution by oneDNN: declarations shared by its files.
 *
 *   conv_onednn.c            prepares: element types, choice of the layouts, scratch memory
 *   conv_onednn_partition.c  division of the problem into parts, one task of a worker each
 *   conv_onednn_describe.c   descriptions of arrays and operations, and their primitives
 *   conv_onednn_run.c        execution: conversions, reorders, primitives, sums of gradients
 *
 * The choice of kernels follows from the problem, the processor and the library alone, never from
 * measured times: equal programs give equal bits in every process. */
#ifndef HLO_OPS_CONV_ONEDNN_H
#define HLO_OPS_CONV_ONEDNN_H

#include "ops/kernels/conv/native_convolution.h"
#include "ops/kernels/libs/onednn.h"

/* An array of a part, in the layout of the program and in that of the primitive. */
typedef struct conv_part_array {
  dnnl_memory_desc_t given;   /* layout in the program */
  dnnl_memory_desc_t used;    /* layout that the primitive needs */
  const onednn_op_t *reorder; /* from the program's to the primitive's layout, for results back;
                                 NULL: same layout */
  size_t at;                  /* scratch offset of the reordered array, bytes */
} conv_part_array_t;

/* A primitive over a part of the problem. */
typedef struct conv_part {
  conv_problem_t problem; /* sizes and array starts of the part */
  conv_part_array_t arrays[CONV_ROLES];
  const onednn_op_t *primitive;
  size_t op_scratch_at; /* scratch offset of oneDNN's own scratch memory, bytes */
} conv_part_t;

/* Element type of an array of the primitives. */
typedef struct conv_operand_type {
  hr_dtype_t dtype;  /* after widening */
  bool widened;      /* the program's type is narrower */
  size_t widened_at; /* scratch offset of the widened array, bytes */
} conv_operand_type_t;

/* Weights whose window is reversed along some axes, which oneDNN cannot read. */
typedef struct conv_weight_flip {
  bool needed;
  loop_copy_t copy;   /* with negative strides in the source */
  int64_t from_bytes; /* offset of its first element in the program's weights */
  size_t at;          /* scratch offset of the flipped weights, bytes */
} conv_weight_flip_t;

typedef struct conv_onednn {
  const conv_problem_t *problem;
  conv_operand_type_t operands[CONV_ROLES];
  int part_count;
  conv_part_t *parts;
  bool adds_gradients;        /* parts compute weight gradients of some images, added at the end */
  bool shares_weights;        /* all parts read the weights that part 0 reordered */
  const void *packed_weights; /* constant weights, reordered once; else NULL */
  conv_weight_flip_t flip;
  bool narrowed;  /* the result's type is narrower than that of the sums */
  size_t sums_at; /* scratch offset of the result before narrowing, bytes */
} conv_onednn_t;

/* State of one run. */
typedef struct conv_run {
  const conv_onednn_t *plan;
  char *arrays[CONV_ROLES]; /* the program's arrays, or widened, flipped or not yet narrowed ones */
  char *scratch;
  bool failed; /* oneDNN returned an error; set atomically by any worker */
} conv_run_t;

static inline size_t conv_onednn_element_bytes(const conv_onednn_t *plan, conv_role_t role) {
  return hr_dtype_bytes(plan->operands[role].dtype);
}

/* Dimension that the parts divide. */
typedef enum conv_split {
  CONV_SPLIT_NONE,
  CONV_SPLIT_BATCH,
  CONV_SPLIT_OUT_CHANNELS,
  CONV_SPLIT_IN_CHANNELS,
  CONV_SPLIT_GROUPS
} conv_split_t;

/* Chooses the dimension: out_units is its size, out_unit the multiple that parts must have. */
conv_split_t conv_onednn_choose_split(const conv_problem_t *p, int workers, int64_t *out_units,
                                      int64_t *out_unit);
/* Entries [begin, begin + count) of that dimension as a problem. */
conv_problem_t conv_onednn_part_problem(const conv_problem_t *whole, conv_split_t split,
                                        int64_t begin, int64_t count);

/* Sizes and strides (elements) of an array with the dimensions in oneDNN's order: [group] outer
 * inner spatial. Returns the rank. */
int conv_onednn_sizes(const conv_problem_t *p, conv_role_t role, int64_t *sizes);
void conv_onednn_strides(const conv_problem_t *p, conv_role_t role, int64_t *strides);
/* Creates the part's primitive and reorders. `free` leaves all layouts to oneDNN, otherwise only
 * that of the weights. *out_made false: oneDNN has no kernel, or only a slow one. */
hr_status_t conv_onednn_make_part(const onednn_t *lib, const op_native_target_t *target,
                                  const conv_onednn_t *plan, bool free, conv_part_t *part,
                                  bool *out_made);

/* Reverses the weights into scratch memory if necessary, unless they are packed already. */
void conv_onednn_flip_weights(const conv_onednn_t *plan, conv_run_t *r);
/* Reorders an array of a part to the primitive's layout, or `back` to the program's. */
void conv_onednn_reorder(conv_run_t *r, const conv_part_t *part, conv_role_t role, bool back);
#endif
