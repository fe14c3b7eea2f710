/* A custom call of the typed convention in C, without any header of XLA: y = factor * x.
 * Build:  gcc -O2 -shared -fPIC -I SOURCE_FOLDER -o scale_ffi.so scale_ffi.c */
#include "ops/kernels/custom/ffi_abi.h"

static ffi_error_t *fail(const ffi_frame_t *frame, const char *message) {
  ffi_error_create_args_t args = {.struct_size = sizeof args, .message = message, .code = 3};
  return frame->api->error_create(&args);
}

static ffi_error_t *tell_version(const ffi_frame_t *frame) {
  struct metadata {
    FFI_HEAD;
    struct version {
      FFI_HEAD;
      int major, minor;
    } version;
  };
  struct extension {
    size_t struct_size;
    int type;
    struct extension *next;
    struct metadata *metadata;
  } *extension = frame->extension_start;
  if (!extension || extension->type != FFI_EXTENSION_METADATA) return NULL;
  extension->metadata->version.major = FFI_MAJOR;
  extension->metadata->version.minor = FFI_MINOR;
  return NULL;
}

ffi_error_t *scale(ffi_frame_t *frame) {
  if (frame->extension_start) return tell_version(frame); /* asked when it is registered */
  const ffi_buffer_t *x = frame->args.count == 1 ? frame->args.buffers[0] : NULL;
  ffi_buffer_t *y = frame->rets.count == 1 ? frame->rets.buffers[0] : NULL;
  if (!x || !y || x->dtype != 11 || frame->attrs.count != 1)
    return fail(frame, "scale wants one f32 array and the attribute factor");
  const ffi_scalar_t *factor = frame->attrs.values[0];
  int64_t count = 1;
  for (int64_t d = 0; d < x->rank; d++) count *= x->dims[d];
  for (int64_t i = 0; i < count; i++)
    ((float *)y->data)[i] = *(const float *)factor->value * ((const float *)x->data)[i];
  return NULL;
}
