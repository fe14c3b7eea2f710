/* The ops, attributes and enumerations that exist, as numbers and tables of facts; knows no shapes
 * or programs. Everything here is generated from ops.def, attrs.def, op_attrs.def and enums.def. */
#ifndef HLO_OPS_OPCODE_H
#define HLO_OPS_OPCODE_H

#include <stdint.h>

#include "base/arena.h"

/* HLO_ADD, ...: one for each row of ops.def, in its order. */
typedef enum hlo_opcode {
#define OP(id, ...) HLO_##id,
#include "ops/table/ops.def"
#undef OP
  HLO_OPCODE_COUNT
} hlo_opcode_t;

/* HLO_ATTR_DIMENSIONS, ...: one for each row of attrs.def. */
typedef enum hlo_attr_key {
#define ATTR(id, ...) HLO_ATTR_##id,
#include "ops/table/attrs.def"
#undef ATTR
  HLO_ATTR_COUNT
} hlo_attr_key_t;

/* Enumerated attribute values: HLO_DIRECTION_EQ, HLO_FFT_TYPE_RFFT, ... */
#define ENUM_BEGIN(name, case_) typedef enum hlo_enum_##name {
#define ENUM_VALUE(name, id, text) HLO_##name##_##id,
#define ENUM_END(name) \
  HLO_##name##_COUNT   \
  }                    \
  hlo_enum_##name##_t;
#include "ops/table/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END

/* HLO_ENUM_DIRECTION, ...: the enumerations themselves. */
typedef enum hlo_enum_id {
#define ENUM_BEGIN(name, case_) HLO_ENUM_##name,
#define ENUM_VALUE(name, id, text)
#define ENUM_END(name)
#include "ops/table/enums.def"
#undef ENUM_BEGIN
#undef ENUM_VALUE
#undef ENUM_END
  HLO_ENUM_COUNT
} hlo_enum_id_t;

/* How words are read and printed: exactly, or read in any case and printed in this one. */
typedef enum hlo_enum_case { HLO_CASE_EXACT, HLO_CASE_LOWER, HLO_CASE_UPPER } hlo_enum_case_t;

/* Spellings of one enumeration. */
typedef struct hlo_enum_info {
  hlo_enum_case_t case_;
  int count;
  const char *const *texts; /* by value; "" for a value without a word */
} hlo_enum_info_t;

extern const hlo_enum_info_t hlo_enum_table[HLO_ENUM_COUNT];
/* The value of `word`, or -1. Upper and lower case differ only in EXACT enumerations. */
int hlo_enum_find(hlo_enum_id_t id, hr_str_t word);

/* The type of an attribute's value; hlo_attr_t in ir/attr.h says where it is stored. */
typedef enum hlo_attr_kind {
  HLO_KIND_BOOL,
  HLO_KIND_INT,
  HLO_KIND_FLOAT,
  HLO_KIND_STRING,
  HLO_KIND_ENUM,
  HLO_KIND_ENUMS, /* a list of one enumeration's values: operand_precision */
  HLO_KIND_INTS,
  HLO_KIND_INT_LISTS,    /* {{0,1},{1,0}} */
  HLO_KIND_COMPUTATION,  /* in hlo_instr_t.called */
  HLO_KIND_COMPUTATIONS, /* in hlo_instr_t.called */
  HLO_KIND_SHAPE,
  HLO_KIND_SHAPES,
  HLO_KIND_WINDOW,
  HLO_KIND_DIM_LABELS,
  HLO_KIND_PADDING,
  HLO_KIND_SLICE,
  HLO_KIND_GROUPS,
  HLO_KIND_ALIASING,
  HLO_KIND_LITERAL,
  HLO_KIND_DOMAIN,
  HLO_KIND_SPARSITY,
  HLO_KIND_RESULT_ACCURACY
} hlo_attr_kind_t;

/* A row of attrs.def. */
typedef struct hlo_attr_info {
  const char *text; /* "" if it is not written as NAME=VALUE */
  hlo_attr_kind_t kind;
  hlo_enum_id_t enum_id; /* the enumeration, for HLO_KIND_ENUM and HLO_KIND_ENUMS */
  int64_t fallback;
} hlo_attr_info_t;

extern const hlo_attr_info_t hlo_attr_table[HLO_ATTR_COUNT];

/* Uses: required, optional but always printed, optional. */
typedef enum hlo_attr_use_kind { HLO_USE_NEED, HLO_USE_SHOW, HLO_USE_MAY } hlo_attr_use_kind_t;
typedef struct hlo_attr_use {
  uint16_t key; /* hlo_attr_key_t */
  uint16_t use; /* hlo_attr_use_kind_t */
} hlo_attr_use_t;

/* Facts about an op for passes and engines; a bit set. */
typedef enum op_trait {
  OP_LEAF = 1 << 0,        /* no operands */
  OP_ELEMENTWISE = 1 << 1, /* element i of the result depends on elements i of the operands (scalars
                              may be operands, too) */
  OP_COMMUTATIVE = 1 << 2,
  OP_ASSOCIATIVE = 1 << 3, /* up to rounding */
  OP_IDENTITY = 1 << 4,    /* the result is operand 0, logically */
  OP_CONTROL = 1 << 5,     /* runs other computations of the program on whole values */
  OP_HAS_BODY = 1 << 6,    /* applies a computation to elements */
  OP_EFFECT = 1 << 7,      /* must run even if its result is unused */
  OP_COMM = 1 << 8,        /* communicates with other processes */
  OP_COLLECTIVE = 1 << 9,  /* has replica groups or source-target pairs */
  OP_START = 1 << 10,      /* first half of an asynchronous pair */
  OP_DONE = 1 << 11,       /* second half */
  OP_RANDOM = 1 << 12      /* result is not a function of the operands */
} op_trait_t;

/* Operand counts: a number, any, or -1 - n for at least n. */
#define OP_OPERANDS_ANY (-1)
#define OP_OPERANDS_AT_LEAST(n) (-1 - (n))

typedef struct hlo_op_info {
  const char *name;           /* in HLO text */
  const char *stablehlo_name; /* "" if no op has the same meaning */
  int operands;               /* exact count; -1 - n: at least n */
  uint32_t traits;
  const hlo_attr_use_t *attrs;
  int attr_count;
} hlo_op_info_t;

extern const hlo_op_info_t hlo_op_table[HLO_OPCODE_COUNT];

static inline const char *hlo_op_name(hlo_opcode_t op) { return hlo_op_table[op].name; }
static inline bool hlo_op_is(hlo_opcode_t op, uint32_t traits) {
  return (hlo_op_table[op].traits & traits) == traits;
}
/* The opcode of the name in HLO text; false if there is none. Cost: constant. */
bool hlo_op_from_name(hr_str_t name, hlo_opcode_t *out_op);

#endif
