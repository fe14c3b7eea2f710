/* Whatever bytes are given as an object: it is linked or refused, without a crash or a leak.
 * Nothing of it is run. With -DHR_FUZZING -fsanitize=fuzzer it is a target of libFuzzer; else a
 * program, see fuzz_driver.h. */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_driver.h"
#include "fuzz_reader.h"
#include "jit/link/object_loader.h"

static hr_status_t check_input(const uint8_t *data, size_t size) {
  jit_object_t *object = NULL;
  void *address;
  hr_status_t st = jit_object_load(data, size, &object);
  if (!st) st = jit_object_find(object, "kernel", &address);
  if (st && hr_status_code(st) != HR_INVALID && hr_status_code(st) != HR_NO_MEMORY)
    fuzz_fail("another error");
  jit_object_unload(object);
  return st;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  return fuzz_check(data, size, check_input);
}

#ifndef HR_FUZZING

#include "tests/lib/math_kernels.h"

static void put_number(char *at, size_t room) {
  static const uint64_t numbers[] = {0,    1,     2,         3,          8,         64,        127,
                                     4096, 65535, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX};
  uint64_t number = numbers[fuzz_random_below(sizeof numbers / sizeof *numbers)], near = 0;
  size_t bytes = (size_t)1 << fuzz_random_below(4);
  if (bytes > room) bytes = room;
  memcpy(&near, at, bytes);
  near += fuzz_random_below(33) - 16;
  memcpy(at, fuzz_random_below(2) ? &number : &near, bytes);
}

/* A number in the table of `each` bytes a row, or in the file's header if there is no such table.
 */
static void change_row(fuzz_bytes_t *bytes, uint64_t offset, uint64_t size, size_t each) {
  uint64_t row = offset + fuzz_random_below(size / each + 1) * each,
           at = row + fuzz_random_below(each / 2) * 2;
  if (offset > bytes->size || size > bytes->size || at + 8 > bytes->size)
    at = fuzz_random_below(32) * 2;
  if (at + 8 <= bytes->size) put_number(bytes->data + at, 8);
}

/* Numbers of the header, of the sections, of symbols and of relocations: bits of code matter
 * little. */
static void mutate(fuzz_bytes_t *bytes, const fuzz_bytes_t *other) {
  Elf64_Ehdr header = {0};
  Elf64_Shdr section = {0};
  (void)other;
  memcpy(&header, bytes->data, bytes->size < sizeof header ? bytes->size : sizeof header);
  uint64_t at = header.e_shoff + fuzz_random_below(header.e_shnum) * sizeof section;
  if (at < bytes->size && bytes->size - at >= sizeof section)
    memcpy(&section, bytes->data + at, sizeof section);
  switch (fuzz_random_below(8)) {
    case 0:
      change_row(bytes, 0, sizeof header, sizeof header);
      break;
    case 1:
      if (bytes->size)
        bytes->data[fuzz_random_below(bytes->size)] ^= (char)(1 << fuzz_random_below(8));
      break;
    case 2:
      if (!fuzz_random_below(20)) bytes->size = fuzz_random_below(bytes->size + 1);
      break;
    case 3:
    case 4:
      change_row(bytes, header.e_shoff, header.e_shnum * sizeof section, sizeof section);
      break;
    default:
      if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_RELA)
        change_row(bytes, section.sh_offset, section.sh_size, 24);
  }
}

static fuzz_bytes_t builtin_object(int index) {
  static const hlo_opcode_t ops[] = {HLO_EXPONENTIAL, HLO_SINE, HLO_REMAINDER};
  math_kernel_t kernel = {.op = ops[index], .is_f64 = true, .lanes = 4};
  hr_buffer_t *object;
  hr_status_t st = math_kernels_compile(&kernel, 1, jit_target_host(), NULL, &object);
  if (st) {
    hr_status_print(stderr, st);
    exit(2);
  }
  fuzz_bytes_t bytes = fuzz_copy(hr_buffer_data(object), hr_buffer_size(object));
  hr_buffer_release(object);
  return bytes;
}

int main(int argc, char **argv) {
  const fuzz_material_t material = {.own = builtin_object, .own_count = 3, .mutate = mutate};
  return fuzz_main(argc, argv, &material);
}

#endif
