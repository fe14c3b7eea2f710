/* Running totals along one dimension under any body that runs in lanes, of several arrays together;
 * what prefix_scan.h has no loops for. The body is taken to be associative, as the specification
 * allows. */
#ifndef HLO_OPS_PREFIX_SCAN_BODY_H
#define HLO_OPS_PREFIX_SCAN_BODY_H

#include "base/workers.h"
#include "ops/kernels/elementwise/body.h"

#define NATIVE_SCAN_MAX_ARRAYS 4

typedef struct native_body_scan {
  const op_body_t *body;
  int arrays;
  int64_t bytes[NATIVE_SCAN_MAX_ARRAYS]; /* of an element */
  int64_t outer, count, inner;           /* sizes before, of, and after the dimension */
  bool reverse;
  int workers;
  int64_t pieces, length; /* that lines are cut into, if they are few; elements of a piece */
} native_body_scan_t;

void native_body_scan_plan(native_body_scan_t *scan, int workers);
size_t native_body_scan_scratch_bytes(const native_body_scan_t *scan);
/* in: the arrays, then an initial value of each; out[k] may be in[k]. */
void native_body_scan_run(const native_body_scan_t *scan, hr_workers_t *workers, void *scratch,
                          void *const *in, void *const *out);

#endif
