/* Prefix sums along one dimension with any body that can be vectorised (op_body_is_flat), of
 * several arrays together; for ops without loops in prefix_scan.h. Bodies that may be trees
 * (ops/query/reduce_order.h) count as associative, as the specification of reduce-window allows. */
#ifndef HLO_OPS_PREFIX_SCAN_BODY_H
#define HLO_OPS_PREFIX_SCAN_BODY_H

#include "base/workers.h"
#include "ops/kernels/elementwise/body.h"

#define NATIVE_SCAN_MAX_ARRAYS 4

typedef struct native_body_scan {
  const op_body_t *body;
  int arrays;
  int64_t bytes[NATIVE_SCAN_MAX_ARRAYS]; /* element sizes */
  int64_t outer, count, inner;           /* sizes before, of, and after the scanned dimension */
  bool reverse;
  bool is_tree; /* lines may be divided into pieces, and scanned from their ends */
  int workers;
  int64_t pieces, length; /* pieces per line; elements per piece */
} native_body_scan_t;

/* Plans the execution; `body`, `arrays`, `bytes`, sizes, `reverse` and `is_tree` are set by the
 * caller. A backward scan must be a tree. */
void native_body_scan_plan(native_body_scan_t *scan, int workers);
size_t native_body_scan_scratch_bytes(const native_body_scan_t *scan);
/* in: the arrays, then an initial value for each. out[k] may be in[k]. */
void native_body_scan_run(const native_body_scan_t *scan, hr_workers_t *workers, void *scratch,
                          void *const *in, void *const *out);

#endif
