/* Windows of a cut dimension: every partition fetches the range of elements that it computes with.
 * Slices, pads, concatenations, reversals, convolutions and window reductions need them for the
 * dimensions that they change. */
#ifndef HR_PARTITION_LOWER_FETCH_WINDOW_H
#define HR_PARTITION_LOWER_FETCH_WINDOW_H

#include "partition/lower/lower.h"
#include "partition/lower/range_moves.h"

typedef struct spmd_window {
  hlo_instr_t *x; /* local */
  int d;
  spmd_axes_t axes;      /* axes whose coordinate is the window's number */
  bool is_whole;         /* x holds the whole dimension; false: the axes cut it */
  int64_t size;          /* global size of the dimension */
  int64_t first, past;   /* range of valid elements, within 0 .. size */
  const int64_t *starts; /* by part: start of the window, in the dilated dimension */
  const int64_t *ends; /* by part: end of the needed elements; NULL: all of the window is needed */
  int64_t width;       /* elements of every window */
  int64_t dilation;    /* distance of elements; 1: dense */
  hlo_instr_t *fill;   /* scalar for places without an element; NULL: undefined contents */
  bool wrap;           /* the elements repeat with period `size` */
  bool is_halo;        /* windows lie around their parts: several rounds may travel together */
  int64_t copies;      /* partitions, consecutive along the axes, that have one chunk; 0 means 1 */
} spmd_window_t;

/* The elements of an operand's dimension that a result's elements read: element i reads `footprint`
 * places from offset + i * step on; every dilation-th place is an element. */
typedef struct spmd_reads {
  int64_t offset, step; /* negative steps run backwards */
  int64_t footprint, dilation;
} spmd_reads_t;
/* The reads of a slice, pad, reverse, reduce-window or convolution along dimension d of operand 0;
 * false: another operation. */
bool spmd_reads_along(const hlo_instr_t *instr, int d, spmd_reads_t *out_reads);
spmd_reads_t spmd_reads_of_window(const hlo_window_dim_t *dim);
/* The window of a convolution along spatial dimension i. */
hlo_window_dim_t spmd_spatial_window(const hlo_instr_t *instr, int i);
/* Windows for parts of `chunk` elements of the result: sets starts, width and dilation. */
void spmd_window_over(spmd_lower_t *lower, spmd_window_t *window, const spmd_reads_t *reads,
                      int64_t chunk);
/* The window over operand r along d, which `sharding` cuts, for parts of `chunk` elements of the
 * result; x is not set. False: not an operation of spmd_reads_along. */
bool spmd_window_along(spmd_lower_t *lower, const hlo_instr_t *instr, int r,
                       const spmd_sharding_t *sharding, int d, int64_t chunk,
                       spmd_window_t *out_window);
/* The slice that is the pad's operand and has no other user, if slice and pad together are windows
 * of the slice's operand along the one sliced dimension; else NULL. `sharding` is the operand's. */
const hlo_instr_t *spmd_padded_slice(const spmd_lower_t *lower, const hlo_instr_t *pad,
                                     const spmd_sharding_t *sharding);
/* The instruction whose operand `*out_k` is read for operand k of instr, which has shardings[k]: a
 * slice that a pad looks through, or a concatenation along a dimension that is cut; else instr. */
const hlo_instr_t *spmd_reader_of(const spmd_lower_t *lower, const hlo_instr_t *instr, int k,
                                  const spmd_sharding_t *const *shardings, int *out_k);
/* The only dimension that a slice shortens, with stride 1; -1: another slice. */
int spmd_run_dim(const hlo_instr_t *slice);
/* Sends a round's blocks between the parts of the axes; x is the block of this partition. */
hlo_instr_t *spmd_send_round(spmd_lower_t *lower, spmd_axes_t axes, const spmd_round_t *round,
                             hlo_instr_t *x);
/* Cost of fetching a window by rounds, in microseconds, for parts of `chunk` elements of
 * `row_bytes` each; x is not used. If a gather costs less, the operation may as well work on the
 * whole. */
double spmd_window_us(spmd_lower_t *lower, const spmd_window_t *window, int64_t chunk,
                      double row_bytes);
/* The same for a concatenation whose operands and result have this sharding. */
double spmd_concatenate_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_sharding_t *sharding);
/* What such a concatenation saves of the cost of its operands and of what it moves, if it takes
 * elements from the arrays that operands are made of. */
double spmd_runs_saving_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                           const spmd_sharding_t *sharding);
/* The cost of a concatenation of slices of one array that moves the array to this sharding, which
 * has the concatenated dimension whole, and slices it then; infinite for others. */
double spmd_whole_pieces_us(spmd_lower_t *lower, const hlo_instr_t *instr,
                            const spmd_sharding_t *sharding);
/* Cost of a cumulative reduction along d whose parts have `chunk` elements; negative: another
 * operation. lower_scan.c */
double spmd_scan_us(spmd_lower_t *lower, const hlo_instr_t *instr, int d, int64_t chunk,
                    int64_t parts, double row_bytes);

/* x with `width` elements in dimension d: those from starts[part] on. */
hlo_instr_t *spmd_emit_window(spmd_lower_t *lower, const spmd_window_t *window);
/* The two steps of spmd_emit_window: fetch the elements densely, then spread dilated ones. */
hlo_instr_t *spmd_fetch_window(spmd_lower_t *lower, const spmd_window_t *window);
hlo_instr_t *spmd_spread_window(spmd_lower_t *lower, const spmd_window_t *window, hlo_instr_t *x);
/* starts[j] = offset + j * step for all parts of the axes; NULL on failure. */
int64_t *spmd_window_starts(spmd_lower_t *lower, spmd_axes_t axes, int64_t offset, int64_t step);

#endif
