# What node.bats and node_runners.bats share: a project whose candidate does not release what its
# base does.

# project: lib.js acquires and releases by name.
project() {
  make_repo
  cat >lib.js <<'EOF'
const net = require('net'), fs = require('fs'), dgram = require('dgram');
const { spawn } = require('child_process');
const { Worker } = require('worker_threads');
const listen = () => new Promise((r) => { const s = net.createServer().listen(0, () => r(s)); });
const sleep = (o) => spawn('sleep', ['30'], { stdio: 'ignore', ...o });
const end = (c) => new Promise((r) => { c.on('exit', r); c.kill(); });
const things = {
  server: [listen, (s) => s.close()],
  unref_server: [() => listen().then((s) => s.unref()), (s) => s.close()],
  socket: [async () => { const s = await listen(), c = net.connect(s.address().port);
    await new Promise((r) => s.on('connection', () => { s.close(); r(); })); return c; },
    (c) => c.destroy()],
  udp: [() => new Promise((r) => { const s = dgram.createSocket('udp4').bind(0, () => r(s)); }), (s) => s.close()],
  interval: [() => setInterval(() => {}, 1000), clearInterval],
  timeout: [() => setTimeout(() => {}, 60000), clearTimeout],
  fd: [() => fs.openSync('/etc/passwd'), (fd) => fs.closeSync(fd)],
  fdcb: [() => new Promise((r) => fs.open('/etc/passwd', (e, fd) => r(fd))), (fd) => fs.closeSync(fd)],
  filehandle: [() => fs.promises.open('/etc/passwd'), (h) => h.close()],
  child: [sleep, end],
  unref_child: [() => { const c = sleep({ detached: true }); c.unref(); return c; }, (c) => { c.ref(); return end(c); }],
  worker: [() => new Worker('setInterval(() => {}, 1000)', { eval: true }), (w) => w.terminate()],
  watcher: [() => fs.watch('.'), (w) => w.close()],
};
const kept = [];
exports.acquire = async (name) => { const t = await things[name][0](); kept.push(t); return t; };
exports.release = (name, thing) => things[name][1](thing);
EOF
}

# revisions TEXT: base as it stands; the candidate with exports.release replaced by TEXT.
revisions() {
  commit_all base && git tag base
  sed -i "s/^exports.release.*/exports.release = $1;/" lib.js
  echo candidate >revision
  commit_all candidate && git tag candidate
}

gate() { # STATUS [REGEX…] -- CMD…
  local expected=$1 patterns=()
  shift
  while [ "$1" != -- ]; do patterns+=("$1") && shift; done
  run --separate-stderr "$EXITPATH_BIN" leak --isolation "${ISOLATION-none}" --base "${BASE-base}" \
    --candidate "${CANDIDATE-candidate}" --detector node --warmup 0 --cycles "${CYCLES-1}" \
    --timeout 30s --quiet --json ${STORE:+--store "$STORE"} "$@"
  ended "$expected" "${patterns[@]}"
}
