/* Identity of a program: BLAKE2b hash of its HLO text after reading and verifying, before any pass,
 * without metadata such as source lines. The same program in another file format may have another
 * identity, if it is read as other instructions. */
#ifndef CLI_IDENTITY_H
#define CLI_IDENTITY_H

#include "base/digest.h"
#include "base/status.h"

#define CLI_IDENTITY_SHOWN 12 /* digits shown in messages */

typedef struct cli_identity {
  char name[64]; /* name of the module, printable and without spaces: other bytes as %XX; long ones
                    cut; never empty */
  char digest[HR_DIGEST_TEXT];
} cli_identity_t;

/* Reads a program file and identifies it. Errors: as read_module_file, hlo_verify. */
hr_status_t cli_identity_of(const char *path, cli_identity_t *out_identity);

#endif
