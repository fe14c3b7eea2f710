/* Relocations of the supported processors: x86-64 (System V psABI) and AArch64 (ELF for the Arm
 * 64-bit Architecture). S is the symbol, A the addend, P the patched address, G the GOT slot.
 *
 *     R_X86_64_64     S + A          R_X86_64_PC32, PLT32     S + A - P     GOTPCREL*     G + A - P
 *
 * Every value is checked against the range of its field: a symbol out of reach is an error, not a
 * wrong jump. Bounds of the section are checked before each write. */
#include "jit/link/object_relocs.h"

#include <elf.h>
#include <string.h>

/* `size_bytes` must fit between the location and the end of its section. */
static hr_status_t check_bounds(const jit_reloc_t *reloc, uint64_t size_bytes) {
  if (reloc->location_limit >= size_bytes) return NULL;
  return hr_error(HR_INVALID, "object: a relocation lies beyond the end of its section");
}

static hr_status_t out_of_range(const jit_reloc_t *reloc) {
  return hr_error(HR_INVALID, "object: relocation of type %u does not reach its symbol",
                  reloc->type);
}

static hr_status_t unknown_type(const jit_reloc_t *reloc) {
  return hr_error(HR_INVALID, "object: unknown relocation of type %u", reloc->type);
}

static hr_status_t write_64(const jit_reloc_t *reloc, uint64_t value) {
  HR_TRY(check_bounds(reloc, 8));
  memcpy(reloc->location, &value, 8);
  return NULL;
}

/* The value must be equal after truncation to 32 bits and sign extension. */
static hr_status_t write_signed_32(const jit_reloc_t *reloc, uint64_t value) {
  HR_TRY(check_bounds(reloc, 4));
  if ((int64_t)value != (int32_t)value) return out_of_range(reloc);
  memcpy(reloc->location, &(uint32_t){(uint32_t)value}, 4);
  return NULL;
}

/* x86-64. */
#if defined(__x86_64__)

const uint16_t jit_elf_machine = EM_X86_64;

hr_status_t jit_reloc_apply(const jit_reloc_t *reloc) {
  uint64_t value = reloc->symbol + (uint64_t)reloc->addend;
  switch (reloc->type) {
    case R_X86_64_NONE:
      return NULL;
    case R_X86_64_64:
      return write_64(reloc, value);
    case R_X86_64_PC64:
      return write_64(reloc, value - reloc->address);
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
      return write_signed_32(reloc, value - reloc->address);
    case R_X86_64_32S:
      return write_signed_32(reloc, value);
    case R_X86_64_32:
      HR_TRY(check_bounds(reloc, 4));
      if (value > UINT32_MAX) return out_of_range(reloc);
      memcpy(reloc->location, &(uint32_t){(uint32_t)value}, 4);
      return NULL;
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX:
      return write_signed_32(reloc, reloc->slot + (uint64_t)reloc->addend - reloc->address);
    default:
      return unknown_type(reloc);
  }
}

/* jmp *0(%rip), followed by the address. */
void jit_stub_write(unsigned char stub[JIT_STUB_BYTES], uint64_t target) {
  memcpy(stub, "\xff\x25\0\0\0\0", 6);
  memcpy(stub + 6, &target, 8);
  memset(stub + 14, 0xcc, 2);
}

#elif defined(__aarch64__)

const uint16_t jit_elf_machine = EM_AARCH64;

/* Replaces `bits` bits of the instruction, from bit `at`, by the low bits of `field`. */
static hr_status_t put_field(const jit_reloc_t *reloc, uint64_t field, int bits, int at) {
  uint32_t instruction, mask = ((1u << bits) - 1) << at;
  HR_TRY(check_bounds(reloc, 4));
  memcpy(&instruction, reloc->location, 4);
  instruction = (instruction & ~mask) | ((uint32_t)field << at & mask);
  memcpy(reloc->location, &instruction, 4);
  return NULL;
}

/* A jump by a signed number of instructions that must fit into `bits` bits. */
static hr_status_t put_jump(const jit_reloc_t *reloc, uint64_t value, int bits, int at) {
  int64_t distance = (int64_t)(value - reloc->address), limit = (int64_t)1 << (bits + 1);
  if (distance % 4 || distance < -limit || distance >= limit) return out_of_range(reloc);
  return put_field(reloc, (uint64_t)(distance / 4), bits, at);
}

/* adrp: the distance in pages of 4 KiB. */
static hr_status_t put_page(const jit_reloc_t *reloc, uint64_t value) {
  int64_t pages = (int64_t)((value & ~(uint64_t)4095) - (reloc->address & ~(uint64_t)4095)) / 4096;
  if (pages < -(1 << 20) || pages >= 1 << 20) return out_of_range(reloc);
  HR_TRY(put_field(reloc, (uint64_t)pages, 2, 29));
  return put_field(reloc, (uint64_t)pages >> 2, 19, 5);
}

/* The offset within the page, in units of the access size. */
static hr_status_t put_low(const jit_reloc_t *reloc, uint64_t value, int shift) {
  uint64_t low = value & 4095;
  if (low & ((1u << shift) - 1)) return out_of_range(reloc);
  return put_field(reloc, low >> shift, 12, 10);
}

hr_status_t jit_reloc_apply(const jit_reloc_t *reloc) {
  uint64_t value = reloc->symbol + (uint64_t)reloc->addend;
  switch (reloc->type) {
    case R_AARCH64_NONE:
      return NULL;
    case R_AARCH64_ABS64:
      return write_64(reloc, value);
    case R_AARCH64_PREL64:
      return write_64(reloc, value - reloc->address);
    case R_AARCH64_PREL32:
      return write_signed_32(reloc, value - reloc->address);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
      return put_jump(reloc, value, 26, 0);
    case R_AARCH64_CONDBR19:
      return put_jump(reloc, value, 19, 5);
    case R_AARCH64_TSTBR14:
      return put_jump(reloc, value, 14, 5);
    case R_AARCH64_ADR_PREL_PG_HI21:
      return put_page(reloc, value);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
      return put_low(reloc, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC:
      return put_low(reloc, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC:
      return put_low(reloc, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC:
      return put_low(reloc, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC:
      return put_low(reloc, value, 4);
    case R_AARCH64_ADR_GOT_PAGE:
      return put_page(reloc, reloc->slot);
    case R_AARCH64_LD64_GOT_LO12_NC:
      return put_low(reloc, reloc->slot, 3);
    default:
      return unknown_type(reloc);
  }
}

/* ldr x16, 8; br x16; followed by the address. */
void jit_stub_write(unsigned char stub[JIT_STUB_BYTES], uint64_t target) {
  const uint32_t code[2] = {0x58000050, 0xd61f0200};
  memcpy(stub, code, 8);
  memcpy(stub + 8, &target, 8);
}

#else

const uint16_t jit_elf_machine = 0;

hr_status_t jit_reloc_apply(const jit_reloc_t *reloc) { return unknown_type(reloc); }
void jit_stub_write(unsigned char stub[JIT_STUB_BYTES], uint64_t target) {
  memset(stub, 0, JIT_STUB_BYTES);
  memcpy(stub, &target, sizeof target);
}

#endif
