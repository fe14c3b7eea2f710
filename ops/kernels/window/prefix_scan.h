/* Running totals along one dimension: reduce-window whose window goes from the start of its line to
 * the result's place, or from there to the end; cumulative sums, products, maxima. */
#ifndef HLO_OPS_PREFIX_SCAN_H
#define HLO_OPS_PREFIX_SCAN_H

#include "base/workers.h"
#include "ops/kernels/window/scan_lines.h"

typedef struct native_scan {
  const window_rows_t *rows;
  int64_t outer, count, inner; /* sizes before, of, and after the dimension */
  bool reverse;
  int workers;
  int64_t pieces;     /* that each line is cut into, to have work for all */
  scan_lines_fn line; /* NULL: element by element */
  bool streams;       /* the result goes past the caches */
} native_scan_t;

void native_scan_plan(native_scan_t *scan, int workers);
size_t native_scan_scratch_bytes(const native_scan_t *scan);
/* out may be in. The initial value, one element, enters every total. */
void native_scan_run(const native_scan_t *scan, hr_workers_t *workers, void *scratch,
                     const void *in, const void *init, void *out);

#endif
