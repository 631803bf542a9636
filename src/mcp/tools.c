/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/tools.h"

const Tool tools[] = { { 0 } };
const unsigned tools_n = 0;
