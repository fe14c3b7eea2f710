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
  const int64_t *ends;   /* by part: from here on the window may hold anything; NULL: nowhere */
  int64_t width;
  int64_t dilation;  /* distance of elements; 1: dense */
  hlo_instr_t *fill; /* scalar for places without an element; NULL: anything */
  bool wrap;         /* the elements repeat with period `size` */
} spmd_window_t;

/* Where the elements of a result lie over a dimension of the operand: element i reads `footprint`
 * places from offset + i * step on, of which every dilation-th is an element. */
typedef struct spmd_reads {
  int64_t offset, step; /* negative steps run backwards */
  int64_t footprint, dilation;
} spmd_reads_t;
/* Of a slice, pad, reverse, reduce-window, or of the input of a convolution, along dimension d of
 * operand 0; false: another operation. */
bool spmd_reads_along(const hlo_instr_t *instr, int d, spmd_reads_t *out_reads);
spmd_reads_t spmd_reads_of_window(const hlo_window_dim_t *dim);
/* The window of a convolution along spatial dimension i. */
hlo_window_dim_t spmd_spatial_window(const hlo_instr_t *instr, int i);
/* Windows for parts of `chunk` elements of the result: sets starts, width and dilation. */
void spmd_window_over(spmd_lower_t *lower, spmd_window_t *window, const spmd_reads_t *reads,
                      int64_t chunk);
/* The window over operand r along d, which `sharding` cuts, for parts of `chunk` elements of the
 * result; x is not set. False: the operation is another one than those of spmd_reads_along. */
bool spmd_window_along(spmd_lower_t *lower, const hlo_instr_t *instr, int r,
                       const spmd_sharding_t *sharding, int d, int64_t chunk,
                       spmd_window_t *out_window);
/* A run of an array that a pad alone takes, if both together are windows of that array along the
 * one dimension that the slice cuts off; NULL: there is none. `sharding` is the operand's. */
const hlo_instr_t *spmd_padded_slice(const spmd_lower_t *lower, const hlo_instr_t *pad,
                                     const spmd_sharding_t *sharding);
/* The dimension of which a slice takes a run, if it takes all others as they are; -1: another
 * slice.
 */
int spmd_run_dim(const hlo_instr_t *slice);
/* Sends a round's blocks between the parts of the axes; x is what this partition sends. */
hlo_instr_t *spmd_send_round(spmd_lower_t *lower, spmd_axes_t axes, const spmd_round_t *round,
                             hlo_instr_t *x);
/* What fetching by rounds costs, as spmd_step_us, where a part of the operand has `chunk` elements
 * and each stands for `row_bytes`; x is not looked at. A gather may cost less: then the operation
 * can as well be done on the whole. */
double spmd_window_us(spmd_lower_t *lower, const spmd_window_t *window, int64_t chunk,
                      double row_bytes);
/* The same of a concatenation of dimension d in parts of `chunk` elements; an element of it stands
 * for `row_bytes`. */
double spmd_concatenate_us(spmd_lower_t *lower, const hlo_instr_t *instr, int d, spmd_axes_t axes,
                           int64_t chunk, double row_bytes);

/* x with `width` elements in dimension d: those from starts[part] on. */
hlo_instr_t *spmd_emit_window(spmd_lower_t *lower, const spmd_window_t *window);
/* Its two steps: the elements within the window side by side, and the holes of a dilated one. */
hlo_instr_t *spmd_fetch_window(spmd_lower_t *lower, const spmd_window_t *window);
hlo_instr_t *spmd_spread_window(spmd_lower_t *lower, const spmd_window_t *window, hlo_instr_t *x);
/* starts[j] = offset + j * step for all parts of the axes; NULL on failure. */
int64_t *spmd_window_starts(spmd_lower_t *lower, spmd_axes_t axes, int64_t offset, int64_t step);

#endif
