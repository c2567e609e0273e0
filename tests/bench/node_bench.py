"""The node adapter over bare `node --test`: one cycle of a suite that makes what is watched."""
import os
import shutil
import statistics
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HANDLES = """
const test = require('node:test');
const net = require('net'), fs = require('fs');
for (let i = 0; i < 200; i++)
  test(`case ${i}`, async () => {
    const server = await new Promise((r) => { const s = net.createServer().listen(0, () => r(s)); });
    for (let k = 0; k < 200; k++) {
      fs.closeSync(fs.openSync(__filename));
      clearTimeout(setTimeout(() => {}, 1000));
      await null;
    }
    await new Promise((r) => server.close(r));
  });
"""
SERVICE = """
const test = require('node:test');
const assert = require('node:assert');
const http = require('http');
const items = Array.from({ length: 300 }, (_, i) => ({ id: i, name: `item ${i}` }));
for (let i = 0; i < 50; i++)
  test(`case ${i}`, async () => {
    const server = http.createServer((req, res) => res.end(JSON.stringify(items)));
    await new Promise((r) => server.listen(0, '127.0.0.1', r));
    for (let k = 0; k < 10; k++) {
      const res = await fetch(`http://127.0.0.1:${server.address().port}/`);
      assert.deepStrictEqual(await res.json(), items);
    }
    server.closeAllConnections();
    await new Promise((r) => server.close(r));
  });
"""


def seconds(command, directory, env):
    start = time.monotonic()
    subprocess.run(command, cwd=directory, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def measure(suite, runs):
    """Medians of (bare, watched), in turns."""
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/a.test.js", "w", encoding="utf-8") as file:
            file.write(suite)
        option = f"--require={ROOT}/adapters/node/hook.cjs"
        watched = dict(os.environ, NODE_OPTIONS=option, EXITPATH_NODE_OPTION=option,
                       EXITPATH_NODE_DIR=directory)
        times = ([], [])
        for _ in range(runs):
            for series, env in zip(times, (dict(os.environ), watched)):
                series.append(seconds(["node", "--test", "a.test.js"], directory, env))
        return tuple(statistics.median(t) for t in times)


def bench(runs, row):
    if not shutil.which("node"):
        return
    for what, suite in (("handles alone", HANDLES), ("requests to a server", SERVICE)):
        bare, watched = measure(suite, runs)
        row(f"node adapter against bare node --test, a cycle of {what}", f"{watched / bare:.2f}x", "none")
