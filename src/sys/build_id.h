/* SPDX-License-Identifier: Apache-2.0
 *
 * What names this binary: the linker's hash over its contents, as hex; "unknown" if
 * it was linked without one.
 */
#ifndef SONDE_SYS_BUILD_ID_H
#define SONDE_SYS_BUILD_ID_H

const char *build_id(void);

#endif
