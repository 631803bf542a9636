/* SPDX-License-Identifier: Apache-2.0
 *
 * The verifier: whatever passes can't make the VM read or write outside its
 * frames and tables.  It trusts nobody: lower's bugs and random bytes alike.
 *
 * Checked: every operand by its letter in ops.def (register windows with their
 * counts, constants, names, sites, functions, jump targets), that no function's
 * code runs off its end, that modules hold the globals.  Types are not checked
 * here: the VM tests tags.
 */
#ifndef SONDE_VM_VERIFY_H
#define SONDE_VM_VERIFY_H

#include "vm/program.h"

/* NULL: sound.  Else why not, a literal. */
const char *verify_program(const Program *p);

#endif
