/* Native kernels of custom calls, by the reference kernel that the table of targets names. */
#ifndef HLO_OPS_NATIVE_CUSTOM_CALL_H
#define HLO_OPS_NATIVE_CUSTOM_CALL_H

#include "ops/native.h"

extern const op_kernel_t custom_potrf, custom_trsm;
extern const op_native_t native_potrf, native_trsm;

#endif
