/* Parts of the HLO text reader: recursive descent over the tokens of hlo_lexer.h, straight into the
 * module.
 * Limits: recursion is at most READ_DEPTH_MAX deep; memory is proportional to the size of the text.
 * Errors: INVALID with line and column.
 * Owner:  results live in the module's arena; stacks of the reader are freed when it ends. */
#ifndef READ_HLO_READER_H
#define READ_HLO_READER_H

#include "ir/module.h"
#include "ir/sharding.h"
#include "read/hlo_lexer.h"
#include "stablehlo/stablehlo.h"

#define READ_DEPTH_MAX 1500 /* nested operands, computations, tuples, literals */
/* Marks functions with large stack frames, which must not be inlined into recursive functions. */
#define READ_OP_FRAME __attribute__((noinline))

/* One attribute of an instruction under construction; its computations are in the reader's `called`
 * stack. */
typedef struct read_attr {
  hlo_attr_t attr;
  size_t called_from;
} read_attr_t;

/* A computation under construction, with the names that its instructions have. */
typedef struct read_scope {
  struct read_scope *outer; /* scope of the computation around it; NULL: none */
  hlo_computation_t *computation;
  hr_map_t names;
  size_t anonymous_from; /* in the reader's `anonymous` stack */
} read_scope_t;

/* State of the reader. Lists of unknown length are pushed on its stacks; the function that starts a
 * list keeps the height, and pops everything above it when the list ends. */
typedef struct read_hlo {
  read_lexer_t lexer;
  hlo_module_t *module;
  hr_arena_t *arena;       /* arena of the module */
  hr_map_t computations;   /* by name */
  hr_map_t groups;         /* replica groups by their text, so that equal ones are expanded once */
  read_scope_t *scope;     /* computation that is being read, the innermost one */
  int depth;               /* levels of recursion, at most READ_DEPTH_MAX */
  bool single;             /* the text is one instruction: unknown operands become parameters */
  int64_t devices_made;    /* entries of expanded replica groups */
  int64_t parameter_slots; /* in all computations */
  int64_t inferred_nodes;  /* nodes of tuple shapes that the text does not write out */

  HR_VEC(int64_t) ints;                  /* numbers of lists in brackets or braces */
  HR_VEC(hlo_instr_t *) instrs;          /* operands */
  HR_VEC(hlo_computation_t *) called;    /* computations that attributes name */
  HR_VEC(read_attr_t) attrs;             /* attributes in the order of the text */
  HR_VEC(const hlo_shape_t *) shapes;    /* elements of tuple shapes */
  HR_VEC(hlo_name_value_t) pairs;        /* frontend attributes */
  HR_VEC(const void *) nodes;            /* shardings, origins and other trees */
  HR_VEC(hlo_instr_t *) anonymous;       /* nested operands, named when their computation ends */
  HR_VEC(hlo_computation_t *) generated; /* computations without a name in the text */
  HR_VEC(hlo_computation_t *)
  completed; /* all computations in order of completion: callees first */
} read_hlo_t;

/* An instruction between its first token and its place in the module. */
typedef struct read_draft {
  hlo_opcode_t op;    /* OP itself for OP-start, whose attributes are OP's */
  hlo_opcode_t async; /* ASYNC_START, _UPDATE or _DONE if written as OP-start; else OPCODE_COUNT */
  hlo_opcode_t wrapped;          /* OP of OP-start, OP-update and OP-done */
  const struct read_old_op *old; /* the old spelling it was written in, or NULL */
  hr_str_t name;
  hr_pos_t pos; /* position of the name, or of the opcode if there is none */
  size_t op_at;
  size_t operands_from, attrs_from, called_from;
  const hlo_shape_t *shape; /* NULL: to be inferred */
  hlo_value_t *literal;
  hr_str_t thread; /* async_execution_thread of OP-start */
  bool has_thread;
  hlo_extra_t extra;
  uint32_t extras_seen;
} read_draft_t;

/* Guards a recursion: READ_DEEPER(r) ... read_shallower(r). */
hr_status_t read_deeper(read_hlo_t *r, const char *what);
static inline void read_shallower(read_hlo_t *r) { r->depth--; }

/* hlo_reader.c */
/* Starts a reader whose module and arena are set. The stacks get memory at once, so that an address
 * into an empty one is valid. Errors: NO_MEMORY; read_hlo_deinit is needed also then. */
hr_status_t read_hlo_init(read_hlo_t *r);
/* Frees maps and stacks; results are in the arena. */
void read_hlo_deinit(read_hlo_t *r);

/* hlo_module_text.c */
/* A computation by its name, or a body in braces. */
hr_status_t read_computation_ref(read_hlo_t *r, hlo_computation_t **out_computation);
/* Makes a computation that the text does not have; it is named when the module ends. */
hr_status_t read_generate_computation(read_hlo_t *r, const char *name,
                                      hlo_computation_t **out_computation);
/* Begins the scope of a computation, which is innermost until read_scope_close. */
hr_status_t read_scope_open(read_hlo_t *r, read_scope_t *scope, hlo_computation_t *computation);
/* Must be called after read_scope_open, also after failures. */
hr_status_t read_scope_close(read_hlo_t *r, read_scope_t *scope);
/* A name with or without '%'. INVALID for reserved words; `want` says what it is the name of. */
hr_status_t read_name(read_hlo_t *r, const char *want, hr_str_t *out_name);

/* hlo_header_text.c */
/* HloModule NAME, ATTRIBUTE=..., ... */
hr_status_t read_header(read_hlo_t *r);
/* The tables FileNames, FunctionNames, FileLocations and StackFrames. */
hr_status_t read_stack_frames(read_hlo_t *r);

/* hlo_instr_text.c */
/* "ROOT"? NAME = right side; appends it to the current computation. */
hr_status_t read_instruction(read_hlo_t *r);
/* What stands after the equals sign: SHAPE OP(OPERANDS), ATTRIBUTES. Nested operands are
 * appended first. */
hr_status_t read_rhs(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr);
/* Appends an instruction to the current computation; the attributes come in the order of the op's
 * list. */
hr_status_t read_append(read_hlo_t *r, const read_draft_t *draft, hlo_instr_t **out_instr);
/* Appends an instruction that the text does not have. `attr` may be NULL. */
hr_status_t read_append_simple(read_hlo_t *r, const read_draft_t *at, hlo_opcode_t op,
                               const hlo_shape_t *shape, int operand_count,
                               hlo_instr_t *const *operands, const hlo_attr_t *attr,
                               hlo_instr_t **out_instr);

/* Counts the nodes of a tuple shape that the text does not write out. Such shapes can double with
 * each instruction; INVALID when their sum far exceeds the size of the text. */
hr_status_t read_charge_tuple(read_hlo_t *r, size_t at, const hlo_shape_t *shape);

/* hlo_attrs_text.c */
/* ", NAME=VALUE" until something else follows; pushed on the reader's stack, or set in the
 * draft. */
hr_status_t read_attributes(read_hlo_t *r, read_draft_t *draft);
/* The value of an attribute of this kind. */
hr_status_t read_attr_value(read_hlo_t *r, hlo_attr_key_t key, hlo_attr_kind_t kind,
                            hlo_attr_t *out_attr);
/* The attribute of the draft with this key; NULL: none. */
read_attr_t *read_find_attr(read_hlo_t *r, const read_draft_t *draft, hlo_attr_key_t key);

/* hlo_values_text.c: values of attributes by kind */
/* open INT, INT, ... close */
hr_status_t read_ints(read_hlo_t *r, read_kind_t open, read_kind_t close, hr_ints_t *out_ints);
/* {{INT, ...}, ...} */
hr_status_t read_int_lists(read_hlo_t *r, const hlo_int_lists_t **out_lists);
/* INT or FLOAT, as a double. */
hr_status_t read_number(read_hlo_t *r, double *out_number);
/* {[START:LIMIT:STRIDE], ...} */
hr_status_t read_slice(read_hlo_t *r, const hlo_slice_t **out_slice);
/* { {OUTPUT INDEX}: (PARAMETER, {INDEX}, KIND), ... } */
hr_status_t read_aliasing(read_hlo_t *r, const hlo_aliasing_t **out_aliasing);
/* {kind="sharding", entry=SHARDING, exit=SHARDING} */
hr_status_t read_domain(read_hlo_t *r, const hlo_domain_t **out_domain);
/* Structured sparsity of one or both operands: sparsity, dimension and stride of each. */
hr_status_t read_sparsity(read_hlo_t *r, const hlo_sparsity_t **out_sparsity);
hr_status_t read_accuracy(read_hlo_t *r,
                          const hlo_result_accuracy_t **out_accuracy); /* NULL: default */

/* hlo_window_text.c */
/* Sizes such as 3x3, at most HLO_MAX_RANK of them. */
hr_status_t read_sizes(read_hlo_t *r, int64_t sizes[HLO_MAX_RANK], int *out_rank);
/* {size=3x3 stride=2x2 pad=1_1x1_1 ...} */
hr_status_t read_window(read_hlo_t *r, const hlo_window_t **out_window);
/* b01f_01io->b01f */
hr_status_t read_labels(read_hlo_t *r, const hlo_dim_labels_t **out_labels);
/* LOW_HIGH or LOW_HIGH_INTERIOR for each dimension, with x between them. */
hr_status_t read_padding(read_hlo_t *r, const hlo_padding_t **out_padding);

/* hlo_groups_text.c, hlo_sharding_text.c, hlo_extra_text.c */
/* {{0,1},{2,3}}, or [2,2]<=[4] and meshes, which are expanded. */
hr_status_t read_groups(read_hlo_t *r, const hlo_groups_t **out_groups);
/* *out_comma: a comma was passed after the mesh that does not belong to it. */
hr_status_t read_mesh(read_hlo_t *r, hlo_mesh_t *out_mesh, bool *out_comma);
#define READ_MOST_AXES 64 /* most parts of axes: each doubles the number of devices, an int64 */

/* Axes of a mesh that one sharding or list of groups names. No two of them share a part of more
 * than one device, so their number is limited by that of the devices. */
typedef struct read_used_axes {
  int count;
  hlo_axis_ref_t refs[READ_MOST_AXES]; /* those of more than one device */
} read_used_axes_t;
/* {'a', ?}. Appends to `used`. Errors: INVALID for an axis that is in `used`. */
hr_status_t read_axes(read_hlo_t *r, const hlo_mesh_t *mesh, read_used_axes_t *used,
                      hlo_axes_t *out_axes, bool *out_open);
hr_status_t read_sharding(read_hlo_t *r, const hlo_sharding_t **out_sharding);
hr_status_t read_sharding_text(hlo_module_t *module, hr_str_t text,
                               const hlo_sharding_t **out_sharding); /* alone */
/* Pieces of HLO text in programs of other formats; see stablehlo.h. */
hr_status_t read_frontend_attr_text(hlo_module_t *module, hlo_opcode_t op, hr_str_t text,
                                    stablehlo_frontend_attrs_t *out_note);
hr_status_t read_shape_text(hlo_module_t *module, hr_str_t text, const hlo_shape_t **out_shape);
hr_status_t read_header_text(hlo_module_t *module, hr_str_t text);
hr_status_t read_stack_frames_text(hlo_module_t *module, hr_str_t text);
/* {op_type="..." op_name="..." source_file="..." ...} */
hr_status_t read_metadata(read_hlo_t *r, hlo_metadata_t *out_metadata);
hr_status_t read_pairs(read_hlo_t *r, hlo_name_values_t *out_pairs); /* frontend attributes */
/* Reads the value of an attribute that any instruction may carry. False if there is none of this
 * name. */
hr_status_t read_extra(read_hlo_t *r, read_draft_t *draft, hr_str_t name, bool *out_found);
/* Name of attribute number `index` among those that every op may have; NULL after the last. */
const char *read_extra_name(int index);

/* hlo_shape_text.c */
/* Whether the current token begins a shape. */
bool read_at_shape(const read_hlo_t *r);
/* An array shape with its layout, or a tuple of shapes. */
hr_status_t read_shape(read_hlo_t *r, const hlo_shape_t **out_shape);
hr_status_t read_bare_array(read_hlo_t *r,
                            const hlo_shape_t **out_shape); /* f32[2], without a layout */
hr_status_t read_shape_list(read_hlo_t *r, read_kind_t open, read_kind_t close,
                            hlo_shapes_t *out_shapes);

/* hlo_literal_text.c. The value belongs to the module; NULL: elided. *shape loses its dynamic
 * dimensions. */
hr_status_t read_literal_text(read_hlo_t *r, const hlo_shape_t **shape, hlo_value_t **out_value);
/* SHAPE LITERAL, or a tuple of these. */
hr_status_t read_typed_literal(read_hlo_t *r, hlo_value_t **out_value);

/* hlo_number_text.c: one number of a FLOAT type, rounded once. `text` is a decimal that
 * read_match_float or digits matched. False if a finite number has no finite value in the type. */
bool read_decimal(const char *text, size_t size, hr_dtype_t type, uint64_t *out_bits);

/* hlo_legacy.c: spellings of old versions */
/* NULL: not the name of an operation that earlier versions had. */
const struct read_old_op *read_old_op_find(hr_str_t name, hlo_opcode_t *out_op);
/* Reads the value of an attribute that `draft`'s op no longer has, or has under another name. */
hr_status_t read_old_attr(read_hlo_t *r, read_draft_t *draft, hr_str_t name, bool *out_found);
/* Converts an instruction from an old form to the current one. *out_instr is set if this took
 * several instructions. */
hr_status_t read_modernize(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr);

/* hlo_async_text.c: OP-start, OP-update and OP-done */
/* Whether `name` is OP-start, OP-update or OP-done of an OP that has no opcode for it. */
bool read_async_op(hr_str_t name, hlo_opcode_t *out_async, hlo_opcode_t *out_wrapped);
/* Appends the asynchronous form, with a computation that contains OP. */
hr_status_t read_append_async(read_hlo_t *r, read_draft_t *draft, hlo_instr_t **out_instr);

#endif
