/* The hash of a program: of the bytes of its large constants, then of its short HLO text
 * (without metadata), in which these are replaced by scalars. */
#include "cli/checkpoint/cli_identity.h"

#include <stdio.h>
#include <string.h>

#include "ir/print.h"
#include "ops/rules/verify.h"
#include "read/read.h"

#define LARGE 1024 /* elements */

static void write_name(hr_str_t name, char *into, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < name.size && used + 4 < size; i++) {
    unsigned char c = (unsigned char)name.data[i];
    bool plain = c > ' ' && c < 0x7f && c != '%';
    used += (size_t)snprintf(into + used, size - used, plain ? "%c" : "%%%02X", c);
  }
  if (!used) snprintf(into, size, "%%");
}

/* Hashes large constants by their bytes and replaces them by scalars: their text would be several
 * times as long. */
static hr_status_t hash_large_constants(hlo_module_t *module, hlo_computation_t *computation,
                                        hr_digest_state_t *digest) {
  for (size_t i = 0; i < computation->instrs.count; i++) {
    hlo_instr_t *instr = computation->instrs.data[i];
    hlo_value_t *scalar;
    if (!instr->literal || !instr->literal->data || instr->literal->count < LARGE) continue;
    hr_digest_add(digest, instr->literal->data, hlo_value_bytes(instr->literal));
    HR_TRY(hlo_value_array(instr->literal->dtype, 0, NULL, &scalar));
    memset(scalar->data, 0, hlo_value_bytes(scalar));
    HR_TRY(hlo_module_adopt_value(module, scalar));
    instr->literal = scalar;
  }
  return NULL;
}

/* The digest covers the text of the program and its large constants, which the text leaves out. */
static hr_status_t identify(hlo_module_t *module, cli_identity_t *identity) {
  hr_digest_state_t digest;
  hr_strbuf_t text;
  hr_digest_start(&digest);
  for (size_t c = 0; c < module->computations.count; c++)
    HR_TRY(hash_large_constants(module, module->computations.data[c], &digest));
  hr_strbuf_init(&text);
  hlo_print_module(&text, module, HLO_PRINT_SHORT);
  hr_status_t st = hr_strbuf_finish(&text);
  if (!st) {
    hr_digest_add(&digest, text.data, text.size);
    hr_digest_text(hr_digest_end(&digest), identity->digest);
    write_name(module->name, identity->name, sizeof identity->name);
  }
  hr_strbuf_deinit(&text);
  return st;
}

hr_status_t cli_identity_of(const char *path, cli_identity_t *out_identity) {
  hlo_module_t *module;
  *out_identity = (cli_identity_t){.name = ""};
  HR_TRY(read_module_file(path, &module));
  hr_status_t st = hlo_verify(module);
  if (!st) st = identify(module, out_identity);
  hlo_module_destroy(module);
  return st;
}
