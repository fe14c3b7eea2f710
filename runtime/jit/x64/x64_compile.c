/* The x86-64 back end: a module of the kernel IR to an ELF relocatable object.
 *
 *     x64_prepare              blocks in order, legal vector types, CSE, LICM, sinking, folding
 *     x64_find_liveness        live intervals
 *     x64_allocate_registers   linear scan
 *     x64_select               instruction selection and encoding in one pass
 *
 * Functions are compiled in order of creation, callees first, so that callers know which registers
 * they clobber. Any phase may find an unsupported operation (code->unsupported); the whole module
 * is then left to LLVM. It requires AVX-512 with 32 vector and 8 mask registers, or AVX2 with 16
 * vector registers. Compile time is linear in the instructions but for the data-flow iterations of
 * liveness. */
#include "jit/x64/x64.h"

#include <elf.h>
#include <string.h>

#include "base/log.h"
#include "jit/x64/x64_code.h"

/* --- the object: code, names of functions, names of sections ---------------------------------- */

typedef HR_VEC(unsigned char) bytes_t;

static hr_status_t append(bytes_t *to, const void *bytes, size_t size) {
  HR_TRY(HR_VEC_RESERVE(to, to->count + size));
  if (size) memcpy(to->data + to->count, bytes, size);
  to->count += size;
  return NULL;
}

enum { SECTION_NONE, SECTION_CODE, SECTION_CALLS, SECTION_SYMBOLS, SECTION_NAMES, SECTION_COUNT };

typedef struct object {
  bytes_t code, calls, symbols, names;
} object_t;

/* State of a module's compilation. */
typedef struct compilation {
  kir_module_t *module;
  x64_function_t *functions; /* by index */
  object_t object;
} compilation_t;

/* Appends a function's code at the next multiple of 64 bytes, a cache line, so that the
 * alignment of loops inside the function holds in the object. Its calls become relocations of
 * type PLT32: the displacement counts from the end of its four bytes, hence the addend of -4. */
static hr_status_t append_code(object_t *object, x64_function_t *function, const x86_t *x) {
  static const unsigned char filler[64];
  HR_TRY(append(&object->code, filler, -object->code.count & 63));
  function->offset = object->code.count;
  function->size = x->code.count;
  for (size_t i = 0; i < x->calls.count; i++) {
    Elf64_Rela call = {.r_offset = function->offset + x->calls.data[i].at,
                       .r_addend = -4,
                       .r_info = ELF64_R_INFO((uint64_t)x->calls.data[i].label, R_X86_64_PLT32)};
    HR_TRY(append(&object->calls, &call, sizeof call));
  }
  return append(&object->code, x->code.data, x->code.count);
}

/* Functions without code are undefined symbols. */
static hr_status_t append_symbol(object_t *object, const kir_function_t *function,
                                 const x64_function_t *compiled) {
  Elf64_Sym symbol = {.st_name = (Elf64_Word)object->names.count,
                      .st_info = ELF64_ST_INFO(STB_GLOBAL, function->first ? STT_FUNC : STT_NOTYPE),
                      .st_shndx = function->first ? SECTION_CODE : SHN_UNDEF,
                      .st_value = compiled->offset,
                      .st_size = compiled->size};
  HR_TRY(append(&object->names, function->name, strlen(function->name) + 1));
  return append(&object->symbols, &symbol, sizeof symbol);
}

/* Offsets of the parts of an object file:
 *
 *   ELF header | section headers | code | calls | symbols | names
 *
 * Section headers before the contents let all offsets be known from the counts alone. */
typedef struct layout {
  size_t code, calls, symbols, names, size;
} layout_t;

static layout_t lay_out(const object_t *object) {
  layout_t at = {.code = sizeof(Elf64_Ehdr) + SECTION_COUNT * sizeof(Elf64_Shdr)};
  at.calls = at.code + object->code.count;
  at.symbols = at.calls + object->calls.count;
  at.names = at.symbols + object->symbols.count;
  at.size = at.names + object->names.count;
  return at;
}

/* The names of sections are left at 0, the empty name: the linker (link/) finds sections by type.
 */
static void fill_sections(const object_t *object, const layout_t *at,
                          Elf64_Shdr sections[SECTION_COUNT]) {
  memset(sections, 0, SECTION_COUNT * sizeof *sections);
  sections[SECTION_CODE] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                        .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                        .sh_offset = at->code,
                                        .sh_size = object->code.count,
                                        .sh_addralign = 64};
  sections[SECTION_CALLS] = (Elf64_Shdr){.sh_type = SHT_RELA,
                                         .sh_offset = at->calls,
                                         .sh_size = object->calls.count,
                                         .sh_link = SECTION_SYMBOLS,
                                         .sh_info = SECTION_CODE,
                                         .sh_entsize = sizeof(Elf64_Rela)};
  sections[SECTION_SYMBOLS] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                           .sh_offset = at->symbols,
                                           .sh_size = object->symbols.count,
                                           .sh_link = SECTION_NAMES,
                                           .sh_entsize = sizeof(Elf64_Sym)};
  sections[SECTION_NAMES] =
      (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at->names, .sh_size = object->names.count};
}

static hr_status_t write_object(const object_t *object, hr_buffer_t **out_object) {
  const Elf64_Ehdr header = {
      .e_type = ET_REL,
      .e_machine = EM_X86_64,
      .e_version = EV_CURRENT,
      .e_ehsize = sizeof header,
      .e_shoff = sizeof header,
      .e_shentsize = sizeof(Elf64_Shdr),
      .e_shnum = SECTION_COUNT,
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT}};
  Elf64_Shdr sections[SECTION_COUNT];
  layout_t at = lay_out(object);
  fill_sections(object, &at, sections);
  HR_TRY(hr_buffer_create(at.size, out_object));
  unsigned char *to = hr_buffer_data(*out_object);
  memcpy(to, &header, sizeof header);
  memcpy(to + sizeof header, sections, sizeof sections);
  memcpy(to + at.code, object->code.data, object->code.count);
  if (object->calls.count) memcpy(to + at.calls, object->calls.data, object->calls.count);
  memcpy(to + at.symbols, object->symbols.data, object->symbols.count);
  memcpy(to + at.names, object->names.data, object->names.count);
  return NULL;
}

/* --- functions -------------------------------------------------------------------------------- */

static hr_status_t compile_function(compilation_t *c, kir_function_t *function);

/* Compiles callees first, since callers need their clobbered registers. */
static hr_status_t compile_callees(compilation_t *c, kir_function_t *function) {
  for (kir_block_t *block = function->first; block; block = block->next)
    for (kir_value_t *instr = block->first; instr && !c->module->unsupported; instr = instr->next) {
      const kir_value_t *callee = instr->op == KIR_CALL ? instr->args[instr->arg_count - 1] : NULL;
      if (callee && callee->op == KIR_FUNCTION) HR_TRY(compile_function(c, callee->function));
    }
  return NULL;
}

static hr_status_t run_phases(x64_code_t *code) {
  HR_TRY(x64_prepare(code));
  if (!code->unsupported) HR_TRY(x64_find_liveness(code));
  if (!code->unsupported) HR_TRY(x64_allocate_registers(code));
  if (!code->unsupported) HR_TRY(x64_select(code));
  return NULL;
}

/* Compiles a function after its callees. `clobbered`, the registers that it or a callee may change,
 * is read by the register allocation of callers. Declarations have no block. */
static hr_status_t compile_function(compilation_t *c, kir_function_t *function) {
  x64_function_t *compiled = &c->functions[function->index];
  if (!function->first || compiled->is_compiled || c->module->unsupported) return NULL;
  HR_TRY(compile_callees(c, function));
  x64_code_t code = {.arena = &c->module->arena,
                     .isa = x64_isa(c->module),
                     .function = function,
                     .functions = c->functions};
  code.x.has_evex = code.isa->has_evex;
  hr_status_t st = run_phases(&code);
  if (!st && !code.unsupported) st = append_code(&c->object, compiled, &code.x);
  for (int kind = 0; kind < X64_CLASS_COUNT; kind++)
    compiled->clobbered[kind] = code.used[kind] | code.clobbered[kind];
  if (code.unsupported) c->module->unsupported = code.unsupported;
  compiled->is_compiled = true;
  x86_deinit(&code.x);
  return st;
}

/* Symbol 0 is the null symbol that ELF demands, and byte 0 of the names the empty string;
 * functions get numbers from 1 on before any code is written, since calls may refer to later
 * ones. */
static hr_status_t compile_all(compilation_t *c) {
  static const Elf64_Sym none;
  kir_module_t *module = c->module;
  HR_TRY(HR_NEW_ARRAY(&module->arena, module->function_count + 1, &c->functions));
  HR_TRY(append(&c->object.symbols, &none, sizeof none));
  HR_TRY(append(&c->object.names, "", 1));
  int symbol = 0;
  for (kir_function_t *function = module->functions; function; function = function->next)
    if (!function->intrinsic) c->functions[function->index].symbol = ++symbol;
  for (kir_function_t *function = module->functions; function; function = function->next)
    HR_TRY(compile_function(c, function));
  for (kir_function_t *function = module->functions; function; function = function->next)
    if (!function->intrinsic)
      HR_TRY(append_symbol(&c->object, function, &c->functions[function->index]));
  return NULL;
}

static hr_status_t compile_module(compilation_t *c, hr_buffer_t **out_object) {
  kir_module_t *module = c->module;
  hr_status_t st = module->status;
  module->status = NULL;
  HR_TRY(st);
  if (!module->unsupported) HR_TRY(compile_all(c));
  return module->unsupported ? NULL : write_object(&c->object, out_object);
}

hr_status_t x64_compile(kir_module_t *module, hr_buffer_t **out_object) {
  compilation_t c = {.module = module};
  *out_object = NULL;
  hr_status_t st = compile_module(&c, out_object);
  if (module->unsupported)
    hr_log(HR_LOG_JIT, HR_LOG_DEBUG, "left to LLVM: %s", module->unsupported);
  HR_VEC_FREE(&c.object.code);
  HR_VEC_FREE(&c.object.calls);
  HR_VEC_FREE(&c.object.symbols);
  HR_VEC_FREE(&c.object.names);
  return st;
}
