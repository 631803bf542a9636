/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/resources.h"

const Prompt prompts[] = { { 0 } };
