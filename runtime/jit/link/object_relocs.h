/* Relocations of ELF objects: how each processor encodes an address in its instructions. Thread:
 * any. */
#ifndef JIT_OBJECT_RELOCS_H
#define JIT_OBJECT_RELOCS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define JIT_STUB_BYTES 16 /* size of a jump to any 64-bit address */

/* One relocation to apply. */
typedef struct jit_reloc {
  uint32_t type;
  unsigned char *location; /* patched bytes in the writable image */
  uint64_t location_limit; /* bytes from `location` to the end of its section */
  uint64_t address;        /* run-time address of `location` */
  uint64_t symbol;         /* address of the symbol */
  uint64_t slot;           /* address of the GOT slot of the symbol; 0: none */
  int64_t addend;
} jit_reloc_t;

extern const uint16_t jit_elf_machine; /* e_machine of the host; 0: unknown */

/* Errors: INVALID for an unknown type, a location outside its section, or a value out of range. */
hr_status_t jit_reloc_apply(const jit_reloc_t *reloc);
/* Writes code that jumps to `target`. */
void jit_stub_write(unsigned char stub[JIT_STUB_BYTES], uint64_t target);

#endif
