/* The values that a branch or a loop works on as one tuple. Thread: as tf_lower.h. */
#ifndef TF_PACKING_H
#define TF_PACKING_H

#include "tf/compile/tf_lower.h"

/* Slots of values. A resource that appears several times among the values has one slot only: two
 * slots would let its copies drift apart inside. Strings and values without content have none. */
typedef struct tf_packing {
  int count; /* number of values */
  const tf_value_t *values;
  int *slots;          /* slot by value; -1: not packed */
  int *counts;         /* slot of a list's count, by value; -1: it has none */
  int *element_counts; /* slot of the counts of a list's elements, by value; -1: it has none */
  bool *written;       /* by value: a resource that a computation gives another value */
  int slot_count;
  expr_t *instrs; /* instructions by slot, outside the computation */
} tf_packing_t;

/* Gives slots to `values`, in their order. `keep[i]`: value i is a constant that needs none. A
 * list has up to three slots: its array, its count and the counts of its elements. A variable
 * that is not initialised has no slot and stays so inside. Errors: UNSUPPORTED for a list
 * without sizes, or a TensorArray with gradients. */
hr_status_t tf_pack_values(tf_op_t *op, int count, const tf_value_t *values, const bool *keep,
                           tf_packing_t *packing);
/* The shape of the tuple: the parameter of all branches, or of condition and body. */
hr_status_t tf_packing_shape(tf_op_t *op, const tf_packing_t *packing,
                             const hlo_shape_t **out_shape);
/* The values inside a computation whose tuple parameter is `tuple`. Resources are copies, which the
 * computation may change; values that name one resource outside share one copy, whose `initial` is
 * the value on entry. The conditions `live` end here: the caller of the computation applies them.
 */
hr_status_t tf_unpack_values(tf_op_t *op, hlo_builder_t *b, const tf_packing_t *packing,
                             expr_t tuple, tf_value_t *out_values);
/* Sets the counts of list i to elements of a tuple of all slots. */
void tf_unpack_counts(hlo_builder_t *b, const tf_packing_t *packing, int i, expr_t tuple,
                      tf_value_t *out_list);
/* The value of resource i at the end of a computation. One that was only read keeps the value
 * that it has outside, and is not returned as an update. */
expr_t tf_packed_resource(const tf_packing_t *packing, int i, const tf_value_t *inside);
/* Clears keep[i] unless value i is a constant. Small arrays of integers are evaluated, as they
 * may be sizes computed from others. */
hr_status_t tf_keep_constants(tf_op_t *op, int count, tf_value_t *values, bool *keep);

#endif
