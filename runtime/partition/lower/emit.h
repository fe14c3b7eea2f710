/* Instructions of a partition's program: slices, masks and tables by its place in the mesh, and
 * collectives over mesh axes. As with the builder, a failure sticks (emit->b.status) and NULL
 * operands are passed on, so that emissions read like formulas.
 * Offsets are s32, or s64 if the program has a dimension that s32 cannot count. */
#ifndef HR_PARTITION_LOWER_EMIT_H
#define HR_PARTITION_LOWER_EMIT_H

#include "ops/rules/builder.h"
#include "partition/core/tensor_sharding.h"
#include "partition/lower/report.h"

/* What all computations of a module share. */
typedef struct spmd_emit_module {
  hlo_module_t *module;
  hr_arena_t *arena;
  const spmd_mesh_t *mesh;
  int64_t next_channel;
  hr_dtype_t index_type;
  spmd_report_notes_t *report;
  struct spmd_reducer *reducers; /* made so far */
  struct spmd_group_list *groups;
} spmd_emit_module_t;

typedef struct spmd_emit {
  hlo_builder_t b;
  spmd_emit_module_t *shared;
  /* Who holds which position: the program's mesh, or in a manual computation on a mesh of another
   * order the same axes with other device_ids. */
  const spmd_mesh_t *mesh;
  const hlo_instr_t
      *cause;            /* instruction of the global program: what collectives are put down to */
  hlo_instr_t *position; /* of this partition in the mesh; NULL: not asked for yet */
  struct spmd_coordinate *coordinates;
} spmd_emit_t;

/* Keeps a failure; true if there is one. */
bool spmd_emit_failed(spmd_emit_t *emit, hr_status_t status);
const hlo_shape_t *spmd_emit_shape(spmd_emit_t *emit, hr_dtype_t dtype, int rank,
                                   const int64_t *dims);
/* The shape of x with another size of dimension d. */
const hlo_shape_t *spmd_emit_resized(spmd_emit_t *emit, const hlo_instr_t *x, int d, int64_t size);
/* The same op with other operands, of the given shape. */
hlo_instr_t *spmd_emit_like(spmd_emit_t *emit, const hlo_instr_t *from,
                            hlo_instr_t *const *operands, const hlo_shape_t *shape);
/* The same with one attribute replaced. */
hlo_instr_t *spmd_emit_with(spmd_emit_t *emit, const hlo_instr_t *from,
                            hlo_instr_t *const *operands, const hlo_shape_t *shape,
                            const hlo_attr_t *changed);

/* What an instruction carries on beside its attributes: not its sharding, nor what it waits for. */
const hlo_extra_t *spmd_emit_extra(spmd_emit_t *emit, const hlo_instr_t *from);

/* Scalars. */
hlo_instr_t *spmd_emit_index(spmd_emit_t *emit, int64_t value);
hlo_instr_t *spmd_emit_add(spmd_emit_t *emit, hlo_instr_t *x, int64_t value);
/* Coordinate of this partition along the axes, 0 .. parts - 1. */
hlo_instr_t *spmd_emit_coordinate(spmd_emit_t *emit, spmd_axes_t axes);
/* values[coordinate], of as many values as parts. */
hlo_instr_t *spmd_emit_table(spmd_emit_t *emit, spmd_axes_t axes, const int64_t *values);
/* The element that changes nothing in a sum, product or exclusive or. */
hlo_instr_t *spmd_emit_identity(spmd_emit_t *emit, hlo_opcode_t op, hr_dtype_t dtype);
/* True if op(x, x) is x: all parts may begin with the same value. */
bool spmd_is_idempotent(hlo_opcode_t op);

/* Along dimension d. */
hlo_instr_t *spmd_emit_slice(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t start, int64_t size);
hlo_instr_t *spmd_emit_strided(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t start,
                               int64_t limit, int64_t stride);
hlo_instr_t *spmd_emit_dynamic_slice(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_instr_t *start,
                                     int64_t size);
hlo_instr_t *spmd_emit_update(spmd_emit_t *emit, hlo_instr_t *x, hlo_instr_t *update, int d,
                              hlo_instr_t *start);
/* Amounts may be negative; with NULL: zeros. */
hlo_instr_t *spmd_emit_pad(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t low, int64_t high,
                           int64_t interior, hlo_instr_t *with);
hlo_instr_t *spmd_emit_concat(spmd_emit_t *emit, int count, hlo_instr_t *const *parts, int d);
hlo_instr_t *spmd_emit_transpose(spmd_emit_t *emit, hlo_instr_t *x, const int64_t *permutation);
hlo_instr_t *spmd_emit_reshape(spmd_emit_t *emit, hlo_instr_t *x, int rank, const int64_t *dims);
/* A scalar in every element of a shape of x's sizes. */
hlo_instr_t *spmd_emit_fill_like(spmd_emit_t *emit, hlo_instr_t *scalar, const hlo_instr_t *x);
/* Global positions along d: offset + 0, 1, ... as an array of the sizes of x. */
hlo_instr_t *spmd_emit_positions(spmd_emit_t *emit, const hlo_instr_t *x, int d,
                                 hlo_instr_t *offset);
/* x where low <= offset + i < high for index i of dimension d, else `fill`, a scalar. A bound that
 * always holds is INT64_MIN or INT64_MAX. */
hlo_instr_t *spmd_emit_mask(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_instr_t *offset,
                            int64_t low, int64_t high, hlo_instr_t *fill);

/* Collectives over the axes; members of a group are in the order of the list. */
hlo_instr_t *spmd_emit_all_gather(spmd_emit_t *emit, hlo_instr_t *x, int d, spmd_axes_t axes);
hlo_instr_t *spmd_emit_all_reduce(spmd_emit_t *emit, hlo_instr_t *x, hlo_opcode_t op,
                                  spmd_axes_t axes);
hlo_instr_t *spmd_emit_reduce_scatter(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_opcode_t op,
                                      spmd_axes_t axes);
/* Dimension `split` is cut into parts and dimension `concat` gets them, the first part first. */
hlo_instr_t *spmd_emit_all_to_all(spmd_emit_t *emit, hlo_instr_t *x, int split, int concat,
                                  spmd_axes_t axes);
/* Positions of the mesh: pairs[2 * i] sends to pairs[2 * i + 1]. Who gets nothing has zeros. */
hlo_instr_t *spmd_emit_permute(spmd_emit_t *emit, hlo_instr_t *x, int64_t count,
                               const int64_t *pairs);

#endif
