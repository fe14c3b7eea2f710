/* Lists of tensors as values: elements, capacity, and what is known of all elements. A list is a
 * value; changing it gives a new one. Thread: as tf_lower.h. */
#ifndef TF_LIST_H
#define TF_LIST_H

#include "tf/compile/tf_lower.h"

/* Output k becomes `list`. The list of a TensorArray that is an argument is the value of its
 * resource; its flow stays a scalar without meaning. */
hr_status_t tf_list_put(tf_op_t *op, int k, const tf_value_t *list);
/* A copy of input k. The flow of a TensorArray is declared as a float scalar, but carries the
 * list here. Errors: INVALID if the input is no list. */
hr_status_t tf_list_take(tf_op_t *op, int k, tf_value_t *out_list);
/* Errors: UNSUPPORTED if the shape of the elements is not known yet, as before the first write
 * to an array without element_shape. */
hr_status_t tf_list_check_shape(tf_op_t *op, const tf_value_t *list);
/* tf_list_take with tf_list_check_shape. */
hr_status_t tf_list_take_shaped(tf_op_t *op, int k, tf_value_t *out_list);
/* Sets the array to zeros if all sizes are known; `rank` and `dims` are those of an element,
 * rank -1 or sizes below 0: not known. */
void tf_list_zeros(tf_op_t *op, tf_value_t *list, int rank, const int64_t *dims);
/* Start indices, `rank` of them, of the slice that is element `index`. */
void tf_list_starts(tf_op_t *op, expr_t index, int rank, expr_t *starts);
/* Element `index`, without the first dimension, by which the list counts. */
expr_t tf_list_read(tf_op_t *op, const tf_value_t *list, expr_t index);
/* Replaces element `index`, or adds to it if the list accumulates. Errors: UNSUPPORTED if the
 * list has no elements, or an unknown number of them. */
hr_status_t tf_list_write(tf_op_t *op, tf_value_t *list, expr_t index, expr_t item);
/* Whether an input is a list. Sums of gradients of lists, and of the flows of TensorArrays, are
 * tf_add_lists. */
bool tf_has_list(const tf_op_t *op);
/* Output 0 becomes the sum of the inputs. A flow that is a number stands for zeros. */
hr_status_t tf_add_lists(tf_op_t *op);
/* Number of elements in use, an s32 scalar. A list without its own count is full. */
expr_t tf_list_count(tf_op_t *op, const tf_value_t *list);
/* Enlarges the capacity of a list by `more` elements. */
void tf_list_grow(tf_op_t *op, tf_value_t *list, int64_t more);
/* Whether the graph or one of its functions has writes that resize lists. */
bool tf_lists_resize(tf_op_t *op);
/* Enlarges an unbounded list for a write at the index of input k. If the index is not known, one
 * more element is noted, and tf_loop_dry_run.c finds the number of elements. Errors: INVALID for
 * an index past the end of a bounded list; UNSUPPORTED if the index is not known. */
hr_status_t tf_list_extend(tf_op_t *op, tf_value_t *list, int k);
/* Whether a constant or a bound is known that all pushed elements have. */
bool tf_list_is_known(const tf_value_t *list);
/* Whether that is known of the elements of its elements, which are lists. */
bool tf_has_known_lists(const tf_value_t *list);
/* Forgets what tf_has_known_lists tells. Errors: NO_MEMORY. */
hr_status_t tf_forget_lists(hr_arena_t *arena, tf_value_t *list);

#endif
