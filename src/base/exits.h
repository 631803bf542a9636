/* SPDX-License-Identifier: Apache-2.0
 *
 * Exit codes of `sonde`: part of the interface, the same for all sub-commands.
 */
#ifndef SONDE_BASE_EXITS_H
#define SONDE_BASE_EXITS_H

#define EXITS(X)                                                                     \
	X(OK, 0, "ran to the end")                                                   \
	X(RUNTIME, 1, "run-time error; fuel or memory spent")                        \
	X(CHECK, 2, "refused by the checker")                                        \
	X(POLICY, 3, "refused by policy, or too many refused frames")                \
	X(BUDGET, 4, "budget or leak spent")                                         \
	X(ENVIRONMENT, 5, "something is missing here: a right, an interface, a file") \
	X(USAGE, 6, "wrong options or arguments")                                    \
	X(INTERRUPTED, 130, "interrupted")

#define EXIT_ENUM_(id, code, text) SONDE_EXIT_##id = (code),
enum SondeExit { EXITS(EXIT_ENUM_) };
#undef EXIT_ENUM_

#endif
