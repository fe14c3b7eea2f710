/* Parts of the proto reader and writer, one file per kind of message with both directions in it.
 * Reading: `pieces` are the occurrences of a message. Results go to the module's arena, decoded
 *          messages to the scratch arena, which is rewound after each instruction. Numbers that
 *          index anything are checked here: the verifier and the printers trust them.
 * Writing: each function writes field `number` of the message that is open in `out`.
 * Errors:  INVALID; the caller that knows the instruction adds it as a note. */
#ifndef PROTO_PARTS_H
#define PROTO_PARTS_H

#include "base/map.h"
#include "ir/module.h"
#include "ir/sharding.h"
#include "proto/proto_wire.h"

#define PROTO_DEPTH_MAX 1500 /* nested tuples */

typedef struct proto_reader {
  hlo_module_t *module;
  hr_arena_t *arena; /* arena of the module */
  hr_arena_t scratch;
  hr_map_t computations; /* by ids, as 8 bytes */
  hr_map_t computation_names;
  hr_map_t instrs;         /* current computation, by ids as 8 bytes and by their low 4 bytes */
  hr_map_t names;          /* current computation, by name */
  hr_map_t groups;         /* replica groups by their bytes, so that equal ones are expanded once */
  proto_list_t payloads;   /* pool that metadata and backend configurations refer to */
  int depth;               /* nesting of the shape that is being read */
  int64_t devices_made;    /* entries of expanded replica groups */
  int64_t parameter_slots; /* in all computations */
} proto_reader_t;

/* An instruction between its message and the IR. */
typedef struct proto_draft {
  proto_instr_t in;
  hlo_opcode_t op;
  const hlo_shape_t *shape;
  int operand_count, called_count;
  hlo_instr_t **operands;
  hlo_computation_t **called; /* in the order of the proto */
  hlo_value_t *literal;       /* value of a constant */
} proto_draft_t;

#define PROTO_ERROR(...) hr_error(HR_INVALID, __VA_ARGS__)

/* proto_shape.c */
hr_status_t proto_read_shape(proto_reader_t *p, proto_list_t pieces, const hlo_shape_t **out_shape);
hr_status_t proto_read_shapes(proto_reader_t *p, proto_list_t list,
                              hlo_shapes_t *out_shapes); /* one item each */
void proto_write_shape(hr_strbuf_t *out, uint32_t number, const hlo_shape_t *shape);

/* proto_literal.c. The module owns the value. *out_shape is the shape in the literal, with its
 * layout. */
hr_status_t proto_read_literal(proto_reader_t *p, proto_list_t pieces,
                               const hlo_shape_t **out_shape, hlo_value_t **out_value);
/* `shape` has the layout; NULL: the default one. */
void proto_write_literal(hr_strbuf_t *out, uint32_t number, const hlo_value_t *value,
                         const hlo_shape_t *shape);

/* proto_devices.c */
hr_status_t proto_read_groups(proto_reader_t *p, const proto_instr_t *in,
                              const hlo_groups_t **out_groups);
/* Writes the instruction's field for the notation of the groups. */
void proto_write_groups(hr_strbuf_t *out, const hlo_groups_t *groups);
hr_status_t proto_read_sharding(proto_reader_t *p, proto_list_t pieces,
                                const hlo_sharding_t **out_sharding);
void proto_write_sharding(hr_strbuf_t *out, uint32_t number, const hlo_sharding_t *sharding);

/* proto_extra.c */
hr_status_t proto_read_metadata(proto_reader_t *p, proto_list_t pieces,
                                hlo_metadata_t *out_metadata);
void proto_write_metadata(hr_strbuf_t *out, uint32_t number, const hlo_metadata_t *metadata);
hr_status_t proto_read_pairs(proto_reader_t *p, proto_list_t pieces, hlo_name_values_t *out_pairs);
void proto_write_pairs(hr_strbuf_t *out, uint32_t number, const hlo_name_values_t *pairs);
/* Attributes that every op may have; NULL if there are none. */
hr_status_t proto_read_extra(proto_reader_t *p, const proto_draft_t *draft,
                             const hlo_extra_t **out_extra);
void proto_write_extra(hr_strbuf_t *out, const hlo_extra_t *extra);
int64_t proto_instr_id(const hlo_instr_t *instr);
/* The instruction of this id in the current computation; NULL if there is none. */
hlo_instr_t *proto_find_instr(proto_reader_t *p, int64_t id);

/* proto_values.c: values of attributes that are messages */
hr_status_t proto_read_window(proto_reader_t *p, proto_list_t pieces,
                              const hlo_window_t **out_window);
hr_status_t proto_read_labels(proto_reader_t *p, const proto_draft_t *draft,
                              const hlo_dim_labels_t **out_labels);
hr_status_t proto_read_padding(proto_reader_t *p, proto_list_t pieces,
                               const hlo_padding_t **out_padding);
hr_status_t proto_read_slice(proto_reader_t *p, proto_list_t dims, const hlo_slice_t **out_slice);
hr_status_t proto_read_pairs_of_ids(proto_reader_t *p, proto_list_t list,
                                    const hlo_int_lists_t **out_lists);
hr_status_t proto_read_slice_lists(proto_reader_t *p, const proto_draft_t *draft,
                                   const hlo_int_lists_t **out_lists);
hr_status_t proto_read_aliasing(proto_reader_t *p, proto_list_t list,
                                const hlo_aliasing_t **out_aliasing);
hr_status_t proto_read_domain(proto_reader_t *p, const proto_instr_t *in,
                              const hlo_domain_t **out_domain);
hr_status_t proto_read_sparsity(proto_reader_t *p, proto_list_t pieces,
                                const hlo_sparsity_t **out_sparsity);
hr_status_t proto_read_accuracy(proto_reader_t *p, proto_list_t pieces,
                                const hlo_result_accuracy_t **out_accuracy);
/* Writes the attribute as the instruction's field. */
void proto_write_value(hr_strbuf_t *out, const hlo_attr_t *attr);

/* proto_attrs.c: all attributes of an instruction */
hr_status_t proto_read_attrs(proto_reader_t *p, proto_draft_t *draft, hlo_attr_t *attrs,
                             hlo_instr_def_t *def);
void proto_write_attrs(hr_strbuf_t *out, const hlo_instr_t *instr);

#endif
