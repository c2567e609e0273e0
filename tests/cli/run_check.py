"""run_check.py VERDICT EXIT REGEX: compares the JSON of one `exitpath run --json`, on stdin."""
import json
import re
import sys

verdict, status, pattern = sys.argv[1:]
text = sys.stdin.read()
try:
    result = json.loads(text)
except ValueError:
    sys.exit(f"no JSON: {text}")
output = f"{result.get('stdout') or ''}\n{result.get('stderr') or ''}"
if result["verdict"] != verdict or (status and str(result.get("exit")) not in status.split("|")):
    sys.exit(f"verdict {result['verdict']}, exit {result.get('exit')}; expected {verdict}, exit {status}\n{text}")
if not re.search(pattern, output):
    sys.exit(f"no match for {pattern}\n{output}")
