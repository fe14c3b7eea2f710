/* Attributes of an instruction: a short list of (key, value). ops/table/attrs.def lists keys and
 * kinds. Readers, printers, passes and the preparation of kernels use the accessors below. */
#ifndef HLO_IR_ATTR_H
#define HLO_IR_ATTR_H

#include "ir/shape.h"
#include "ir/value.h"
#include "ops/table/opcode.h"

typedef struct hlo_instr hlo_instr_t;

/* WINDOW: one entry per dimension. Low and high padding may be negative (crops). */
typedef struct hlo_window_dim {
  int64_t size, stride, pad_low, pad_high;
  int64_t base_dilation;   /* lhs_dilate: distance of neighbouring input elements, 1 = no holes */
  int64_t window_dilation; /* rhs_dilate: distance of neighbouring window elements */
  bool reversal;
} hlo_window_dim_t;
typedef struct hlo_window {
  int rank;
  const hlo_window_dim_t *dims;
} hlo_window_t;

/* DIM_LABELS: dimensions of input (lhs), kernel (rhs) and output by role; -1: none. `unused`: bit
 * masks of dimensions without a role ("?"). */
typedef struct hlo_dim_labels {
  int spatial_rank;
  int lhs_rank, rhs_rank, out_rank;
  int64_t lhs_batch, lhs_feature, rhs_input_feature, rhs_output_feature, out_batch, out_feature;
  const int64_t *lhs_spatial, *rhs_spatial, *out_spatial; /* spatial_rank entries each */
  uint32_t lhs_unused, rhs_unused, out_unused;
} hlo_dim_labels_t;

/* PADDING: edge and interior padding in elements; negative low and high crop. */
typedef struct hlo_padding_dim {
  int64_t low, high, interior;
} hlo_padding_dim_t;
typedef struct hlo_padding {
  int rank;
  const hlo_padding_dim_t *dims;
} hlo_padding_t;

/* SLICE: elements start, start + stride, ... below limit, per dimension. */
typedef struct hlo_slice_dim {
  int64_t start, limit, stride;
} hlo_slice_dim_t;
typedef struct hlo_slice {
  int rank;
  const hlo_slice_dim_t *dims;
} hlo_slice_t;

/* INT_LISTS: lists of integers, of any lengths. */
typedef struct hlo_int_lists {
  int64_t count;
  const hr_ints_t *lists;
} hlo_int_lists_t;

/* A device mesh: named axes, major first. Used by replica groups and shardings. */
typedef struct hlo_mesh_axis {
  hr_str_t name;
  int64_t size;
} hlo_mesh_axis_t;
typedef struct hlo_mesh {
  int axis_count;
  const hlo_mesh_axis_t *axes;
  hr_ints_t device_ids;                  /* explicit order; empty: 0, 1, ... */
  hr_ints_t iota_dims, iota_permutation; /* device_ids=([dims]T(perm)); empty: not that form */
  bool maximal;                          /* maximal_mesh[device_id=N]: device_ids has N */
} hlo_mesh_t;
typedef struct hlo_axis_ref {
  int axis;               /* index into the mesh's axes */
  int64_t pre_size, size; /* sub-axis (pre)size; 0 0: the whole axis */
} hlo_axis_ref_t;

/* GROUPS: one of three notations, and the device lists that it stands for. The reader or
 * hlo_groups_expand fills in `groups` for each notation. */
typedef enum hlo_groups_form {
  HLO_GROUPS_LIST,
  HLO_GROUPS_IOTA,
  HLO_GROUPS_MESH
} hlo_groups_form_t;
typedef struct hlo_groups {
  hlo_groups_form_t form;
  hlo_int_lists_t groups; /* ids in listed order; count 0: all in one group */
  hr_ints_t iota_tile, iota_dims, iota_permutation; /* [tile]<=[dims]T(permutation) */
  hlo_mesh_t mesh;
  int axis_count;
  const hlo_axis_ref_t *axes;
} hlo_groups_t;

/* ALIASING (output_to_operand_aliasing, and input_output_alias of a module). */
typedef struct hlo_alias {
  hr_ints_t output_index;
  int64_t operand; /* operand number, or parameter number */
  hr_ints_t operand_index;
  bool must; /* must-alias rather than may-alias; modules only */
} hlo_alias_t;
typedef struct hlo_aliasing {
  int count;
  const hlo_alias_t *aliases;
} hlo_aliasing_t;

/* DOMAIN: shardings at the two sides of a domain instruction (XLA, kDomain). */
typedef struct hlo_domain {
  hr_str_t kind;
  const struct hlo_sharding *entry, *exit;
} hlo_domain_t;

/* SPARSITY of a dot: `non_zeros` of each `block` elements along `dimension` are stored. */
typedef struct hlo_sparsity_side {
  bool present;
  int64_t non_zeros, block, dimension, stride;
} hlo_sparsity_side_t;
typedef struct hlo_sparsity {
  hlo_sparsity_side_t lhs, rhs;
} hlo_sparsity_t;

/* RESULT_ACCURACY of StableHLO: tolerances, or the mode "highest". */
typedef struct hlo_result_accuracy {
  bool has_tolerance; /* else `highest` */
  double atol, rtol;
  int64_t ulps;
} hlo_result_accuracy_t;

typedef struct hlo_shapes {
  int count;
  const hlo_shape_t *const *shapes;
} hlo_shapes_t;

/* One attribute. The key decides which member of the union holds the value (attrs.def). */
typedef struct hlo_attr {
  uint16_t key; /* hlo_attr_key_t */
  union {
    bool flag;       /* BOOL */
    int64_t integer; /* INT, and ENUM: the value's number */
    double number;   /* FLOAT */
    hr_str_t text;   /* STRING */
    hr_ints_t ints;  /* INTS, and ENUMS: numbers of the values */
    const hlo_int_lists_t *lists;
    int64_t called_count; /* COMPUTATION, COMPUTATIONS: entries of instr->called that it names */
    const hlo_shape_t *shape;
    const hlo_shapes_t *shapes;
    const hlo_window_t *window;
    const hlo_dim_labels_t *labels;
    const hlo_padding_t *padding;
    const hlo_slice_t *slice;
    const hlo_groups_t *groups;
    const hlo_aliasing_t *aliasing;
    hlo_value_t *literal; /* owned by the module, see hlo_module_adopt_value */
    const hlo_domain_t *domain;
    const hlo_sparsity_t *sparsity;
    const hlo_result_accuracy_t *accuracy;
  };
} hlo_attr_t;

/* Accessors. Cost: linear in the number of attributes. Owner: results live as the module.
 * Thread: any, as the module does not change. */

/* The attribute with this key; NULL if absent. */
const hlo_attr_t *hlo_attr_find(const hlo_instr_t *instr, hlo_attr_key_t key);
static inline bool hlo_attr_has(const hlo_instr_t *instr, hlo_attr_key_t key) {
  return hlo_attr_find(instr, key) != NULL;
}
/* Absent: the fallback of attrs.def (false, "", no ints, NULL for the rest). */
bool hlo_attr_bool(const hlo_instr_t *instr, hlo_attr_key_t key);
int64_t hlo_attr_int(const hlo_instr_t *instr, hlo_attr_key_t key);
int hlo_attr_enum(const hlo_instr_t *instr, hlo_attr_key_t key);
double hlo_attr_float(const hlo_instr_t *instr, hlo_attr_key_t key);
hr_str_t hlo_attr_str(const hlo_instr_t *instr, hlo_attr_key_t key);
hr_ints_t hlo_attr_ints(const hlo_instr_t *instr, hlo_attr_key_t key);
const hlo_int_lists_t *hlo_attr_lists(const hlo_instr_t *instr, hlo_attr_key_t key);
const hlo_window_t *hlo_attr_window(const hlo_instr_t *instr);
const hlo_dim_labels_t *hlo_attr_labels(const hlo_instr_t *instr);
const hlo_padding_t *hlo_attr_padding(const hlo_instr_t *instr);
const hlo_slice_t *hlo_attr_slice(const hlo_instr_t *instr);
const hlo_groups_t *hlo_attr_groups(const hlo_instr_t *instr);

#endif
