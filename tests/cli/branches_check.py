#!/usr/bin/env python3
"""branches_check.py ADAPTER: which outcomes small programs take, as docs/COVERAGE.md defines them."""
import sys

sys.path.insert(0, sys.argv[1])
from exitpath_branches import Branches, describe  # noqa: E402

# Source, and what it takes of what there is: "text:outcome", "!" in front of what it does not.
CASES = [
    ("if 1 < 2:\n  x = 1", "1 < 2:true; !1 < 2:false"),
    ("if 1 > 2: pass\nelse: pass", "!1 > 2:true; 1 > 2:false"),
    ("a, b = 1, 0\nif a and b: pass", "a:true; !a:false; !b:true; b:false"),
    ("a, b = 0, 1\nif not (a or b): pass", "!a:true; a:false; b:true; !b:false"),
    ("a = 0\nx = a or 5\nassert x == 5 and a == 0", "!a:true; a:false"),
    ("a = []\nx = a and 5\nassert x is a", "!a:true; a:false"),
    ("a = 3\nx = (a and 4) or 5\nassert x == 4", "a:true; !a:false"),
    ("n = 2\nwhile n: n -= 1", "n:true; n:false"),
    ("n = 2\nwhile n: break", "n:true; !n:false"),
    ("while True: break", ""),
    ("for i in []: pass", "!for i in []:entered; for i in []:exhausted"),
    ("for i in [1]: break\nelse: raise Exception",
     "for i in [1]:entered; !for i in [1]:exhausted"),
    ("x = 1 if len('') else 2\nassert x == 2", "!len(''):true; len(''):false"),
    ("x = [i for i in [1, 3] if i > 0]", "i > 0:true; !i > 0:false"),
    ("try:\n  raise KeyError\nexcept ValueError: pass\nexcept KeyError: pass",
     "!except ValueError:caught; except KeyError:caught"),
    ("def f():\n  if f: return 1\nf()\nf.__name__", "f:true; !f:false"),
    ("x: 'int if a else b' = 1\ndef f(a: int if x else str): pass", ""),
    ("class C:\n  if 2 > 1:\n    y = 1\nassert not [n for n in vars(C) if 'exitpath' in n]",
     "2 > 1:true; !2 > 1:false"),
    ("import sys\nlast = None\nif not last:\n  line = sys._getframe().f_lineno\n"
     "assert line == 4", "not last:true; !not last:false"),
]
MATCH = [
    ("match 2:\n  case 1: pass\n  case 2: pass",
     "!match 2:case 1; match 2:case 2; !match 2:none"),
    ("match 3:\n  case 1: pass\n  case 2: pass",
     "!match 3:case 1; !match 3:case 2; match 3:none"),
    ("match 3:\n  case x if x > 5: pass\n  case _: pass",
     "!match 3:case x; match 3:case _; !x > 5:true; x > 5:false"),
]


def outcomes(source):
    branches = Branches(lambda path: True)
    branches.install_gates()
    exec(branches.compile(source, "sample.py"), {"__name__": "sample"})
    taken = set(branches.taken())
    assert branches.coverage(taken) == (len(taken), len(branches)), source
    for missing in branches.missing(taken):
        assert describe(*missing)
    return {("" if d.first + i in taken else "!") + d.text + ":" + name
            for d in branches.all for i, name in enumerate(d.outcomes)}


def main():
    wrong = 0
    cases = CASES + (MATCH if sys.version_info >= (3, 10) else [])
    for source, wanted in cases:
        seen, expected = outcomes(source), set(filter(None, wanted.split("; ")))
        for text in seen ^ expected:
            print("%r: %s: %s" % (source, "missing" if text in expected else "not expected", text))
            wrong += 1
    print("%d programs, %d wrong" % (len(cases), wrong))
    return 1 if wrong else 0


sys.exit(main())
