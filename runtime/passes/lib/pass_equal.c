/* Structural equality and hashing of instructions and computations. Equal instructions have equal
 * hashes. Attributes of rare kinds are equal only if they are the same object, and literals are
 * hashed up to HASHED_BYTES. The hash of a commutative op does not depend on the order of its
 * operands. */
#include "passes/lib/pass_equal.h"

#include <string.h>

#include "base/digest.h"

enum { HASHED_BYTES = 4096 }; /* bytes of a literal that are hashed */

/* ---- attributes ---- */

static bool ints_equal(hr_ints_t a, hr_ints_t b) {
  return a.count == b.count &&
         (!a.count || !memcmp(a.data, b.data, (size_t)a.count * sizeof *a.data));
}

/* Equal lists in equal order. */
static bool lists_equal(const hlo_int_lists_t *a, const hlo_int_lists_t *b) {
  if (a == b) return true;
  if (!a || !b || a->count != b->count) return false;
  for (int64_t i = 0; i < a->count; i++)
    if (!ints_equal(a->lists[i], b->lists[i])) return false;
  return true;
}

static bool window_dim_equal(const hlo_window_dim_t *a, const hlo_window_dim_t *b) {
  return a->size == b->size && a->stride == b->stride && a->pad_low == b->pad_low &&
         a->pad_high == b->pad_high && a->base_dilation == b->base_dilation &&
         a->window_dilation == b->window_dilation && a->reversal == b->reversal;
}

static bool windows_equal(const hlo_window_t *a, const hlo_window_t *b) {
  if (a == b) return true;
  if (!a || !b || a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (!window_dim_equal(&a->dims[d], &b->dims[d])) return false;
  return true;
}

static bool plain_equal(const void *a, const void *b, size_t bytes) {
  return a == b || !bytes || (a && b && !memcmp(a, b, bytes));
}

/* Ranks are compared before the arrays whose length they are. */
static bool labels_equal(const hlo_dim_labels_t *a, const hlo_dim_labels_t *b) {
  size_t spatial = (size_t)a->spatial_rank * sizeof(int64_t);
  return a->spatial_rank == b->spatial_rank && a->lhs_rank == b->lhs_rank &&
         a->rhs_rank == b->rhs_rank && a->out_rank == b->out_rank && a->lhs_batch == b->lhs_batch &&
         a->lhs_feature == b->lhs_feature && a->rhs_input_feature == b->rhs_input_feature &&
         a->rhs_output_feature == b->rhs_output_feature && a->out_batch == b->out_batch &&
         a->out_feature == b->out_feature && a->lhs_unused == b->lhs_unused &&
         a->rhs_unused == b->rhs_unused && a->out_unused == b->out_unused &&
         plain_equal(a->lhs_spatial, b->lhs_spatial, spatial) &&
         plain_equal(a->rhs_spatial, b->rhs_spatial, spatial) &&
         plain_equal(a->out_spatial, b->out_spatial, spatial);
}

/* Attributes of rare kinds are equal only if they are the same object. */
static bool attr_equal(const hlo_attr_t *a, const hlo_attr_t *b) {
  if (a->key != b->key) return false;
  switch (hlo_attr_table[a->key].kind) {
    case HLO_KIND_BOOL:
      return a->flag == b->flag;
    case HLO_KIND_INT:
    case HLO_KIND_ENUM:
      return a->integer == b->integer;
    case HLO_KIND_FLOAT:
      return plain_equal(&a->number, &b->number, sizeof a->number);
    case HLO_KIND_STRING:
      return hr_str_equal(a->text, b->text);
    case HLO_KIND_ENUMS:
    case HLO_KIND_INTS:
      return ints_equal(a->ints, b->ints);
    case HLO_KIND_INT_LISTS:
      return lists_equal(a->lists, b->lists);
    case HLO_KIND_COMPUTATION:
    case HLO_KIND_COMPUTATIONS:
      return a->called_count == b->called_count;
    case HLO_KIND_SHAPE:
      return a->shape == b->shape;
    case HLO_KIND_SHAPES:
      return a->shapes == b->shapes;
    case HLO_KIND_WINDOW:
      return windows_equal(a->window, b->window);
    case HLO_KIND_DIM_LABELS:
      return a->labels == b->labels || labels_equal(a->labels, b->labels);
    case HLO_KIND_PADDING:
      return a->padding->rank == b->padding->rank &&
             plain_equal(a->padding->dims, b->padding->dims,
                         (size_t)a->padding->rank * sizeof *a->padding->dims);
    case HLO_KIND_SLICE:
      return a->slice->rank == b->slice->rank &&
             plain_equal(a->slice->dims, b->slice->dims,
                         (size_t)a->slice->rank * sizeof *a->slice->dims);
    case HLO_KIND_GROUPS:
      return a->groups == b->groups;
    case HLO_KIND_ALIASING:
      return a->aliasing == b->aliasing;
    case HLO_KIND_LITERAL:
      return a->literal == b->literal;
    case HLO_KIND_DOMAIN:
      return a->domain == b->domain;
    case HLO_KIND_SPARSITY:
      return a->sparsity == b->sparsity;
    case HLO_KIND_RESULT_ACCURACY:
      return a->accuracy == b->accuracy;
  }
  return false;
}

static bool literals_equal(const hlo_value_t *a, const hlo_value_t *b) {
  return a == b || (a && b && hlo_value_equal(a, b));
}

/* A default layout equals no layout. */
static bool layouts_equal(const hlo_shape_t *a, const hlo_shape_t *b) {
  for (int i = 0; i < a->element_count; i++)
    if (!layouts_equal(a->elements[i], b->elements[i])) return false;
  if (hlo_layout_is_default(a->layout) && hlo_layout_is_default(b->layout)) return true;
  return a->layout && b->layout && hlo_layout_equal(a->layout, b->layout);
}

/* Equality apart from operands; `any_channel`: channel ids may differ. */
static bool kind_equal(const hlo_instr_t *a, const hlo_instr_t *b, bool any_channel) {
  if (a->op != b->op || a->operand_count != b->operand_count || a->attr_count != b->attr_count ||
      a->called_count != b->called_count || a->async_sugar != b->async_sugar)
    return false;
  for (int c = 0; c < a->called_count; c++)
    if (a->called[c] != b->called[c]) return false;
  for (int i = 0; i < a->attr_count; i++) {
    const hlo_attr_t *x = &a->attrs[i], *y = &b->attrs[i];
    bool is_channel = x->key == HLO_ATTR_CHANNEL_ID && y->key == HLO_ATTR_CHANNEL_ID;
    if (!attr_equal(x, y) && !(any_channel && is_channel)) return false;
  }
  return hlo_shape_equal(a->shape, b->shape) && layouts_equal(a->shape, b->shape) &&
         (a->op != HLO_CONSTANT || (a->literal && literals_equal(a->literal, b->literal)));
}

/* Operands must be the same instructions; commutative binary ops allow either order. */
static bool instr_equal(const hlo_instr_t *a, const hlo_instr_t *b, bool any_channel) {
  if (!kind_equal(a, b, any_channel)) return false;
  bool straight = true, crossed = a->operand_count == 2 && hlo_op_is(a->op, OP_COMMUTATIVE);
  for (int k = 0; k < a->operand_count; k++) straight &= a->operands[k] == b->operands[k];
  crossed = crossed && a->operands[0] == b->operands[1] && a->operands[1] == b->operands[0];
  return straight || crossed;
}

bool pass_instr_equal(const hlo_instr_t *a, const hlo_instr_t *b) {
  return instr_equal(a, b, false);
}

bool pass_collective_equal(const hlo_instr_t *a, const hlo_instr_t *b) {
  return instr_equal(a, b, true);
}

/* ---- hashes ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
  return hr_hash_bytes(&word, sizeof word, hash);
}

/* Under a seed that is not known no program can choose its instructions' hashes. */
static uint64_t secret_seed(void) { return hr_hash_secret("instructions", 12); }

static uint64_t hash_shape(uint64_t hash, const hlo_shape_t *shape) {
  hash = mix(hash, (uint64_t)shape->dtype << 32 |
                       (uint64_t)(uint32_t)(shape->rank + shape->element_count));
  for (int i = 0; i < shape->element_count; i++) hash = hash_shape(hash, shape->elements[i]);
  return shape->rank ? hr_hash_bytes(shape->dims, (size_t)shape->rank * sizeof *shape->dims, hash)
                     : hash;
}

static uint64_t hash_ints(uint64_t hash, hr_ints_t ints) {
  return hr_hash_bytes(ints.data, (size_t)ints.count * sizeof *ints.data, hash);
}

static uint64_t hash_lists(uint64_t hash, const hlo_int_lists_t *lists) {
  for (int64_t i = 0; lists && i < lists->count; i++) hash = hash_ints(hash, lists->lists[i]);
  return hash;
}

static uint64_t hash_window(uint64_t hash, const hlo_window_t *window) {
  for (int d = 0; window && d < window->rank; d++) {
    const hlo_window_dim_t *dim = &window->dims[d];
    int64_t words[] = {dim->size,          dim->stride,          dim->pad_low, dim->pad_high,
                       dim->base_dilation, dim->window_dilation, dim->reversal};
    hash = hr_hash_bytes(words, sizeof words, hash);
  }
  return hash;
}

static uint64_t hash_labels(uint64_t hash, const hlo_dim_labels_t *labels) {
  size_t spatial = (size_t)labels->spatial_rank * sizeof(int64_t);
  int64_t words[] = {labels->lhs_batch,          labels->lhs_feature, labels->rhs_input_feature,
                     labels->rhs_output_feature, labels->out_batch,   labels->out_feature};
  hash = hr_hash_bytes(words, sizeof words, hash);
  hash = hr_hash_bytes(labels->lhs_spatial, spatial, hash);
  hash = hr_hash_bytes(labels->rhs_spatial, spatial, hash);
  return hr_hash_bytes(labels->out_spatial, spatial, hash);
}

/* Every kind that a program can vary at will is hashed: instructions of equal hashes are compared
 * one by one. Attributes of rare kinds are not, which is allowed. */
static uint64_t hash_attr(uint64_t hash, const hlo_attr_t *attr) {
  hash = mix(hash, attr->key);
  if (attr->key == HLO_ATTR_CHANNEL_ID) return hash;
  switch (hlo_attr_table[attr->key].kind) {
    case HLO_KIND_BOOL:
      return mix(hash, attr->flag);
    case HLO_KIND_INT:
    case HLO_KIND_ENUM:
      return mix(hash, (uint64_t)attr->integer);
    case HLO_KIND_FLOAT:
      return hr_hash_bytes(&attr->number, sizeof attr->number, hash);
    case HLO_KIND_STRING:
      return hr_hash_bytes(attr->text.data, attr->text.size, hash);
    case HLO_KIND_ENUMS:
    case HLO_KIND_INTS:
      return hash_ints(hash, attr->ints);
    case HLO_KIND_INT_LISTS:
      return hash_lists(hash, attr->lists);
    case HLO_KIND_WINDOW:
      return hash_window(hash, attr->window);
    case HLO_KIND_DIM_LABELS:
      return hash_labels(hash, attr->labels);
    case HLO_KIND_PADDING:
      return hr_hash_bytes(attr->padding->dims,
                           (size_t)attr->padding->rank * sizeof *attr->padding->dims, hash);
    case HLO_KIND_SLICE:
      return hr_hash_bytes(attr->slice->dims, (size_t)attr->slice->rank * sizeof *attr->slice->dims,
                           hash);
    case HLO_KIND_GROUPS:
      return mix(hash, (uint64_t)(uintptr_t)attr->groups);
    default:
      return hash;
  }
}

/* Hash of everything but the operands. */
static uint64_t hash_kind(const hlo_instr_t *instr) {
  uint64_t hash = hash_shape(mix(secret_seed(), (uint64_t)instr->op), instr->shape);
  for (int i = 0; i < instr->attr_count; i++) hash = hash_attr(hash, &instr->attrs[i]);
  for (int c = 0; c < instr->called_count; c++)
    hash = mix(hash, (uint64_t)(uintptr_t)instr->called[c]);
  if (instr->op == HLO_CONSTANT && instr->literal && hlo_shape_is_array(instr->shape)) {
    size_t bytes = hlo_value_bytes(instr->literal);
    hash = hr_hash_bytes(instr->literal->data, bytes < HASHED_BYTES ? bytes : HASHED_BYTES, hash);
  }
  return hash;
}

uint64_t pass_instr_hash(const hlo_instr_t *instr) {
  uint64_t hash = hash_kind(instr), sum = 0;
  for (int k = 0; k < instr->operand_count; k++) {
    uint64_t operand = mix(1, instr->operands[k]->id);
    sum += operand; /* commutative ops: the order does not matter */
    hash = hlo_op_is(instr->op, OP_COMMUTATIVE) ? hash : mix(hash, operand);
  }
  return mix(hash, sum);
}

/* ---- computations ---- */

/* Depends on the order of instructions, like pass_computation_equal. */
uint64_t pass_computation_hash(const hlo_computation_t *computation) {
  uint64_t hash = mix(computation->instrs.count, computation->root->id);
  for (size_t i = 0; i < computation->instrs.count; i++)
    hash = mix(hash, pass_instr_hash(computation->instrs.data[i]));
  return hash;
}

/* Instructions of two computations correspond by id. */
static bool operands_match(const hlo_instr_t *a, const hlo_instr_t *b) {
  for (int k = 0; k < a->operand_count; k++)
    if (a->operands[k]->id != b->operands[k]->id) return false;
  int controls = a->extra ? a->extra->control_count : 0;
  if (controls != (b->extra ? b->extra->control_count : 0)) return false;
  for (int k = 0; k < controls; k++)
    if (a->extra->control_predecessors[k]->id != b->extra->control_predecessors[k]->id)
      return false;
  return true;
}

/* The same instructions in the same order; names are ignored. */
bool pass_computation_equal(const hlo_computation_t *a, const hlo_computation_t *b) {
  if (a->instrs.count != b->instrs.count || a->root->id != b->root->id ||
      a->is_fusion != b->is_fusion || a->is_async_wrapper != b->is_async_wrapper ||
      !hr_str_equal(a->execution_thread, b->execution_thread))
    return false;
  for (size_t i = 0; i < a->instrs.count; i++) {
    const hlo_instr_t *left = a->instrs.data[i], *right = b->instrs.data[i];
    if (!kind_equal(left, right, false) || !operands_match(left, right)) return false;
  }
  return true;
}
