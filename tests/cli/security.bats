load common

@test "security page: every test that it names exists, and every line of its tables names one" {
  python3 - "$EXITPATH_ROOT" <<'END'
import glob, re, sys
root = sys.argv[1]
tests = set()
for path in glob.glob(f"{root}/tests/cli/*.bats"):
    with open(path, encoding="utf-8") as file:
        tests |= set(re.findall(r'^@test "(.*)" \{', file.read(), re.M))
units = set()
for path in glob.glob(f"{root}/tests/unit/test_*.c"):
    with open(path, encoding="utf-8") as file:
        units |= set(re.findall(r"HARNESS_TEST\((\w+)\)", file.read()))
with open(f"{root}/docs/SECURITY.md", encoding="utf-8") as file:
    page = file.read()
named = set(re.findall(r"`((?:hostile|tools|many runs): [^`]*)`", page.replace("\n", " ")))
named_units = set(re.findall(r"`(\w+)` \(unit test", page.replace("\n", " ")))
missing = (named - tests) | (named_units - units)
assert len(named) > 40 and not missing, f"no such test: {missing}"
defended = page.split("## Defended")[1].split("## ")[0]
rows = [row for row in defended.splitlines() if row.startswith("| ")][1:]
bare = [row for row in rows if not any(f"`{name}`" in row for name in tests | units)]
assert len(rows) > 25 and not bare, f"without a test: {bare}"
untold = {name for name in tests if name.startswith("hostile: ")} - named
untold -= {"hostile: every case of the table is run", "hostile: as an ordinary user"}
assert not untold, f"tests that the page does not name: {untold}"
END
}
