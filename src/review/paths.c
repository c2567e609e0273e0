/* What a file is for, by its path. */
#include "review/internal.h"

#include <fnmatch.h>
#include <stdio.h>

static bool any(const char *const *globs, const char *text)
{
	for (; *globs; globs++)
		if (fnmatch(*globs, text, FNM_CASEFOLD) == 0)
			return true;
	return false;
}

static const char *const test_names[] = {
	"test_*.py",	    "*_test.py",     "tests.py",      "conftest.py",
	"*_test.go",	    "*.test.[jt]s*", "*.spec.[jt]s*", "*.test.[cm][jt]s",
	"*.spec.[cm][jt]s", "*Test.java",    "*Tests.java",   "*TestCase.java",
	"*IT.java",	    "Test*.java",    "test_*.c*",     "*_test.c*",
	"*_tests.c*",	    "*_unittest.cc", "test-*.c*",     "*_test.rs",
	"test_*.rs",	    "tests.rs",	     "test_*.h",      NULL};
static const char *const test_dirs[] = {
	"test/*", "tests/*",  "*/test/*", "*/tests/*", "__tests__/*", "*/__tests__/*",
	"spec/*", "*/spec/*", "e2e/*",	  "*/e2e/*",   NULL};
static const char *const ci_paths[] = {".github/workflows/*",
				       ".github/actions/*",
				       "*.gitlab-ci.y*ml",
				       ".circleci/*",
				       "azure-pipelines*.y*ml",
				       ".travis.yml",
				       "appveyor.yml",
				       ".drone.yml",
				       ".woodpecker*",
				       "bitbucket-pipelines.yml",
				       ".buildkite/*",
				       ".ci/*",
				       "ci/*",
				       "*/ci/*",
				       "scripts/*",
				       ".husky/*",
				       ".githooks/*",
				       "hooks/*",
				       NULL};
static const char *const ci_names[] = {
	"Jenkinsfile*", "Makefile",	"GNUmakefile",	 "makefile",
	"*.mk",		"Justfile",	"Taskfile.y*ml", "Dockerfile*",
	"package.json", "tox.ini",	"noxfile.py",	 ".pre-commit-config.yaml",
	"*.sh",		"lefthook.yml", "Rakefile",	 NULL};
static const char *const config_names[] = {"pyproject.toml",
					   "setup.cfg",
					   "pytest.ini",
					   "tox.ini",
					   ".coveragerc",
					   ".flake8",
					   "ruff.toml",
					   ".ruff.toml",
					   "mypy.ini",
					   ".pylintrc",
					   "pylintrc",
					   "jest.config.*",
					   "vitest.config.*",
					   "vite.config.*",
					   "karma.conf.*",
					   ".nycrc*",
					   ".c8rc*",
					   ".mocharc*",
					   "codecov.y*ml",
					   ".codecov.y*ml",
					   ".coveralls.yml",
					   ".golangci.*",
					   ".eslintrc*",
					   "eslint.config.*",
					   "biome.json",
					   "tsconfig*.json",
					   "pom.xml",
					   "build.gradle*",
					   "Cargo.toml",
					   "clippy.toml",
					   "sonar-project.properties",
					   "package.json",
					   ".clang-tidy",
					   "meson.build",
					   "CMakeLists.txt",
					   "playwright.config.*",
					   NULL};
static const char *const suppression_names[] = {
	"*.supp",	    "*.suppr",		 "*suppressions*",  "*suppression*.txt",
	"lsan*.txt",	    "asan*.txt",	 "tsan*.txt",	    "ubsan*.txt",
	".lsan*",	    ".gitleaksignore",	 ".gitleaks.toml",  "gitleaks.toml",
	".semgrepignore",   ".trivyignore*",	 ".snyk",	    ".grype.y*ml",
	".eslintignore",    ".secrets.baseline", ".bandit",	    "*.ignore-list",
	"osv-scanner.toml", "allowlist*.txt",	 "*-baseline.json", NULL};
static const char *const snapshot_paths[] = {
	"*.snap",	    "*__snapshots__/*", "*.golden",	 "*/golden/*",
	"*/testdata/*.out", "*.approved.*",	"*/snapshots/*", NULL};

unsigned file_class(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	unsigned class = 0;

	if (source_lang_of_path(path) != LANG_NONE)
		class |= FILE_SOURCE;
	if (any(snapshot_paths, path))
		return FILE_SNAPSHOT;
	if (any(suppression_names, name) && !(class & FILE_SOURCE))
		class |= FILE_SUPPRESSION;
	if ((class & FILE_SOURCE) && (any(test_names, name) || any(test_dirs, path)))
		class |= FILE_TEST;
	if (any(ci_names, name) || (any(ci_paths, path) && !(class & FILE_SOURCE)))
		class |= FILE_CI;
	if (any(config_names, name))
		class |= FILE_CONFIG;
	return class;
}

bool file_is_collected(const char *path)
{
	const char *slash = strrchr(path, '/');

	return any(test_names, slash ? slash + 1 : path);
}
