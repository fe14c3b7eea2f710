/* Which updates of variables may be computed from the means of gradients. Thread: one per
 * module. */
#ifndef TF_UPDATE_PROOF_H
#define TF_UPDATE_PROOF_H

#include "tf/parallel/tf_gradient_leaves.h"

/* Products of two leaves that depend on leaves and constants alone, on no variable, become leaves:
 * they belong to the gradient, not to the optimizer, as for BatchNormalization's scale, whose
 * gradient is a sum over examples times a function of their variance. Errors: NO_MEMORY. */
hr_status_t tf_merge_leaf_products(tf_parallel_t *p);
/* *out_good: every value of the optimizer that `root` depends on may be computed from means.
 * Errors: NO_MEMORY. */
hr_status_t tf_check_update(tf_parallel_t *p, expr_t root, bool *out_good);

#endif
