/* Products whose result is a symmetric matrix, such as (c x) x^T, or (c s) s of a symmetric s, with
 * a scalar c: only the part on and above the diagonal is computed, and copied to the other side. */
#ifndef HLO_OPS_DOT_SYMMETRIC_H
#define HLO_OPS_DOT_SYMMETRIC_H

#include "ir/module.h"
#include "ops/kernels/gemm/gemm.h"

/* True if each matrix of a dot's result is symmetric, whatever the operands' elements are. */
bool dot_is_symmetric(const hlo_instr_t *dot);

/* True if sizes and type make half a product worth its copy. Depends on the job only, as sums have
 * the same bits with any number of workers. */
bool dot_symmetric_suits(const gemm_job_t *job);

/* Bytes of the scratch memory of one worker. */
size_t dot_symmetric_space_bytes(const gemm_job_t *job);

/* Computes a product of equal rows and columns. The job's `finish` gets whole rows, each once it
 * and those after it are final; it may overwrite them. workers: NULL if the caller is `worker`;
 * else `worker` is 0, and every worker has an area of `space`. */
void dot_symmetric_run(hr_workers_t *workers, const gemm_job_t *job, int worker, void *space);

#endif
