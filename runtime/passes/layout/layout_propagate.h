/* Layouts as permutations of dimensions, and how they propagate through ops. The IR knows row-major
 * arrays only: an array "in a layout" is an array that a transpose with this permutation has made.
 *
 *   f32[N,C,H,W] in layout {0,2,3,1} is f32[N,H,W,C] */
#ifndef PASS_LAYOUT_PROPAGATE_H
#define PASS_LAYOUT_PROPAGATE_H

#include "ir/module.h"

/* Dimensions of an array from the slowest (outermost) to the fastest: the permutation of a
 * transpose. */
typedef struct layout {
  int rank;
  int8_t dims[HLO_MAX_RANK];
} layout_t;

layout_t layout_of_dims(int rank, const int64_t *dims);
void layout_write(const layout_t *layout, int64_t *out_dims); /* the transpose's dimensions */
/* The inverse permutation: out_positions[d] is the position of dimension d in the layout. */
void layout_positions(const layout_t *layout, int64_t *out_positions);
/* Does the array have the same bytes in this layout as in row-major order, or as in another layout?
 * Dimensions of size 1 do not matter. */
bool layout_is_row_major(const layout_t *layout, const hlo_shape_t *shape);
bool layout_equal(const layout_t *a, const layout_t *b, const hlo_shape_t *shape);

/* Operand number that stands for the result. */
enum { LAYOUT_RESULT = -1 };

/* Is the instruction layout-agnostic: the same computation for every permutation of its dimensions,
 * if its operands are permuted accordingly? An instruction's layout is its result's; for a
 * reduction it is the operand's, from which the result's follows. */
bool layout_is_agnostic(const hlo_instr_t *instr);
/* Can it be computed in any layout at no cost? Constants, iotas and broadcasts of scalars or
 * vectors. */
bool layout_is_free(const hlo_instr_t *instr);
/* Layout of operand k or of the result if the instruction has `layout`. False: there is none,
 * because a reshape joins dimensions that are not adjacent in it. Scalars: rank 0. */
bool layout_of_array(const hlo_instr_t *instr, int k, const layout_t *layout, layout_t *out_layout);
/* May the instruction be computed in this layout? Layouts of all its arrays must follow from it,
 * and windows whose order matters (select-and-scatter takes the first of equal elements) must be
 * traversed in the same order as before. */
bool layout_can_apply(const hlo_instr_t *instr, const layout_t *layout);
/* Inverse of layout_of_array: the instruction's layout in which operand k or the result has
 * `layout`. */
bool layout_from_array(const hlo_instr_t *instr, int k, const layout_t *layout,
                       layout_t *out_layout);

#endif
