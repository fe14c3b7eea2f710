/* A linker for generated code: loads an ELF relocatable object into the process.
 *
 * The image is one mapping:
 *
 *     | executable sections | stubs: jumps to externals | page | constants | slots (GOT) |
 *       readable and executable                           ^      readable
 *
 * The parts are within reach of 32-bit PC-relative distances; external functions may be anywhere
 * and are reached through the stubs. Symbols resolve to functions of the object or to the fixed
 * list of externals.def, never by dlsym, so that an object from the cache can call nothing else.
 * All offsets are checked before use, since a cache file may be damaged; relocations are applied
 * while the mapping is writable, which is then changed to read and execute (W^X). Objects with
 * writable data, thread-local data or unknown relocations are refused. */
#include "jit/link/object_loader.h"

#include <elf.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "jit/link/object_relocs.h"
#include "ops/kernels/elementwise/complex_math.h"

#define IMAGE_BYTES_MAX ((uint64_t)1 << 30)
#define ALIGN_MAX 4096
#define NOT_LOADED UINT64_MAX

typedef struct function {
  const char *name; /* in `names` */
  void *address;
} function_t;

struct jit_object {
  unsigned char *image;
  size_t image_bytes;
  function_t *functions;
  size_t function_count;
  char *names; /* names, each NUL-terminated */
};

static const struct {
  const char *name;
  void *address;
} externals[] = {
#define EXTERNAL(name) {#name, (void *)name},
#include "jit/link/externals.def"
#undef EXTERNAL
};

/* An object while it is being linked. All offsets in this struct have been checked. */
typedef struct link {
  const unsigned char *bytes;
  uint64_t size;
  Elf64_Shdr *sections; /* copies: the bytes need not be aligned */
  uint64_t section_count;
  uint64_t *offsets; /* offset of each section in the image, or NOT_LOADED */
  Elf64_Sym *symbols;
  uint64_t symbol_count;
  uint64_t *addresses; /* address of each symbol */
  const char *strings; /* names of the symbols */
  uint64_t string_bytes;
  uint64_t stubs, constants, slots, image_bytes; /* offsets in the image */
  jit_object_t *object;
} link_t;

static hr_status_t invalid_object(const char *what) {
  return hr_error(HR_INVALID, "object: damaged: %s", what);
}

static bool is_inside(const link_t *link, uint64_t offset, uint64_t size) {
  return offset <= link->size && size <= link->size - offset;
}

/* Copies a table, since tables in the file may be unaligned. Requires: the table is within the
 * file, so `count * each` does not overflow. */
static hr_status_t copy_table(const link_t *link, uint64_t offset, uint64_t count, size_t each,
                              void **out_table) {
  if (count > link->size / each || !is_inside(link, offset, count * each))
    return invalid_object("a table lies outside");
  HR_TRY(hr_alloc(count * each, out_table));
  if (count) memcpy(*out_table, link->bytes + offset, count * each);
  return NULL;
}

/* Every section must lie within the file. */
static hr_status_t read_sections(link_t *link) {
  Elf64_Ehdr header;
  if (link->size < sizeof header) return invalid_object("too short");
  memcpy(&header, link->bytes, sizeof header);
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] !=
          (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
    return hr_error(HR_INVALID, "object: not an ELF object of this machine's kind");
  if (header.e_type != ET_REL || header.e_machine != jit_elf_machine || !jit_elf_machine)
    return hr_error(HR_INVALID, "object: not relocatable code for this processor");
  if (header.e_shentsize != sizeof(Elf64_Shdr)) return invalid_object("size of section headers");
  HR_TRY(copy_table(link, header.e_shoff, header.e_shnum, sizeof(Elf64_Shdr),
                    (void **)&link->sections));
  link->section_count = header.e_shnum;
  for (uint64_t i = 0; i < link->section_count; i++)
    if (link->sections[i].sh_type != SHT_NOBITS &&
        !is_inside(link, link->sections[i].sh_offset, link->sections[i].sh_size))
      return invalid_object("a section lies outside");
  return NULL;
}

/* The names must end with a zero byte, so that each of them ends within the table. */
static hr_status_t read_symbols(link_t *link) {
  for (uint64_t i = 0; i < link->section_count; i++) {
    const Elf64_Shdr *section = &link->sections[i];
    if (section->sh_type != SHT_SYMTAB) continue;
    if (link->symbols) return invalid_object("two symbol tables");
    if (section->sh_link >= link->section_count) return invalid_object("no names of symbols");
    link->symbol_count = section->sh_size / sizeof(Elf64_Sym);
    HR_TRY(copy_table(link, section->sh_offset, link->symbol_count, sizeof(Elf64_Sym),
                      (void **)&link->symbols));
    const Elf64_Shdr *strings = &link->sections[section->sh_link];
    if (strings->sh_type != SHT_STRTAB || !strings->sh_size)
      return invalid_object("no names of symbols");
    link->strings = (const char *)link->bytes + strings->sh_offset;
    link->string_bytes = strings->sh_size;
    if (link->strings[link->string_bytes - 1]) return invalid_object("a name without end");
  }
  return NULL;
}

/* Is it a loaded section of code (`executable`) or of constants? */
static bool is_loaded_section(const Elf64_Shdr *section, bool executable) {
  if (!(section->sh_flags & SHF_ALLOC) || !section->sh_size) return false;
  return !!(section->sh_flags & SHF_EXECINSTR) == executable;
}

/* Is it a section for stack unwinding? It is ignored, since generated code does not throw. */
static bool is_unwind_section(const link_t *link, const Elf64_Shdr *section) {
  Elf64_Ehdr header;
  memcpy(&header, link->bytes, sizeof header);
  if (header.e_shstrndx >= link->section_count) return false;
  const Elf64_Shdr *names = &link->sections[header.e_shstrndx];
  const char *name = (const char *)link->bytes + names->sh_offset + section->sh_name;
  static const char wanted[] = ".eh_frame";
  if (names->sh_type == SHT_NOBITS || section->sh_name > names->sh_size) return false;
  return names->sh_size - section->sh_name >= sizeof wanted &&
         memcmp(name, wanted, sizeof wanted) == 0;
}

/* Refuses sections of variables. Constants that contain addresses (.data.rel.ro) are marked
 * writable, but code does not write them. */
static hr_status_t check_section(const Elf64_Shdr *section) {
  uint64_t align = section->sh_addralign;
  if (align > ALIGN_MAX || (align & (align - 1))) return invalid_object("alignment of a section");
  if (section->sh_flags & SHF_TLS) return hr_error(HR_INVALID, "object: has variables of threads");
  if ((section->sh_flags & SHF_WRITE) && (section->sh_flags & SHF_EXECINSTR))
    return hr_error(HR_INVALID, "object: has writable code");
  return NULL;
}

/* Assigns offsets to the loaded sections of one kind, starting at *end. IMAGE_BYTES_MAX keeps sums
 * from overflowing. */
static hr_status_t assign_section_offsets(link_t *link, bool executable, uint64_t *end) {
  for (uint64_t i = 0; i < link->section_count; i++) {
    const Elf64_Shdr *section = &link->sections[i];
    if (!is_loaded_section(section, executable) || is_unwind_section(link, section)) continue;
    HR_TRY(check_section(section));
    uint64_t align = section->sh_addralign ? section->sh_addralign : 1;
    if (section->sh_size > IMAGE_BYTES_MAX || *end > IMAGE_BYTES_MAX)
      return hr_error(HR_INVALID, "object: sections of more than %llu bytes",
                      (unsigned long long)IMAGE_BYTES_MAX);
    link->offsets[i] = (*end + align - 1) / align * align;
    *end = link->offsets[i] + section->sh_size;
  }
  return NULL;
}

/* The executable part, then constants from a page boundary on. Each symbol gets space for a stub
 * and a slot. */
static hr_status_t make_layout(link_t *link) {
  uint64_t end = 0, page = (uint64_t)sysconf(_SC_PAGESIZE);
  HR_TRY(hr_alloc(link->section_count * sizeof *link->offsets, (void **)&link->offsets));
  for (uint64_t i = 0; i < link->section_count; i++) link->offsets[i] = NOT_LOADED;
  HR_TRY(assign_section_offsets(link, true, &end));
  link->stubs = (end + JIT_STUB_BYTES - 1) / JIT_STUB_BYTES * JIT_STUB_BYTES;
  end = link->stubs + link->symbol_count * JIT_STUB_BYTES;
  link->constants = (end + page - 1) / page * page;
  end = link->constants;
  HR_TRY(assign_section_offsets(link, false, &end));
  link->slots = (end + 7) / 8 * 8;
  end = link->slots + link->symbol_count * 8;
  link->image_bytes = (end + page - 1) / page * page;
  if (link->image_bytes > IMAGE_BYTES_MAX) return hr_error(HR_INVALID, "object: too large");
  return NULL;
}

/* Maps the image, writable while it is filled and relocated. */
static hr_status_t map_image(link_t *link) {
  jit_object_t *object = link->object;
  size_t size = link->image_bytes;
  if (!size) return hr_error(HR_INVALID, "object: is empty");
  void *image = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (image == MAP_FAILED) return hr_error(HR_NO_MEMORY, "cannot map %zu bytes for code", size);
  object->image = image;
  object->image_bytes = size;
  for (uint64_t i = 0; i < link->section_count; i++)
    if (link->offsets[i] != NOT_LOADED && link->sections[i].sh_type != SHT_NOBITS)
      memcpy(object->image + link->offsets[i], link->bytes + link->sections[i].sh_offset,
             link->sections[i].sh_size);
  return NULL;
}

/* Linear search: an object calls few functions. */
static hr_status_t find_external(const char *name, uint64_t *out_address) {
  for (size_t i = 0; i < sizeof externals / sizeof *externals; i++)
    if (strcmp(externals[i].name, name) == 0) {
      *out_address = (uint64_t)(uintptr_t)externals[i].address;
      return NULL;
    }
  return hr_error(HR_INVALID, "object: calls '%s', which is not provided", name);
}

/* Symbols of sections that are not loaded get address 0; relocations against them are refused. */
static hr_status_t find_address(link_t *link, uint64_t i) {
  const Elf64_Sym *symbol = &link->symbols[i];
  uint64_t base = (uint64_t)(uintptr_t)link->object->image;
  if (symbol->st_name >= link->string_bytes) return invalid_object("name of a symbol");
  if (symbol->st_shndx == SHN_UNDEF) {
    const char *name = link->strings + symbol->st_name;
    uint64_t target;
    if (!*name) return NULL;
    HR_TRY(find_external(name, &target));
    link->addresses[i] = base + link->stubs + i * JIT_STUB_BYTES;
    jit_stub_write(link->object->image + link->stubs + i * JIT_STUB_BYTES, target);
    return NULL;
  }
  if (symbol->st_shndx >= link->section_count || link->offsets[symbol->st_shndx] == NOT_LOADED)
    return NULL;
  if (symbol->st_value > link->sections[symbol->st_shndx].sh_size)
    return invalid_object("a symbol outside of its section");
  link->addresses[i] = base + link->offsets[symbol->st_shndx] + symbol->st_value;
  return NULL;
}

/* Stores the address of every symbol in its slot, too. */
static hr_status_t find_addresses(link_t *link) {
  HR_TRY(hr_alloc_zeroed(link->symbol_count * sizeof *link->addresses, (void **)&link->addresses));
  for (uint64_t i = 0; i < link->symbol_count; i++) {
    HR_TRY(find_address(link, i));
    memcpy(link->object->image + link->slots + i * 8, &link->addresses[i], 8);
  }
  return NULL;
}

/* Bounds are checked here and, by the field's size, in jit_reloc_apply. */
static hr_status_t apply_one(const link_t *link, uint64_t section, const Elf64_Rela *rela) {
  uint64_t symbol = ELF64_R_SYM(rela->r_info), room = link->sections[section].sh_size;
  uint32_t type = (uint32_t)ELF64_R_TYPE(rela->r_info);
  if (symbol >= link->symbol_count || rela->r_offset > room) return invalid_object("a relocation");
  if (!link->addresses[symbol]) return invalid_object("a relocation to nothing");
  uint64_t offset = link->offsets[section] + rela->r_offset,
           base = (uint64_t)(uintptr_t)link->object->image;
  return jit_reloc_apply(&(jit_reloc_t){.type = type,
                                        .location = link->object->image + offset,
                                        .location_limit = room - rela->r_offset,
                                        .address = base + offset,
                                        .symbol = link->addresses[symbol],
                                        .slot = base + link->slots + symbol * 8,
                                        .addend = rela->r_addend});
}

/* Supports only relocations with addends (RELA), which both processors use. */
static hr_status_t apply_relocations(const link_t *link) {
  for (uint64_t i = 0; i < link->section_count; i++) {
    const Elf64_Shdr *section = &link->sections[i];
    if (section->sh_type == SHT_REL)
      return hr_error(HR_INVALID, "object: relocations without addends");
    if (section->sh_type != SHT_RELA) continue;
    if (section->sh_info >= link->section_count) return invalid_object("relocations of no section");
    if (link->offsets[section->sh_info] == NOT_LOADED) continue;
    for (uint64_t at = 0; section->sh_size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
      Elf64_Rela rela;
      memcpy(&rela, link->bytes + section->sh_offset + at, sizeof rela);
      HR_TRY(apply_one(link, section->sh_info, &rela));
    }
  }
  return NULL;
}

static bool is_function(const link_t *link, uint64_t i) {
  const Elf64_Sym *symbol = &link->symbols[i];
  return ELF64_ST_TYPE(symbol->st_info) == STT_FUNC &&
         ELF64_ST_BIND(symbol->st_info) == STB_GLOBAL && symbol->st_shndx != SHN_UNDEF &&
         link->addresses[i];
}

/* Keeps names and addresses of global functions for jit_object_find. */
static hr_status_t keep_functions(link_t *link) {
  jit_object_t *object = link->object;
  size_t count = 0;
  for (uint64_t i = 0; i < link->symbol_count; i++) count += is_function(link, i);
  HR_TRY(hr_alloc(count * sizeof *object->functions, (void **)&object->functions));
  HR_TRY(hr_alloc(link->string_bytes, (void **)&object->names));
  if (link->string_bytes) memcpy(object->names, link->strings, link->string_bytes);
  for (uint64_t i = 0; i < link->symbol_count; i++)
    if (is_function(link, i))
      object->functions[object->function_count++] = (function_t){
          object->names + link->symbols[i].st_name, (void *)(uintptr_t)link->addresses[i]};
  return NULL;
}

/* W^X: code becomes executable and stops being writable. */
static hr_status_t protect(const link_t *link) {
  unsigned char *image = link->object->image;
  size_t code = link->constants, rest = link->image_bytes - link->constants;
  if ((code && mprotect(image, code, PROT_READ | PROT_EXEC)) ||
      (rest && mprotect(image + code, rest, PROT_READ)))
    return hr_error(HR_UNAVAILABLE, "this system does not let a process make code");
  __builtin___clear_cache((char *)image, (char *)image + code);
  return NULL;
}

static hr_status_t link_object(link_t *link) {
  HR_TRY(read_sections(link));
  HR_TRY(read_symbols(link));
  HR_TRY(make_layout(link));
  HR_TRY(map_image(link));
  HR_TRY(find_addresses(link));
  HR_TRY(apply_relocations(link));
  HR_TRY(keep_functions(link));
  return protect(link);
}

/* On failure everything is unmapped again. */
hr_status_t jit_object_load(const void *bytes, size_t size_bytes, jit_object_t **out_object) {
  link_t link = {.bytes = bytes, .size = size_bytes};
  HR_TRY(hr_alloc_zeroed(sizeof *link.object, (void **)&link.object));
  hr_status_t st = link_object(&link);
  hr_free(link.sections);
  hr_free(link.offsets);
  hr_free(link.symbols);
  hr_free(link.addresses);
  if (st)
    jit_object_unload(link.object);
  else
    *out_object = link.object;
  return st;
}

void jit_object_unload(jit_object_t *object) {
  if (!object) return;
  if (object->image) munmap(object->image, object->image_bytes);
  hr_free(object->functions);
  hr_free(object->names);
  hr_free(object);
}

hr_status_t jit_object_find(const jit_object_t *object, const char *name, void **out_address) {
  for (size_t i = 0; i < object->function_count; i++)
    if (strcmp(object->functions[i].name, name) == 0) {
      *out_address = object->functions[i].address;
      return NULL;
    }
  return hr_error(HR_INVALID, "object: has no function '%s'", name);
}

size_t jit_object_code_bytes(const jit_object_t *object) { return object->image_bytes; }
