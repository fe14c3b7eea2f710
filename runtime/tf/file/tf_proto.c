/* Tables of TensorFlow's messages and element types, made from tf_proto.def and tf_dtypes.def. */
#include "tf/file/tf_proto.h"

/* The first reading makes the field tables, a second one the messages that point to them. Each
 * field is decoded to the offset of the struct member with its name. */
#define MESSAGE(id, text) static const proto_field_t id##_fields[] = {
#define FIELD(message, name, number, kind, text) \
  {number, PROTO_##kind, offsetof(tf_##message##_proto_t, name)},
#define END(id) \
  }             \
  ;
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(id, text)                     \
  const proto_message_t tf_##id##_message = { \
      text, sizeof(tf_##id##_proto_t), sizeof id##_fields / sizeof *id##_fields, id##_fields};
#define FIELD(message, name, number, kind, text)
#define END(id)
#include "tf/file/tf_proto.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Numbers above 100 are reference types (DT_FLOAT_REF = 101) of TensorFlow 1's variables. */
hr_status_t tf_dtype(int64_t number, hr_dtype_t *out_dtype) {
  switch (number > 100 ? number - 100 : number) {
#define TYPE(id, number, dtype) \
  case number:                  \
    *out_dtype = HR_##dtype;    \
    return NULL;
#include "tf/compile/tf_dtypes.def"
#undef TYPE
    default:
      return hr_error(HR_UNSUPPORTED, "element type %ld of TensorFlow is not known", (long)number);
  }
}

/* The first row wins where several have the same element type, as INT8 comes before QINT8. */
int64_t tf_dtype_number(hr_dtype_t dtype) {
#define TYPE(id, number, type) \
  if (dtype == HR_##type && HR_##type != HR_TUPLE) return number;
#include "tf/compile/tf_dtypes.def"
#undef TYPE
  return 0;
}
