/* The messages of hlo_proto.def as C structs with field numbers, and the wire format in both
 * directions. A struct holds the numbers of one message and the bytes of the messages inside it,
 * which are decoded on demand: memory stays in proportion to the bytes, and nothing recurses.
 * Owner:  strings and lists point into the input, which must outlive them.
 * Thread: any; the tables are constant.
 * Source: protobuf.dev, "Encoding". */
#ifndef PROTO_WIRE_H
#define PROTO_WIRE_H

#include "base/text.h"

/* Encoded bytes, one item per occurrence of a field. */
typedef struct proto_list {
  int64_t count;
  const hr_str_t *items;
} proto_list_t;

/* A number whose presence matters (proto2 or `optional`). */
typedef struct proto_maybe {
  bool present;
  int64_t value;
} proto_maybe_t;

/* Representation of a field in its struct; see hlo_proto.def. */
typedef enum proto_kind {
  PROTO_INT,
  PROTO_FLAG,
  PROTO_F32,
  PROTO_F64,
  PROTO_BYTES,
  PROTO_MAYBE,
  PROTO_LIST
} proto_kind_t;

#define PROTO_TYPE_INT int64_t
#define PROTO_TYPE_FLAG bool
#define PROTO_TYPE_F32 double
#define PROTO_TYPE_F64 double
#define PROTO_TYPE_BYTES hr_str_t
#define PROTO_TYPE_MAYBE proto_maybe_t
#define PROTO_TYPE_LIST proto_list_t

/* proto_instr_t and so on: all zero is the empty message. */
#define MESSAGE(id, text) typedef struct proto_##id {
#define FIELD(message, name, number, kind) PROTO_TYPE_##kind name;
#define END(id) \
  }             \
  proto_##id##_t;
#include "proto/hlo_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

/* PROTO_instr_opcode and so on: field numbers; PROTO_KIND_instr_opcode: their kinds. */
enum {
#define MESSAGE(id, text)
#define FIELD(message, name, number, kind) \
  PROTO_##message##_##name = number, PROTO_KIND_##message##_##name = PROTO_##kind,
#define END(id)
#include "proto/hlo_proto.def"
#undef MESSAGE
#undef FIELD
#undef END
};

/* Row of a message's table. */
typedef struct proto_field {
  uint32_t number;
  uint16_t kind;   /* proto_kind_t */
  uint16_t offset; /* byte offset of the member in the struct */
} proto_field_t;

typedef struct proto_message {
  const char *name;
  size_t size_bytes; /* size of the C struct */
  int field_count;
  const proto_field_t *fields;
} proto_message_t;

#define MESSAGE(id, text) extern const proto_message_t proto_##id##_message;
#define FIELD(message, name, number, kind)
#define END(id)
#include "proto/hlo_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

/* --- reading --- */

/* Reads the varint at *at and advances *at; it must end before `end`.
 * Returns false if it is cut short or longer than 64 bits. */
bool proto_take_varint(const char **at, const char *end, uint64_t *out_value);
/* Decodes all pieces of one message into a zeroed struct. Strings and lists point into the bytes;
 * the lists' items live in the arena. Unknown fields are skipped. Errors: INVALID if the bytes are
 * no message. */
hr_status_t proto_decode(hr_arena_t *arena, const proto_message_t *type, proto_list_t pieces,
                         void *into);
#define PROTO_DECODE(arena, id, pieces, into) \
  (*(into) = (proto_##id##_t){0}, proto_decode((arena), &proto_##id##_message, (pieces), (into)))
/* One piece. */
static inline proto_list_t proto_piece(const hr_str_t *bytes) { return (proto_list_t){1, bytes}; }

/* Number of varints in the list, packed or single; -1 if it ends within one. */
int64_t proto_varint_count(proto_list_t list);
size_t proto_list_bytes(proto_list_t list);
/* The varints of a list as integers, or as flags (not 0), in the arena. Errors: INVALID. */
hr_status_t proto_ints(hr_arena_t *arena, proto_list_t list, hr_ints_t *out_ints);
hr_status_t proto_bools(hr_arena_t *arena, proto_list_t list, int *out_count,
                        const bool **out_flags);

/* --- writing --- */

/* Numbers and strings that are 0 or empty are left out, as proto3 does. */
void proto_put_varint(hr_strbuf_t *out, uint64_t value); /* without a tag */
void proto_put_int(hr_strbuf_t *out, uint32_t number, int64_t value);
void proto_put_present_int(hr_strbuf_t *out, uint32_t number, int64_t value); /* 0 too */
void proto_put_f32(hr_strbuf_t *out, uint32_t number, double value);
void proto_put_f64(hr_strbuf_t *out, uint32_t number, double value);
void proto_put_bytes(hr_strbuf_t *out, uint32_t number, hr_str_t bytes);
/* As proto_put_bytes, but writes empty bytes too: an item of a list. */
void proto_put_item(hr_strbuf_t *out, uint32_t number, hr_str_t bytes);
void proto_put_ints(hr_strbuf_t *out, uint32_t number, hr_ints_t ints);
void proto_put_bools(hr_strbuf_t *out, uint32_t number, int64_t count, const bool *flags);
/* Brackets a nested message or packed numbers: its contents are written between the two calls,
 * which nest. Cost: a message longer than 127 bytes moves once, to make room for its length. */
size_t proto_open(hr_strbuf_t *out, uint32_t number);
void proto_close(hr_strbuf_t *out, size_t opened);

#endif
