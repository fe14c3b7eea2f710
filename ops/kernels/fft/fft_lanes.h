/* Transforms of many short lines at once, one a lane of the processor's vectors: elements of all
 * lines side by side, so that any length is as quick as its factors allow, and real lines and
 * columns need no copies.
 *
 * Lengths whose factors are small are done by Stockham's method, others as a convolution
 * (Bluestein's). Real lines have an even length, and are complex ones of half of it. Accuracy:
 * roots of unity are rounded once; as good as FFTW. Thread:   plans never change; each worker has
 * space of its own. */
#ifndef HLO_OPS_FFT_LANES_H
#define HLO_OPS_FFT_LANES_H

#include "base/arena.h"
#include "ops/table/opcode.h"

typedef struct fft_lanes fft_lanes_t;

/* Lines of `length` elements (of real transforms: on the real side), multiplied by `scale`.
 * out_plan stays NULL where there is no code for the processor, the length is too long to be worth
 * it, or odd and real. */
hr_status_t fft_lanes_plan(hr_arena_t *arena, hlo_enum_FFT_TYPE_t type, int64_t length,
                           bool is_double, double scale, const fft_lanes_t **out_plan);
/* Lines that are done at once. */
int64_t fft_lanes_count(const fft_lanes_t *plan);
/* Of one worker, aligned to 64 bytes. */
size_t fft_lanes_space_bytes(const fft_lanes_t *plan);
/* Does the length have a large prime factor, or several that FFTW has no good code for? */
bool fft_lanes_is_odd(int64_t length);

/* `count` dense lines (at most fft_lanes_count), one after the other. */
void fft_lanes_rows(const fft_lanes_t *plan, const void *from, void *to, int64_t count,
                    void *space);
/* `count` neighbouring columns of complex rows that lie `stride` elements apart; `to` may be
 * `from`. */
void fft_lanes_columns(const fft_lanes_t *plan, const void *from, void *to, int64_t stride,
                       int64_t count, void *space);

#endif
