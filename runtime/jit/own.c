#include "jit/own.h"

#include <elf.h>
#include <string.h>

#include "base/log.h"
#include "jit/own_code.h"

bool own_is_able(const jit_target_t *target) {
#if defined(__x86_64__)
  return target->has_masks && target->vector_bytes == 64;
#else
  (void)target;
  return false;
#endif
}

bool own_orders_bytes(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vbmi");
#else
  return false;
#endif
}

bool own_counts_bits(void) {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512vpopcntdq") &&
         __builtin_cpu_supports("avx512bitalg");
#else
  return false;
#endif
}

/* --- the object: code, names of functions, names of sections ----------------------------------------------------- */

typedef HR_VEC(unsigned char) bytes_t;

static hr_status_t put(bytes_t *to, const void *bytes, size_t size) {
  HR_TRY(HR_VEC_RESERVE(to, to->count + size));
  if (size) memcpy(to->data + to->count, bytes, size);
  to->count += size;
  return NULL;
}

enum { SECTION_NONE, SECTION_CODE, SECTION_CALLS, SECTION_SYMBOLS, SECTION_NAMES, SECTION_COUNT };

typedef struct object {
  bytes_t code, calls, symbols, names;
} object_t;

static hr_status_t put_code(object_t *object, own_function_t *function, const x86_t *x) {
  static const unsigned char filler[64];
  HR_TRY(put(&object->code, filler, -object->code.count & 63));
  function->offset = object->code.count, function->size = x->code.count;
  for (size_t i = 0; i < x->calls.count; i++) {
    Elf64_Rela call = {.r_offset = function->offset + x->calls.data[i].at, .r_addend = -4,
                       .r_info = ELF64_R_INFO((uint64_t)x->calls.data[i].label, R_X86_64_PLT32)};
    HR_TRY(put(&object->calls, &call, sizeof call));
  }
  return put(&object->code, x->code.data, x->code.count);
}

/* Functions without code are elsewhere. */
static hr_status_t put_symbol(object_t *object, const own_function_t *function) {
  Elf64_Sym symbol = {.st_name = (Elf64_Word)object->names.count,
                      .st_info = ELF64_ST_INFO(STB_GLOBAL, function->first ? STT_FUNC : STT_NOTYPE),
                      .st_shndx = function->first ? SECTION_CODE : SHN_UNDEF, .st_value = function->offset,
                      .st_size = function->size};
  HR_TRY(put(&object->names, function->name, strlen(function->name) + 1));
  return put(&object->symbols, &symbol, sizeof symbol);
}

static hr_status_t write_object(const object_t *object, hr_buffer_t **out_object) {
  Elf64_Ehdr header = {.e_type = ET_REL, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof header,
                       .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = SECTION_COUNT,
                       .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT}};
  size_t code = sizeof header + SECTION_COUNT * sizeof(Elf64_Shdr), calls = code + object->code.count;
  size_t symbols = calls + object->calls.count;
  size_t names = symbols + object->symbols.count, size = names + object->names.count;
  Elf64_Shdr sections[SECTION_COUNT] = {
      [SECTION_CODE] = {.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_offset = code,
                        .sh_size = object->code.count, .sh_addralign = 64},
      [SECTION_CALLS] = {.sh_type = SHT_RELA, .sh_offset = calls, .sh_size = object->calls.count,
                         .sh_link = SECTION_SYMBOLS, .sh_info = SECTION_CODE, .sh_entsize = sizeof(Elf64_Rela)},
      [SECTION_SYMBOLS] = {.sh_type = SHT_SYMTAB, .sh_offset = symbols, .sh_size = object->symbols.count,
                           .sh_link = SECTION_NAMES, .sh_entsize = sizeof(Elf64_Sym)},
      [SECTION_NAMES] = {.sh_type = SHT_STRTAB, .sh_offset = names, .sh_size = object->names.count}};
  header.e_shoff = sizeof header;
  HR_TRY(hr_buffer_create(size, out_object));
  unsigned char *to = hr_buffer_data(*out_object);
  memcpy(to, &header, sizeof header);
  memcpy(to + sizeof header, sections, sizeof sections);
  memcpy(to + code, object->code.data, object->code.count);
  if (object->calls.count) memcpy(to + calls, object->calls.data, object->calls.count);
  memcpy(to + symbols, object->symbols.data, object->symbols.count);
  memcpy(to + names, object->names.data, object->names.count);
  return NULL;
}

/* --- functions --------------------------------------------------------------------------------------------------- */

static hr_status_t compile_function(own_function_t *function, object_t *object, const char **lacks);

/* What a function calls comes first, so that it is known what that changes. */
static hr_status_t compile_called(own_function_t *function, object_t *object, const char **lacks) {
  for (own_block_t *block = function->first; block; block = block->next)
    for (own_value_t *instr = block->first; instr && !*lacks; instr = instr->after) {
      const own_value_t *called = instr->op == OWN_CALL ? instr->args[instr->arg_count - 1] : NULL;
      if (called && called->op == OWN_FUNCTION) HR_TRY(compile_function(called->function, object, lacks));
    }
  return NULL;
}

static hr_status_t compile_function(own_function_t *function, object_t *object, const char **lacks) {
  if (!function->first || function->is_made || *lacks) return NULL;
  HR_TRY(compile_called(function, object, lacks));
  own_code_t code = {.arena = &function->context->arena, .function = function};
  hr_status_t st = own_order(&code);
  if (!st && !code.lacks) st = own_live(&code);
  if (!st && !code.lacks) st = own_registers(&code);
  if (!st && !code.lacks) st = own_select(&code);
  if (!st && !code.lacks) st = put_code(object, function, &code.x);
  for (int kind = 0; kind < OWN_CLASSES; kind++) function->changed[kind] = code.used[kind] | code.changed[kind];
  if (code.lacks) *lacks = code.lacks;
  function->is_made = true;
  x86_deinit(&code.x);
  return st;
}

static hr_status_t compile_all(own_context_t *context, object_t *object) {
  static const Elf64_Sym none;
  HR_TRY(put(&object->symbols, &none, sizeof none));
  HR_TRY(put(&object->names, "", 1));
  int symbol = 0;
  for (own_function_t *function = context->functions; function; function = function->next) function->symbol = ++symbol;
  for (own_function_t *function = context->functions; function; function = function->next)
    HR_TRY(compile_function(function, object, &context->lacks));
  for (own_function_t *function = context->functions; function; function = function->next)
    HR_TRY(put_symbol(object, function));
  return NULL;
}

hr_status_t own_compile(LLVMModuleRef module, hr_buffer_t **out_object) {
  own_context_t *context = (own_context_t *)module;
  object_t object = {0};
  hr_status_t st = context->status;
  *out_object = NULL, context->status = NULL;
  if (!st && !context->lacks) st = compile_all(context, &object);
  if (!st && !context->lacks) st = write_object(&object, out_object);
  if (context->lacks) hr_log(HR_LOG_JIT, HR_LOG_DEBUG, "left to LLVM: %s", context->lacks);
  HR_VEC_FREE(&object.code);
  HR_VEC_FREE(&object.calls);
  HR_VEC_FREE(&object.symbols);
  HR_VEC_FREE(&object.names);
  return st;
}
