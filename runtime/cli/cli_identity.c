#include "cli/cli_identity.h"

#include <stdio.h>
#include <string.h>

#include "ir/print.h"
#include "read/read.h"

static void write_name(hr_str_t name, char *into, size_t size) {
  size_t used = 0;
  for (size_t i = 0; i < name.size && used + 4 < size; i++) {
    unsigned char c = (unsigned char)name.data[i];
    bool plain = c > ' ' && c < 0x7f && c != '%';
    used += (size_t)snprintf(into + used, size - used, plain ? "%c" : "%%%02X", c);
  }
  if (!used) snprintf(into, size, "%%");
}

static hr_status_t identify(const hlo_module_t *module, cli_identity_t *identity) {
  hr_sha256_t sha;
  hr_text_t text;
  hr_text_init(&text);
  hlo_print_module(&text, module, HLO_PRINT_SHORT);
  hr_status_t st = hr_text_finish(&text);
  if (!st) {
    hr_sha256_init(&sha);
    hr_sha256_add(&sha, text.data, text.size);
    hr_sha256_text(&sha, identity->sha256);
    write_name(module->name, identity->name, sizeof identity->name);
  }
  hr_text_deinit(&text);
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
