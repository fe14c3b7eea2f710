/* The extension for the FFI: the framework registers types, adds its data to an execution, and
 * registers handlers of custom calls. A handler registered here is one of C or C++ code in this
 * process; pjrt_python.c finds the handlers that JAX keeps for its own CPU client. */
#include "base/mem_object.h"
#include "ops/query/custom_ffi.h"
#include "pjrt/abi/pjrt_api.h"
#include "pjrt/execute/pjrt_context.h"
#include "pjrt/abi/pjrt_extensions.h"

/* FFI_Type_Register: a number for the name, where the framework has none. */
static hr_status_t pjrt_ffi_type_register(pjrt_ffi_type_args_t *args) {
  PJRT_NOT_NULL(args->name);
  const pjrt_ffi_type_info_t *info = PJRT_HAS(args, info) ? args->info : NULL;
  return custom_ffi_type((hr_str_t){args->name, args->name_size}, info ? info->destroy : NULL,
                         &args->type_id);
}

/* FFI_UserData_Add, before the context is used: JAX adds its list of Python callbacks. */
static hr_status_t pjrt_ffi_user_data_add(pjrt_ffi_user_data_args_t *args) {
  void *memory;
  PJRT_NOT_NULL(args->context);
  HR_TRY(hr_alloc_object(sizeof(pjrt_user_data_t), &memory));
  pjrt_user_data_t *data = memory;
  *data = (pjrt_user_data_t){args->context->first, args->type_id, args->data};
  args->context->first = data;
  return NULL;
}

/* FFI_Register_Handler: one function is the handler of the stage "execute". */
static hr_status_t pjrt_ffi_register(pjrt_ffi_handler_args_t *args) {
  custom_ffi_bundle_t bundle = {.execute = args->handler};
  PJRT_NOT_NULL(args->target);
  PJRT_NOT_NULL(args->handler);
  return custom_ffi_register((hr_str_t){args->target, args->target_size}, &bundle);
}

PJRT_ENTRY(FFI_Type_Register, ffi_type_register, pjrt_ffi_type_args_t, type_id)
PJRT_ENTRY(FFI_UserData_Add, ffi_user_data_add, pjrt_ffi_user_data_args_t, data)
PJRT_ENTRY(FFI_Register_Handler, ffi_register, pjrt_ffi_handler_args_t, platform_size)

pjrt_ffi_extension_t pjrt_ffi_extension = {
    .base = {sizeof pjrt_ffi_extension, PJRT_EXTENSION_FFI, NULL},
    .functions = {call_ffi_type_register, call_ffi_user_data_add, call_ffi_register}};
