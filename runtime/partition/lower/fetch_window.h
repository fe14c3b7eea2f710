/* Windows of a dimension: every partition gets the range of elements that it computes with,
 * wherever they are. What slices, pads, concatenations, reversals, convolutions and reductions over
 * windows need when the dimension that they change is cut. */
#ifndef HR_PARTITION_LOWER_FETCH_WINDOW_H
#define HR_PARTITION_LOWER_FETCH_WINDOW_H

#include "partition/lower/lower.h"
#include "partition/lower/range_moves.h"

typedef struct spmd_window {
  hlo_instr_t *x; /* local */
  int d;
  spmd_axes_t axes;      /* that number the windows */
  bool is_whole;         /* every partition has the dimension whole; else the axes cut it */
  int64_t size;          /* of the dimension, globally */
  int64_t first, past;   /* elements that count: 0 and size, or less */
  const int64_t *starts; /* by part; with dilation: in the dilated dimension */
  int64_t width;
  int64_t dilation;  /* distance of elements; 1: dense */
  hlo_instr_t *fill; /* scalar for places without an element; NULL: anything */
  bool wrap;         /* the elements repeat with period `size` */
} spmd_window_t;

/* x with `width` elements in dimension d: those from starts[part] on. */
hlo_instr_t *spmd_emit_window(spmd_lower_t *lower, const spmd_window_t *window);
/* starts[j] = offset + j * step for all parts of the axes; NULL on failure. */
int64_t *spmd_window_starts(spmd_lower_t *lower, spmd_axes_t axes, int64_t offset, int64_t step);

#endif
