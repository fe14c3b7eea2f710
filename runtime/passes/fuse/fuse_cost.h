/* Cost model of the fusion pass, in nanoseconds of one thread. All constants that decide are here.
 * They were measured on a server core with AVX-512 and rounded; only ratios matter, and these hold
 * within a factor of two on other processors. */
#ifndef PASS_FUSE_COST_H
#define PASS_FUSE_COST_H

#include "ops/query/fusion_form.h"

/* Fixed cost of one step: the call, the prologue and epilogue of its loop, its share of waking the
 * workers. */
#define FUSE_STEP_NS 300.0
/* In a loop, whose steps are mostly one function: some loads and stores. */
#define FUSE_LOOP_STEP_NS 30.0
/* An instruction that is in two functions: its code is made and loaded twice. Keeps chains of cheap
 * copies short. */
#define FUSE_COPY_NS 3.0
/* Below this many elements, recomputing a short chain is cheaper than a separate step. */
#define FUSE_RECOMPUTE_ELEMENTS 1024
/* Elements that are evaluated together. Fewer at indices of their own cost as much; the lanes of a
 * vector go over more than one dimension if the innermost has fewer. */
#define FUSE_LANES 16
/* A row of this size passes the core's second-level cache several times at little cost; beyond it a
 * second pass over the row comes from memory, and one fusion saves nothing against two. */
#define FUSE_ROW_BYTES (256 << 10)
/* Clusters that touch less than this are mostly overhead: put side by side with others. More is
 * worth a step. */
#define FUSE_SMALL_BYTES (128 << 10)
/* Two loops that read the same array of at least this size are worth one. */
#define FUSE_SHARED_BYTES (32 << 10)
/* Transposed reads of smaller arrays hit the first-level cache and cost no more than others. */
#define FUSE_TRANSPOSE_BYTES (16 << 10)

/* Bounds that keep one function compilable, its addresses in registers or near, and the passes n
 * log n. */
enum {
  FUSE_MAX_MEMBERS = 768,
  FUSE_MAX_INPUTS = 256,
  FUSE_MAX_ROOTS = 16,        /* arrays written in one loop */
  FUSE_MAX_GROUP_ROOTS = 256, /* results of loops side by side, and scalars */
  FUSE_MAX_PIECES = 8,        /* operands of a concatenation that is read element by element */
  FUSE_MAX_PLACES = 12,       /* indices at which one function evaluates an instruction */
  FUSE_MAX_TRIES = 12,        /* reductions tried on a cluster that took none */
  FUSE_FREE_COPIES = 256      /* besides one for each instruction of the computation */
};

/* Per element; 0 for ops that only compute indices. */
double fuse_element_ns(const hlo_instr_t *instr);
/* Transcendental functions and divisions, which are never recomputed. */
bool fuse_is_expensive(const hlo_instr_t *instr);
/* Size of an array, or of all arrays of a tuple. */
double fuse_shape_bytes(const hlo_shape_t *shape);
double fuse_read_ns(double bytes);  /* small arrays come from a cache, big ones from memory */
double fuse_write_ns(double bytes); /* twice: the line is read before it is written */
/* Elements that are paid for: at least one vector. */
static inline double fuse_round_to_lanes(double count) {
  return count < FUSE_LANES ? FUSE_LANES : count;
}
/* Does it put something between the elements of its operand? */
bool fuse_is_dilating(const hlo_instr_t *instr);
/* Elements of the operand k that are evaluated for `evals` elements of its user at computed
 * indices. is_dilated: the user is below a dilating pad itself. */
double fuse_operand_evals(const hlo_instr_t *user, int k, double evals, bool is_dilated);
/* Is it a transpose that moves the innermost dimension, and so reads across rows? */
bool fuse_is_transposed(const hlo_instr_t *instr);

#endif
