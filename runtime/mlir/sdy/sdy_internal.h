/* What the files of the verifier share: parsed meshes and shardings, and the op being verified. */
#ifndef MLIR_SDY_INTERNAL_H
#define MLIR_SDY_INTERNAL_H

#include "base/scan_text.h"
#include "mlir/sdy/sdy.h"

/* "x", or "x":(2)4, the middle of [2, 4, rest] of the axis. */
typedef struct sdy_axis {
  hr_str_t name; /* a slice of the text: also the place for messages */
  bool is_part;  /* a sub-axis */
  int64_t pre, size;
  int number; /* in the mesh; set by sdy_resolve_axes, together with pre and size of whole axes */
} sdy_axis_t;

typedef struct sdy_axes {
  int count;
  sdy_axis_t *items;
} sdy_axes_t;

typedef struct sdy_mesh_axis {
  hr_str_t name;
  int64_t size;
} sdy_mesh_axis_t;

typedef struct sdy_mesh {
  hr_str_t name; /* empty: written inside a sharding */
  int axis_count;
  const sdy_mesh_axis_t *axes;
  int64_t id_count;
  const int64_t *ids; /* device_ids */
} sdy_mesh_t;

/* One device holds the whole value. */
static inline bool sdy_mesh_is_maximal(const sdy_mesh_t *mesh) {
  return !mesh->axis_count && mesh->id_count == 1;
}

typedef struct sdy_dim {
  const char *at; /* place for messages */
  sdy_axes_t axes;
  bool is_open, has_priority;
} sdy_dim_t;

typedef struct sdy_sharding {
  const char *at;         /* place for messages */
  hr_str_t mesh_name;     /* a mesh of the module; empty: `mesh` was written inside */
  const sdy_mesh_t *mesh; /* NULL until sdy_resolve */
  int rank;
  sdy_dim_t *dims;
  sdy_axes_t replicated, unreduced;
  const char *reduction; /* "sum", "max", ... of the unreduced axes */
} sdy_sharding_t;

typedef struct sdy_shardings {
  const char *at;
  int count;
  sdy_sharding_t *items;
} sdy_shardings_t;

/* Axes of the manual computations around an op. */
typedef struct sdy_manual {
  const sdy_axes_t *axes;
  const struct sdy_manual *outer;
} sdy_manual_t;

struct sdy_verifier {
  const mlir_module_t *module;
  hr_arena_t *arena;   /* memory for the verifier's life: meshes */
  hr_arena_t scratch;  /* memory for one op */
  hr_map_t meshes;     /* sdy_mesh_t by name */
  const mlir_op_t *op; /* op being verified */
  char subject[64];    /* part of the op, for messages: "argument 1: " */
  const sdy_manual_t *manual;
};

/* Failure about the current op, at the place of `at` if that lies in the source, else (NULL, too)
 * at that of the op. */
#define sdy_error(verifier, at, ...) \
  sdy_error_from(__FILE__, __LINE__, (verifier), (at), __VA_ARGS__)
hr_status_t sdy_error_from(const char *file, int line, const sdy_verifier_t *verifier,
                           const char *at, const char *format, ...)
    __attribute__((format(printf, 5, 6), returns_nonnull));
/* Names the part of the op that is verified; "" for the op itself. */
void sdy_set_subject(sdy_verifier_t *verifier, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* --- texts (sdy_parse.c) --- */
/* A frame for hr_where_push: failures of the scanner get the place where it stands. */
typedef struct sdy_place {
  hr_where_t where;
  const sdy_verifier_t *verifier;
  const hr_scan_t *scan;
} sdy_place_t;
void sdy_place_push(sdy_place_t *place, const sdy_verifier_t *verifier, const hr_scan_t *scan);
void sdy_place_pop(sdy_place_t *place);
/* The text of an attribute with or without the name of its kind around it: "{"x"}" and
 * "#sdy<axis_ref_list{"x"}>". Absent ones are empty. */
hr_str_t sdy_attr_text(const mlir_attr_t *attr);
/* Line and column of a place in the source; false: it lies elsewhere. */
bool sdy_find_place(const sdy_verifier_t *verifier, const char *at, hr_pos_t *out_pos);
hr_status_t sdy_parse_mesh(sdy_verifier_t *verifier, hr_arena_t *arena, hr_str_t text,
                           hr_str_t name, const sdy_mesh_t **out_mesh);
/* {"x", "y":(1)2} */
hr_status_t sdy_parse_axes(sdy_verifier_t *verifier, hr_scan_t *scan, sdy_axes_t *out_axes);
/* A sharding without or with its kind, and a list of them. */
hr_status_t sdy_parse_sharding(sdy_verifier_t *verifier, hr_str_t text,
                               sdy_sharding_t *out_sharding);
hr_status_t sdy_parse_shardings(sdy_verifier_t *verifier, hr_str_t text,
                                sdy_shardings_t *out_shardings);

/* --- axes (sdy_axes.c) --- */
/* Looks the axes up in the mesh and checks them: known, sub-axes that divide their axis, no two
 * neighbours that are one, none that overlaps one in `seen`, to which they are added. */
hr_status_t sdy_resolve_axes(sdy_verifier_t *verifier, const sdy_mesh_t *mesh, sdy_axes_t axes,
                             sdy_axes_t *seen);
/* Checks that they are in the order of the mesh; `what` names them. */
hr_status_t sdy_check_order(sdy_verifier_t *verifier, sdy_axes_t axes, const char *what);
bool sdy_axis_overlaps(const sdy_axis_t *a, const sdy_axis_t *b);
/* The first of `axes` that overlaps one of `others`; NULL: none. */
const sdy_axis_t *sdy_find_overlap(sdy_axes_t axes, sdy_axes_t others);
bool sdy_axes_equal(sdy_axes_t a, sdy_axes_t b);
/* Appends an axis, or makes the last one longer by it. `axes` has room for one more. */
void sdy_append_axis(const sdy_mesh_t *mesh, sdy_axes_t *axes, const sdy_axis_t *axis);
/* A copy with room for `more`. */
hr_status_t sdy_copy_axes(sdy_verifier_t *verifier, sdy_axes_t axes, int more,
                          sdy_axes_t *out_axes);
/* Both lists in the order of the mesh, with neighbours made one. */
hr_status_t sdy_union_axes(sdy_verifier_t *verifier, const sdy_mesh_t *mesh, sdy_axes_t a,
                           sdy_axes_t b, sdy_axes_t *out_axes);
int64_t sdy_axes_parts(sdy_axes_t axes);
/* "x":(1)2, "y" for messages; lives until the scratch arena is reset. */
const char *sdy_axes_text(sdy_verifier_t *verifier, sdy_axes_t axes);

/* --- shardings (sdy_sharding.c) --- */
/* Looks up meshes and axes of a sharding, and checks it by itself and against the type of its
 * value; `type` NULL: no value, as for an op without results. */
hr_status_t sdy_check_sharding(sdy_verifier_t *verifier, sdy_sharding_t *sharding,
                               const mlir_type_t *type);
/* Reads and checks one sharding for each value; `what`: "operand", "result". */
hr_status_t sdy_check_shardings(sdy_verifier_t *verifier, hr_str_t text, int count,
                                const mlir_value_t *const *values, const char *what,
                                sdy_shardings_t *out_shardings);
bool sdy_meshes_equal(const sdy_mesh_t *a, const sdy_mesh_t *b);
/* The sharding that a value has by its op or argument, checked. *out_known is false for values of
 * which this is not known: arguments of regions. */
hr_status_t sdy_sharding_of(sdy_verifier_t *verifier, const mlir_value_t *value, bool *out_known,
                            sdy_sharding_t **out_sharding);
/* Rules for the unreduced axes of an op's operand and result: those that both have keep their
 * reduction; new ones are sums, or refused unless can_add; removed ones are those of the reduction
 * `removes` (NULL: of any). */
typedef struct sdy_transition {
  bool can_add;
  const char *removes;
} sdy_transition_t;
hr_status_t sdy_check_transition(sdy_verifier_t *verifier, const sdy_sharding_t *from,
                                 const sdy_sharding_t *to, const sdy_transition_t *rules);

/* --- ops; each verifies the op of the verifier --- */
hr_status_t sdy_verify_collective(sdy_verifier_t *verifier);
hr_status_t sdy_verify_constraint(sdy_verifier_t *verifier);
hr_status_t sdy_verify_manual(sdy_verifier_t *verifier, sdy_axes_t *out_axes);
hr_status_t sdy_verify_named(sdy_verifier_t *verifier);
hr_status_t sdy_verify_barrier(sdy_verifier_t *verifier);
/* sdy.data_flow_edge and sdy.func_data_flow_edge; uses are counted in mlir_value_t.mapped. */
hr_status_t sdy_verify_edge(sdy_verifier_t *verifier);
/* Attributes of any op: sdy.sharding_rule, sdy.propagation_edges. */
hr_status_t sdy_verify_rule(sdy_verifier_t *verifier, const mlir_attr_t *attr);
hr_status_t sdy_verify_propagation_edges(sdy_verifier_t *verifier, const mlir_attr_t *attr);

#endif
