/* Shapes: the type of every value. Immutable once made; they live as long as their arena.
 * Units: dimensions in elements. Source: StableHLO spec "Types"; XLA shapes and layouts. */
#ifndef HLO_IR_SHAPE_H
#define HLO_IR_SHAPE_H

#include "base/arena.h"
#include "base/dtype.h"
#include "base/text.h"

#define HLO_MAX_RANK HR_MAX_RANK
#define HLO_UNBOUNDED HR_UNBOUNDED

/* One tile; a size of HLO_TILE_COMBINE means "combine with the next dimension" ("*"). */
#define HLO_TILE_COMBINE INT64_MIN
typedef struct hlo_tile {
  hr_ints_t dims;
} hlo_tile_t;

typedef struct hlo_split {
  int64_t dimension;
  hr_ints_t indices;
} hlo_split_t;

/* Layout of an array in memory. Only minor_to_major matters on CPUs (for bitcast and custom calls);
 * the rest is stored so that it prints back. A shape whose layout pointer is NULL has the default
 * order {rank-1, ..., 0}. */
typedef struct hlo_layout {
  hr_ints_t minor_to_major; /* count is the rank; the first entry varies fastest */
  int tile_count;
  const hlo_tile_t *tiles;
  int64_t tail_padding_alignment; /* elements; 0 and 1: none */
  int64_t element_bits;           /* 0: natural */
  int64_t memory_space;
  int split_count;
  const hlo_split_t *splits;
  int64_t dynamic_prefix_bytes;
  hr_str_t level_types; /* D(...) text of sparse layouts, as written */
  hr_str_t index_type, pointer_type;
  const struct hlo_shape *physical_shape; /* P(...) */
} hlo_layout_t;

typedef struct hlo_shape hlo_shape_t;
struct hlo_shape {
  hr_dtype_t dtype;           /* HR_TUPLE, HR_TOKEN, HR_OPAQUE and HR_BUFFER are no arrays */
  int rank;                   /* number of dimensions; 0 if not an array */
  const int64_t *dims;        /* sizes, upper bounds of dynamic dimensions, or HLO_UNBOUNDED */
  const bool *dynamic;        /* per dimension; NULL: none is dynamic */
  const hlo_layout_t *layout; /* NULL: default */
  int element_count;          /* tuple elements; 1 for HR_BUFFER */
  const hlo_shape_t *const *elements;
  int leaf_count;         /* tuples: counted once, by hlo_shape_tuple */
  bool has_dynamic;       /* tuples: some leaf has a dynamic dimension */
  const int *leaf_starts; /* long tuples: leaves before each element; NULL: not listed */
};

static inline bool hlo_shape_is_array(const hlo_shape_t *shape) {
  return hr_dtype_is_array(shape->dtype);
}
static inline bool hlo_shape_is_tuple(const hlo_shape_t *shape) { return shape->dtype == HR_TUPLE; }
/* The array of a buffer b(f32[4]); any other shape itself. */
static inline const hlo_shape_t *hlo_shape_contents(const hlo_shape_t *shape) {
  return shape->dtype == HR_BUFFER ? shape->elements[0] : shape;
}
static inline bool hlo_shape_is_scalar(const hlo_shape_t *shape) {
  return hlo_shape_is_array(shape) && !shape->rank;
}
/* True if some dimension, of the array or of any element of the tuple, is dynamic. */
bool hlo_shape_is_dynamic(const hlo_shape_t *shape);

/* Makers. Lists are copied into the arena; element shapes are borrowed and must live as long.
 * Errors: INVALID for a rank above HLO_MAX_RANK; NO_MEMORY. */
hr_status_t hlo_shape_array(hr_arena_t *arena, hr_dtype_t dtype, int rank, const int64_t *dims,
                            const hlo_shape_t **out_shape);
hr_status_t hlo_shape_array_dynamic(hr_arena_t *arena, hr_dtype_t dtype, int rank,
                                    const int64_t *dims, const bool *dynamic,
                                    const hlo_shape_t **out_shape);
hr_status_t hlo_shape_tuple(hr_arena_t *arena, int count, const hlo_shape_t *const *elements,
                            const hlo_shape_t **out_shape);
hr_status_t hlo_shape_with_layout(hr_arena_t *arena, const hlo_shape_t *shape,
                                  const hlo_layout_t *layout, const hlo_shape_t **out_shape);
hr_status_t hlo_shape_with_dtype(hr_arena_t *arena, const hlo_shape_t *shape, hr_dtype_t dtype,
                                 const hlo_shape_t **out_shape);
/* Static shapes of scalars and the token. */
const hlo_shape_t *hlo_shape_scalar(hr_dtype_t dtype);

/* Equal types, sizes and dynamic flags, elements included. Layouts are not compared. */
bool hlo_shape_equal(const hlo_shape_t *a, const hlo_shape_t *b);
/* As above, but a dynamic dimension is compatible with any size within its bound: a value of shape
 * a can be used where b is wanted. */
bool hlo_shape_compatible(const hlo_shape_t *a, const hlo_shape_t *b);
bool hlo_shape_same_dims(const hlo_shape_t *a, const hlo_shape_t *b);
/* Whether the layout is {rank-1, ..., 0} without any other field; NULL is. */
bool hlo_layout_is_default(const hlo_layout_t *layout);
bool hlo_layout_equal(const hlo_layout_t *a, const hlo_layout_t *b);

/* Elements of a static array whose size was verified before (no overflow). */
static inline int64_t hlo_shape_elements(const hlo_shape_t *shape) {
  int64_t count = 1;
  for (int d = 0; d < shape->rank; d++) count *= shape->dims[d];
  return count;
}
/* Elements of an array (1 for scalars), bounds counted for dynamic dimensions; NO_MEMORY when the
 * product or its bytes overflow or exceed this machine's memory, INVALID for an unbounded
 * dimension. */
hr_status_t hlo_shape_count(const hlo_shape_t *shape, int64_t *out_count);
hr_status_t hlo_shape_bytes(const hlo_shape_t *shape, size_t *out_bytes);
hr_status_t hlo_dims_count(int rank, const int64_t *dims, hr_dtype_t dtype, int64_t *out_count);

/* Leaves (arrays, tokens, opaques) of a tuple tree, depth first: the order of flattened parameters
 * and results. */
int hlo_shape_leaf_count(const hlo_shape_t *shape);
const hlo_shape_t *hlo_shape_leaf(const hlo_shape_t *shape, int index);
/* Number of the first leaf of a tuple's element. */
int hlo_shape_leaf_start(const hlo_shape_t *tuple, int64_t element);
/* The element of a tuple that has the leaf. */
int hlo_shape_element_of_leaf(const hlo_shape_t *tuple, int leaf);
/* The part of a tuple tree that an index path leads to; NULL if it leads nowhere. */
/* Number of the first leaf of the part that a path of elements leads to; -1: no such part. */
int hlo_shape_leaf_at(const hlo_shape_t *shape, hr_ints_t path);
const hlo_shape_t *hlo_shape_at_path(const hlo_shape_t *shape, hr_ints_t path);

/* Prints f32[2,3]{1,0}. With with_layout, prints the layout unless the rank is 0 and the layout has
 * no field but the order. */
void hlo_shape_print(hr_strbuf_t *text, const hlo_shape_t *shape, bool with_layout);
/* For messages: prints without layout into the caller's storage, cut with "..." if it does not fit;
 * returns `into`. */
#define HLO_SHAPE_TEXT 256
const char *hlo_shape_text(const hlo_shape_t *shape, char into[HLO_SHAPE_TEXT]);

#endif
