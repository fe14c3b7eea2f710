/* Classes of dimensions that are cut alike: union-find with the cut of a class at its root. */
#include <string.h>

#include "partition/annotations/infer.h"

const dim_cut_t infer_contradiction;

int infer_root(infer_t *x, int node) {
  while (x->parents[node] != node) {
    x->parents[node] = x->parents[x->parents[node]];
    node = x->parents[node];
  }
  return node;
}

static bool equal_cuts(const infer_t *x, const dim_cut_t *a, const dim_cut_t *b) {
  if (a == b) return true;
  return a->parts && a->parts == b->parts &&
         !memcmp(a->places, b->places, (size_t)x->devices * sizeof *a->places);
}

bool infer_set_cut(infer_t *x, int node, const dim_cut_t *cut) {
  const dim_cut_t **known = &x->cuts[infer_root(x, node)];
  if (*known && equal_cuts(x, *known, cut)) return false;
  if (*known == &infer_contradiction) return false;
  *known = *known ? &infer_contradiction : cut;
  return true;
}

void infer_join(infer_t *x, int a, int b) {
  int from = infer_root(x, a), to = infer_root(x, b);
  const dim_cut_t *cut = x->cuts[from];
  if (from == to) return;
  x->parents[from] = to;
  if (cut) infer_set_cut(x, to, cut);
}

/* --- nodes of a value --- */

int infer_dim_count(const hlo_shape_t *shape) {
  int count = 0;
  for (int leaf = 0; leaf < hlo_shape_leaf_count(shape); leaf++)
    count += hlo_shape_leaf(shape, leaf)->rank;
  return count;
}

int infer_first(const infer_t *x, const hlo_instr_t *instr) {
  return x->first[instr->parent->id][instr->id];
}

int infer_physical_dim(const hlo_shape_t *shape, int i) {
  const hlo_layout_t *layout = shape->layout;
  bool has_order = layout && layout->minor_to_major.count == shape->rank;
  return has_order ? (int)layout->minor_to_major.data[shape->rank - 1 - i] : i;
}

int64_t infer_dimension(const hlo_instr_t *instr) {
  hr_ints_t dims = hlo_attr_ints(instr, HLO_ATTR_DIMENSIONS);
  return dims.count ? dims.data[0] : -1;
}
