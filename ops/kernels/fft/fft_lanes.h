/* Transforms of many short lines at once, one line per vector lane: element i of all lines is one
 * vector, so that any length is as fast as its factors allow, and neither real lines nor columns
 * need separate code or copies.
 *
 * Lengths whose prime factors are at most 127 use the Stockham autosort algorithm, others are
 * computed as a convolution (Bluestein). Real lines of even length n are complex lines of n / 2,
 * two lines of odd length share a complex one. Accuracy: roots of unity are rounded once;
 * errors are those of FFTW. Thread: plans never change; each worker has its own `space`. */
#ifndef HLO_OPS_FFT_LANES_H
#define HLO_OPS_FFT_LANES_H

#include "base/arena.h"
#include "ops/table/opcode.h"

typedef struct fft_lanes fft_lanes_t;

/* Plans lines of `length` elements (on the real side, for real transforms), multiplied by `scale`.
 * *out_plan stays NULL if there is no code for the processor, or the working set would exceed the
 * L2 cache. */
hr_status_t fft_lanes_plan(hr_arena_t *arena, hlo_enum_FFT_TYPE_t type, int64_t length,
                           bool is_double, double scale, const fft_lanes_t **out_plan);
/* Lines transformed per call. */
int64_t fft_lanes_count(const fft_lanes_t *plan);
/* Scratch bytes per worker, to be aligned to 64 bytes. */
size_t fft_lanes_space_bytes(const fft_lanes_t *plan);
/* True if the length has a prime factor above 7, or a large odd cofactor, for which FFTW is
 * slow. */
bool fft_lanes_is_odd(int64_t length);

/* `count` <= fft_lanes_count contiguous lines, one after the other. */
void fft_lanes_rows(const fft_lanes_t *plan, const void *from, void *to, int64_t count,
                    void *space);
/* `count` adjacent columns of complex rows `stride` elements apart; `to` may be `from`. */
void fft_lanes_columns(const fft_lanes_t *plan, const void *from, void *to, int64_t stride,
                       int64_t count, void *space);

#endif
