/* The relocations of an ELF object: how the processors write an address into their instructions.
 * Used by the loader only. Thread: any. */
#ifndef JIT_OBJECT_RELOCS_H
#define JIT_OBJECT_RELOCS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define JIT_STUB_BYTES 16 /* of a jump to an address anywhere */

/* One place to be filled. */
typedef struct jit_reloc {
  uint32_t type;
  unsigned char *location; /* in the image, where it is being written */
  uint64_t location_limit; /* bytes from `place` to the end of its section */
  uint64_t address;        /* of the place, when it runs */
  uint64_t symbol;         /* address of the symbol */
  uint64_t slot;           /* address of 8 bytes that hold the symbol's address; 0: there is none */
  int64_t addend;
} jit_reloc_t;

extern const uint16_t
    jit_elf_machine; /* of this processor, as ELF numbers them; 0: none that is known here */

/* Does this type of relocation go through a slot with the symbol's address? */
bool jit_reloc_wants_slot(uint32_t type);
/* Errors: INVALID for an unknown type, a place outside of its section, or a distance that does not
 * fit. */
hr_status_t jit_reloc_apply(const jit_reloc_t *reloc);
/* Writes code that jumps to `target`. */
void jit_stub_write(unsigned char stub[JIT_STUB_BYTES], uint64_t target);

#endif
