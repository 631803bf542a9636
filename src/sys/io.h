/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole reads and writes: the kernel may do less than was asked for, and a signal may
 * come between; nobody but these two has to think of that.
 */
#ifndef SONDE_SYS_IO_H
#define SONDE_SYS_IO_H

#include "base/bytes.h"

#include <sys/types.h>

/* Bytes written: fewer than b.n if the file takes no more, errno says why. */
size_t io_write(int fd, Bytes b);

/* Reads to the file's end, `cap` bytes at most: how many, or -errno. */
ssize_t io_read(int fd, void *p, size_t cap);

#endif
