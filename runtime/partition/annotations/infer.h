/* Inference of the shardings of results (infer_results.c): classes of dimensions and the
 * declarations that its files share. */
#ifndef HR_PARTITION_INFER_H
#define HR_PARTITION_INFER_H

#include "partition/rule.h"

/* The cut of a dimension: the part that each device holds. */
typedef struct dim_cut {
  int64_t parts;
  const int64_t *places; /* by device: the number of its part */
} dim_cut_t;
extern const dim_cut_t infer_contradiction; /* cut of a class for which two parameters differ */

/* Dimensions of all values, each a node; a class is a tree of nodes. */
typedef struct infer {
  hlo_module_t *module;
  hr_arena_t *arena;      /* scratch */
  int64_t devices;        /* partitions */
  int **first;            /* node of dimension 0 of leaf 0, by computation and instruction */
  int *parents;           /* parent of each node; a root is its own */
  const dim_cut_t **cuts; /* by root; NULL: not known */
  dim_cut_t *whole;       /* cut into one part */
} infer_t;

/* --- classes (infer_classes.c) --- */
int infer_root(infer_t *x, int node);
/* Sets the cut of the class of a node, or marks a contradiction; true if this changed the class. */
bool infer_set_cut(infer_t *x, int node, const dim_cut_t *cut);
void infer_join(infer_t *x, int a, int b);

/* Number of dimensions of all leaves of a shape; node of a value's first dimension. */
int infer_dim_count(const hlo_shape_t *shape);
int infer_first(const infer_t *x, const hlo_instr_t *instr);
/* Dimension i of a shape in the order of its bytes, the major first. */
int infer_physical_dim(const hlo_shape_t *shape, int i);
/* The dimension that a collective gathers, scatters or exchanges; -1: none. */
int64_t infer_dimension(const hlo_instr_t *instr);

/* --- operations (infer_join.c) --- */
/* Joins the dimensions of operands and results that correspond. Errors: NO_MEMORY. */
hr_status_t infer_join_instr(infer_t *x, const hlo_instr_t *instr);

/* --- derived cuts (infer_follow.c) --- */
/* Derives cuts of results' dimensions from those of operands. Errors: NO_MEMORY. */
hr_status_t infer_follow(infer_t *x);
/* Marks classes whose cut contradicts a collective. Errors: NO_MEMORY. */
hr_status_t infer_check(infer_t *x);

#endif
