/* Cost model of the fusion pass, in nanoseconds of one thread. All constants that decide are here.
 * They were measured on a server core with AVX-512 and rounded. Only their ratios matter, which
 * hold within a factor of two on other processors. */
#ifndef PASS_FUSE_COST_H
#define PASS_FUSE_COST_H

#include "ops/query/fusion_form.h"

/* Fixed cost of one step: the call, the prologue and epilogue of its loop, and its share of waking
 * the workers. */
#define FUSE_STEP_NS 300.0
/* Fixed cost of a step in a loop whose steps are mostly one function: some loads and stores. */
#define FUSE_LOOP_STEP_NS 30.0
/* Cost of an instruction in a second function, as its code is generated and loaded twice. Keeps
 * chains of cheap copies short. */
#define FUSE_COPY_NS 3.0
/* Number of elements below which recomputing a short chain is cheaper than a separate step. */
#define FUSE_RECOMPUTE_ELEMENTS 1024
/* Elements that are evaluated together; fewer elements at separate indices cost as much. If the
 * innermost dimension has fewer, lanes run over several dimensions. */
#define FUSE_LANES 16
/* Largest row that passes through the core's second-level cache several times at little cost.
 * Beyond it a second pass over the row reads memory, and one fusion saves nothing over two. */
#define FUSE_ROW_BYTES (256 << 10)
/* Clusters that access less than this are mostly overhead and are grouped with others; larger ones
 * are worth a step. */
#define FUSE_SMALL_BYTES (128 << 10)
/* Least size of an array for which two loops that read it are merged. */
#define FUSE_SHARED_BYTES (32 << 10)
/* Transposed reads of smaller arrays hit the first-level cache and cost no more than others. */
#define FUSE_TRANSPOSE_BYTES (16 << 10)
/* Number of times that a transposed array of any size is read, from which on it pays to write it
 * once. */
#define FUSE_TRANSPOSE_READS 8

/* A function of a single number takes as long as of so many in lanes. */
#define FUSE_SCALAR_LANES 24
/* Rows of more elements take longer than functions of their results. */
#define FUSE_SHORT_ROW 256

/* Elements of fewer bytes are narrow; arrays of them of fewer bytes are not worth a step. */
#define FUSE_NARROW 4
#define FUSE_NARROW_BYTES 4096

/* Limits that keep one function compilable, its addresses in registers or close, and the passes n
 * log n. */
enum {
  FUSE_MAX_MEMBERS = 768,
  FUSE_MAX_INPUTS = 256,
  FUSE_MAX_ROOTS = 16,        /* arrays written in one loop */
  FUSE_MAX_GROUP_ROOTS = 256, /* results of grouped loops, and scalars */
  FUSE_MAX_PIECES = 8,        /* operands of a concatenation that is read element by element */
  FUSE_MAX_PLACES = 12,       /* indices at which one function evaluates an instruction */
  FUSE_MAX_TRIES = 12,        /* reductions tried on a cluster that took none */
  FUSE_FREE_COPIES =
      256 /* instructions cloned in addition to one per instruction of the computation */
};

/* Cost per element; 0 for ops that only compute indices. */
double fuse_element_ns(const hlo_instr_t *instr);
/* Is it a transcendental function or a division, which is never recomputed? */
bool fuse_is_expensive(const hlo_instr_t *instr);
/* Bytes of an array, or of all arrays of a tuple. */
double fuse_shape_bytes(const hlo_shape_t *shape);
double fuse_read_ns(double bytes);  /* small arrays come from a cache, big ones from memory */
double fuse_write_ns(double bytes); /* counts twice: the line is read before it is written */
/* Elements that are paid for: at least one vector of lanes. */
static inline double fuse_round_to_lanes(double count) {
  return count < FUSE_LANES ? FUSE_LANES : count;
}
/* Does the op insert values between the elements of its operand? */
bool fuse_is_dilating(const hlo_instr_t *instr);
/* Elements of operand k evaluated for `evals` elements of its user at computed indices. is_dilated:
 * the user itself is below a dilating pad. */
double fuse_operand_evals(const hlo_instr_t *user, int k, double evals, bool is_dilated);
/* Is it a transpose that moves the innermost dimension, and thus reads across rows? */
bool fuse_moves_last(const hlo_instr_t *instr);
/* The same of an array so large that such reads cost more than others. */
bool fuse_is_transposed(const hlo_instr_t *instr);

#endif
