/* Emits instructions of a partition's program: slices, masks, tables indexed by the partition's
 * coordinate, collectives over mesh axes. As with the builder, the first failure is kept
 * (emit->b.status) and NULL operands give NULL results, so that calls can be nested.
 * Offsets are s32, or s64 if the program has a dimension that s32 cannot count. */
#ifndef HR_PARTITION_LOWER_EMIT_H
#define HR_PARTITION_LOWER_EMIT_H

#include "ops/rules/builder.h"
#include "partition/core/tensor_sharding.h"
#include "partition/lower/report.h"

/* State shared by all computations of a module. */
typedef struct spmd_emit_module {
  hlo_module_t *module;
  hr_arena_t *arena;
  const spmd_mesh_t *mesh;
  int64_t next_channel;
  hr_dtype_t index_type;
  spmd_report_notes_t *report;
  struct spmd_reducer *reducers; /* list of the reducers made so far */
  struct spmd_group_list *groups;
} spmd_emit_module_t;

typedef struct spmd_emit {
  hlo_builder_t b;
  spmd_emit_module_t *shared;
  /* Devices by position: the program's mesh, or its axes with other device_ids in a manual
   * computation on a mesh of another order. */
  const spmd_mesh_t *mesh;
  bool shares_gathers;      /* the computation is the entry, whose gathered arrays are shared */
  const hlo_instr_t *cause; /* instruction of the global program that the report attributes to */
  hlo_instr_t *position;    /* position of this partition in the mesh; NULL: not emitted yet */
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

/* The extra fields of an instruction, without its sharding and control predecessors. */
const hlo_extra_t *spmd_emit_extra(spmd_emit_t *emit, const hlo_instr_t *from);

/* Scalars. */
hlo_instr_t *spmd_emit_index(spmd_emit_t *emit, int64_t value);
hlo_instr_t *spmd_emit_add(spmd_emit_t *emit, hlo_instr_t *x, int64_t value);
/* Coordinate of this partition along the axes, 0 .. parts - 1. */
hlo_instr_t *spmd_emit_coordinate(spmd_emit_t *emit, spmd_axes_t axes);
/* values[coordinate]; `values` has one entry per part. */
hlo_instr_t *spmd_emit_table(spmd_emit_t *emit, spmd_axes_t axes, const int64_t *values);
/* True for types whose smallest number is not zero. */
bool spmd_lacks_zero(hr_dtype_t dtype);
/* The identity element of a reduction op. */
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
/* Pads with `with` (NULL: zeros); amounts may be negative. */
hlo_instr_t *spmd_emit_pad(spmd_emit_t *emit, hlo_instr_t *x, int d, int64_t low, int64_t high,
                           int64_t interior, hlo_instr_t *with);
hlo_instr_t *spmd_emit_concat(spmd_emit_t *emit, int count, hlo_instr_t *const *parts, int d);
hlo_instr_t *spmd_emit_transpose(spmd_emit_t *emit, hlo_instr_t *x, const int64_t *permutation);
hlo_instr_t *spmd_emit_reshape(spmd_emit_t *emit, hlo_instr_t *x, int rank, const int64_t *dims);
/* Broadcasts a scalar to the sizes of x. */
hlo_instr_t *spmd_emit_fill_like(spmd_emit_t *emit, hlo_instr_t *scalar, const hlo_instr_t *x);
/* Global positions along d: offset + 0, 1, ... as an array of the sizes of x. */
hlo_instr_t *spmd_emit_positions(spmd_emit_t *emit, const hlo_instr_t *x, int d,
                                 hlo_instr_t *offset);
/* x where low <= offset + i < high for index i of dimension d, else `fill`, a scalar. INT64_MIN and
 * INT64_MAX stand for no bound. */
hlo_instr_t *spmd_emit_mask(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_instr_t *offset,
                            int64_t low, int64_t high, hlo_instr_t *fill);

/* Collectives over the axes; members of a group are in the order of the list. */
hlo_instr_t *spmd_emit_all_gather(spmd_emit_t *emit, hlo_instr_t *x, int d, spmd_axes_t axes);
hlo_instr_t *spmd_emit_all_reduce(spmd_emit_t *emit, hlo_instr_t *x, hlo_opcode_t op,
                                  spmd_axes_t axes);
hlo_instr_t *spmd_emit_reduce_scatter(spmd_emit_t *emit, hlo_instr_t *x, int d, hlo_opcode_t op,
                                      spmd_axes_t axes);
/* Cuts dimension `split` into parts and concatenates the received parts along `concat`. */
hlo_instr_t *spmd_emit_all_to_all(spmd_emit_t *emit, hlo_instr_t *x, int split, int concat,
                                  spmd_axes_t axes);
/* Position pairs[2 * i] of the mesh sends to pairs[2 * i + 1]. A position that receives nothing
 * gets zeros. */
hlo_instr_t *spmd_emit_permute(spmd_emit_t *emit, hlo_instr_t *x, int64_t count,
                               const int64_t *pairs);

#endif
