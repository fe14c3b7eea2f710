/* Prefix sums (scans) along one dimension: reduce-window whose window extends from the start of the
 * line to the result, or from the result to the end; cumulative sums, products, maxima, minima.
 * Thread: a plan is immutable; scratch belongs to one run. */
#ifndef HLO_OPS_PREFIX_SCAN_H
#define HLO_OPS_PREFIX_SCAN_H

#include "base/workers.h"
#include "ops/kernels/window/scan_lines.h"

typedef struct native_scan {
  const window_rows_t *rows;
  int64_t outer, count, inner; /* sizes before, of, and after the scanned dimension */
  bool reverse;                /* from the end of the line */
  int workers;
  int64_t pieces;     /* pieces per line, at least one per worker */
  scan_lines_fn line; /* vector loop; NULL: element by element */
  bool streams;       /* non-temporal stores */
} native_scan_t;

/* Plans the execution; `rows`, sizes and `reverse` are set by the caller. */
void native_scan_plan(native_scan_t *scan, int workers);
size_t native_scan_scratch_bytes(const native_scan_t *scan);
/* Runs the scan. `out` may be `in`. The initial value, one element, is the left operand of every
 * result. */
void native_scan_run(const native_scan_t *scan, hr_workers_t *workers, void *scratch,
                     const void *in, const void *init, void *out);

#endif
