/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/runs.h"

json_t *runs_run(Call *c, const RunAsk *ask, const char **ret_why)
{
	(void)c;
	(void)ask;
	*ret_why = "there is no launcher";
	return NULL;
}

json_t *runs_check(Call *c, const RunAsk *ask, const char **ret_why)
{
	return runs_run(c, ask, ret_why);
}

bool runs_audit(Call *c, const char *tool, const char *args_sha256, const char *outcome, const char *finding_id)
{
	(void)c;
	(void)tool;
	(void)args_sha256;
	(void)outcome;
	(void)finding_id;
	return true;
}

char *runs_policy(Call *c, const char **ret_why)
{
	(void)c;
	*ret_why = "there is no launcher";
	return NULL;
}
