/* TensorFlow's protos: C structs and decoder tables made from tf_proto.def, on the wire format of
 * proto/proto_wire.h; and the text format, which is converted to the binary one.
 * Owner:  strings and lists point into the bytes that were decoded.
 * Errors: INVALID for damaged bytes; for text with line and column. */
#ifndef TF_PROTO_H
#define TF_PROTO_H

#include "base/buffer.h"
#include "base/dtype.h"
#include "proto/proto_wire.h"

#define MESSAGE(id, text) typedef struct tf_##id##_proto {
#define FIELD(message, name, number, kind, text) PROTO_TYPE_##kind name;
#define END(id) \
  }             \
  tf_##id##_proto_t;
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(id, text) extern const proto_message_t tf_##id##_message;
#define FIELD(message, name, number, kind, text)
#define END(id)
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Decodes the pieces of a message of tf_proto.def into a zeroed struct. */
#define TF_DECODE(arena, id, pieces, into) \
  (*(into) = (tf_##id##_proto_t){0}, proto_decode((arena), &tf_##id##_message, (pieces), (into)))

/* Messages of tf_proto.def by number, for the text format. */
typedef enum tf_message_id {
#define MESSAGE(id, text) TF_MESSAGE_##id,
#define FIELD(message, name, number, kind, text)
#define END(id)
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END
  TF_MESSAGE_COUNT
} tf_message_id_t;

/* Numbers of DataType, TF_FLOAT and so on. */
enum {
#define TYPE(id, number, dtype) TF_##id = number,
#include "tf/compile/tf_dtypes.def"
#undef TYPE
};

/* Element type of a number of DataType; HR_TUPLE for strings, resources and variants.
 * Errors: UNSUPPORTED for a number that is unknown. */
hr_status_t tf_dtype(int64_t number, hr_dtype_t *out_dtype);
/* Number of an element type; 0: TensorFlow has none. */
int64_t tf_dtype_number(hr_dtype_t dtype);

/* Converts a message in text format to bytes. `path` is for messages. */
hr_status_t tf_text_to_bytes(const char *path, hr_str_t text, tf_message_id_t id,
                             hr_strbuf_t *out_bytes);

#endif
