/* C has no landing pad for exceptions, so the call is made by a few instructions whose unwind table
 * names a personality routine: it stops every exception there, and execution resumes after the
 * call with the exception's address. The rest of the file calls the C++ library that made the
 * exception. The address of the exception's cleanup function tells which library that is, as a
 * process may have several.
 *
 * Source: Itanium C++ ABI, exception handling, levels I and II. */
#include "ops/kernels/custom/custom_guard.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

#include "base/foreign_code.h"

enum { CODE_UNKNOWN = 2 };

#if defined(__x86_64__)
/* Calls `function` with the arguments. After an exception *out_exception is its address. */
extern void *guard_call(void (*function)(void), void *const *args,
                        struct _Unwind_Exception **out_exception)
    __attribute__((visibility("hidden")));
extern const char guard_landing[] __attribute__((visibility("hidden")));
_Unwind_Reason_Code guard_personality(int version, _Unwind_Action actions,
                                      _Unwind_Exception_Class kind,
                                      struct _Unwind_Exception *exception,
                                      struct _Unwind_Context *context)
    __attribute__((visibility("hidden"), used));

__asm__(
    ".text\n"
    ".p2align 4\n"
    ".hidden guard_call\n"
    ".globl guard_call\n"
    ".type guard_call, @function\n"
    "guard_call:\n"
    ".cfi_startproc\n"
    ".cfi_personality 0x1b, guard_personality\n" /* 0x1b: 4 bytes, relative to their place */
    "pushq %rbx\n"
    ".cfi_def_cfa_offset 16\n"
    ".cfi_offset %rbx, -16\n"
    "movq %rdx, %rbx\n"
    "movq %rdi, %rax\n"
    "movq (%rsi), %rdi\n"
    "movq 16(%rsi), %rdx\n"
    "movq 8(%rsi), %rsi\n"
    "call *%rax\n"
    "popq %rbx\n"
    ".cfi_remember_state\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".hidden guard_landing\n"
    ".globl guard_landing\n"
    "guard_landing:\n"
    ".cfi_restore_state\n"
    "movq %rax, (%rbx)\n"
    "popq %rbx\n"
    ".cfi_def_cfa_offset 8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".size guard_call, . - guard_call\n");

/* Forced unwinding (pthread_exit, cancellation) goes on to the end of the thread. */
_Unwind_Reason_Code guard_personality(int version, _Unwind_Action actions,
                                      _Unwind_Exception_Class kind,
                                      struct _Unwind_Exception *exception,
                                      struct _Unwind_Context *context) {
  (void)version;
  (void)kind;
  if (actions & _UA_FORCE_UNWIND) return _URC_CONTINUE_UNWIND;
  if (actions & _UA_SEARCH_PHASE) return _URC_HANDLER_FOUND;
  _Unwind_SetGR(context, __builtin_eh_return_data_regno(0), (_Unwind_Word)exception);
  _Unwind_SetIP(context, (_Unwind_Ptr)guard_landing);
  return _URC_INSTALL_CONTEXT;
}
#else
static void *guard_call(void (*function)(void), void *const *args,
                        struct _Unwind_Exception **out_exception) {
  (void)out_exception;
  return ((void *(*)(void *, void *, void *))function)(args[0], args[1], args[2]);
}
#endif

/* --- what was thrown --- */

/* Functions of the C++ library. */
typedef struct cxx_library {
  void *(*begin_catch)(void *exception);
  void (*end_catch)(void);
  const void *(*current_type)(void); /* a std::type_info */
  char *(*demangle)(const char *name, char *buffer, size_t *size, int *status);
  const void *standard; /* the std::type_info of std::exception */
} cxx_library_t;

static bool open_library(const struct _Unwind_Exception *exception, cxx_library_t *out) {
  Dl_info info;
  if (!exception->exception_cleanup || !dladdr((void *)exception->exception_cleanup, &info))
    return false;
  void *library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return false;
  out->begin_catch = (void *(*)(void *))dlsym(library, "__cxa_begin_catch");
  out->end_catch = (void (*)(void))dlsym(library, "__cxa_end_catch");
  out->current_type = (const void *(*)(void))dlsym(library, "__cxa_current_exception_type");
  out->demangle =
      (char *(*)(const char *, char *, size_t *, int *))dlsym(library, "__cxa_demangle");
  out->standard = dlsym(library, "_ZTISt9exception");
  dlclose(library); /* the exception's code keeps it open */
  return out->begin_catch && out->end_catch && out->current_type && out->demangle;
}

/* GCC's std::type_info: the virtual function in slot 4 tells if a handler of `self` catches an
 * object of type `thrown`, and moves *object to its part of that type. */
typedef bool (*catches_fn)(const void *self, const void *thrown, void **object, unsigned outer);
typedef const char *(*what_fn)(const void *self);
enum { CATCHES_SLOT = 4, NAME_WORD = 1, WHAT_SLOT = 2 };

/* The text of a std::exception; NULL: the object, which lies after the exception's header, is
 * none, or another library's, whose layout is not known, or a copy that another exception holds. */
static const char *text_of(const cxx_library_t *library, const void *thrown,
                           struct _Unwind_Exception *exception) {
  static const char kind[] = "GNUCC++"; /* read as a big-endian number, with the NUL */
  _Unwind_Exception_Class gnu = 0;
  for (size_t i = 0; i < sizeof kind; i++) gnu = gnu << 8 | (unsigned char)kind[i];
  if (exception->exception_class != gnu || !library->standard) return NULL;
  void *object = exception + 1;
  const catches_fn *table = *(catches_fn *const *)library->standard;
  if (!table[CATCHES_SLOT](library->standard, thrown, &object, 1)) return NULL;
  const what_fn *functions = *(what_fn *const *)object;
  return functions[WHAT_SLOT](object);
}

static hr_status_t typed_error(const cxx_library_t *library, const void *thrown,
                               struct _Unwind_Exception *exception) {
  const char *name = ((const char *const *)thrown)[NAME_WORD];
  const char *text = text_of(library, thrown, exception);
  char *readable = library->demangle(name, NULL, NULL, NULL);
  const char *type = readable ? readable : name;
  hr_status_t st = text ? hr_error(HR_INTERNAL, "C++ exception of type %s: %s", type, text)
                        : hr_error(HR_INTERNAL, "C++ exception of type %s", type);
  free(readable);
  return st;
}

/* Destroys the exception. Without a type it is one of another language, whose cleanup function the
 * end of the handler calls, too. */
static hr_status_t report(struct _Unwind_Exception *exception) {
  cxx_library_t library;
  hr_status_t st = NULL;
  if (open_library(exception, &library)) {
    library.begin_catch(exception);
    const void *thrown = library.current_type();
    if (thrown) st = typed_error(&library, thrown, exception);
    library.end_catch();
  } else {
    _Unwind_DeleteException(exception);
  }
  if (!st) st = hr_error(HR_INTERNAL, "an exception of an unknown language");
  hr_status_set_foreign_code(st, CODE_UNKNOWN);
  return st;
}

hr_status_t custom_guard_call(void (*function)(void), void *const args[CUSTOM_GUARD_ARGS],
                              void **out_result) {
  struct _Unwind_Exception *exception = NULL;
  void *result = guard_call(function, args, &exception);
  if (exception) return report(exception);
  *out_result = result;
  return NULL;
}
