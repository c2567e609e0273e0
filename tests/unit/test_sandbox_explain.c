/* Which next step is told for what could not be made. */
#include "harness.h"

#include "base/macros.h"
#include "sandbox/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The hint may say more, by the settings of this machine (AppArmor, a container): what
 * it must hold is one of the two. */
static void explains(void **state)
{
	static const struct {
		const char *step;
		int errnum;
		const char *hint;
	} cases[] = {
		{"clone of a system directory", ENOSYS, "Linux 5.12"},
		{"clone of a view", EINVAL, "Linux 5.12"},
		{"clone of a view", EACCES, "view"},
		{"user namespace", ENOSYS, "Linux 5.12"},
		{"mount of /proc", EPERM, "systempaths=unconfined"},
		{"clone of /proc", EPERM, "systempaths=unconfined"},
		{"user namespace", EPERM, "namespace"},
		{"user namespace", ENOSPC, "max_user_namespaces"},
		{"views", EINVAL, "discarded"},
		{"cgroup", EACCES, "cgroup"},
		{"descriptors", EMFILE, "ulimit -n"},
		{"fork", EAGAIN, "ulimit -u"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct err err = {0};

		assert_int_equal(sandbox_explain(cases[i].step, cases[i].errnum, &err),
				 -1);
		assert_int_equal(err.kind, ERR_ENVIRONMENT);
		assert_non_null(strstr(err.message, cases[i].step));
		assert_non_null(strstr(err.message, strerror(cases[i].errnum)));
		assert_non_null(strstr(err.hint, "--isolation none"));
		if (!strstr(err.hint, cases[i].hint) && !strstr(err.hint, "AppArmor"))
			fail_msg("%s, %s: %s", cases[i].step, strerror(cases[i].errnum),
				 err.hint);
	}
}

static void knows_a_container(void **state)
{
	struct err err = {0};

	(void)state;
	setenv("container", "podman", 1);
	sandbox_explain("user namespace", EPERM, &err);
	unsetenv("container");
	if (!strstr(err.hint, "AppArmor") && !strstr(err.hint, "chroot") &&
	    !strstr(err.hint, "sysctl"))
		assert_non_null(strstr(err.hint, "seccomp=unconfined"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HARNESS_TEST(explains),
		HARNESS_TEST(knows_a_container),
	};

	return HARNESS_RUN(tests);
}
