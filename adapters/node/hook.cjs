// Loaded by every node of a run before its program. It decides what this process is, has
// track.cjs remember what is created where, and writes two lines into
// $EXITPATH_NODE_DIR/node.PID: that it started, and what was still held at its end.
//
// A process whose tests are over, and that does not end by itself within SETTLE_MS, is
// ended after its report: what keeps it alive is the finding.
'use strict';

const { isMainThread } = require('node:worker_threads');

if (isMainThread && process.env.EXITPATH_NODE_DIR) main();

function main() {
  const fs = require('node:fs');
  const write = { openSync: fs.openSync, writeSync: fs.writeSync, closeSync: fs.closeSync };
  const clock = { setInterval, setTimeout, clearTimeout };
  const dir = process.env.EXITPATH_NODE_DIR;
  const SETTLE_MS = 2000; // twice what Jest waits before it says that it did not exit
  const POLL_MS = 25;
  const role = roleOf(fs);

  function record(value, flags = 'a') {
    const fd = write.openSync(`${dir}/node.${process.pid}`, flags, 0o644);

    try {
      write.writeSync(fd, JSON.stringify(value) + '\n');
    } finally {
      write.closeSync(fd);
    }
  }

  keepHook();
  if (role === 'tool' || role === 'below') return;
  const start = () => record({
    type: 'start', role: role === 'mocha' ? 'plain' : role, pid: process.pid,
    ppid: process.ppid, node: process.version, script: process.argv[1] || '',
  }, 'w');

  // vitest keeps workers in reserve, and ends them without having used them.
  if (role !== 'vitest') start();
  if (role === 'node --test') return;
  if (role === 'vitest run') observeVitest(record);
  else observe(role, record, start, clock, SETTLE_MS, POLL_MS);
}

// The process of the command, which runs no tests itself.
function observeVitest(record) {
  let threads = false;

  require('./vitest.cjs').watchThreads(() => (threads = true));
  process.on('exit', (code) => record({
    type: 'end', role: 'vitest run', code, over: true, tests: 0, exit: 'natural', canary: true,
    refused: threads ? 'vitest runs its tests in threads that it ends: use --pool=forks' : '',
    asked: [], held: [], notes: [],
  }));
}

// Commands that set NODE_OPTIONS themselves would have their children do without.
function keepHook() {
  const flag = process.env.EXITPATH_NODE_OPTION;
  const options = process.env.NODE_OPTIONS || '';

  if (flag && !options.includes(flag))
    process.env.NODE_OPTIONS = options ? `${options} ${flag}` : flag;
}

function roleOf(fs) {
  const flags = process.execArgv;
  let script = process.argv[1] || '';

  try {
    script = fs.realpathSync(script);
  } catch {
    // -e, -p, standard input
  }
  if (process.env.EXITPATH_NODE_BELOW) return 'below';
  if (/\/(npm|npx|pnpm|pnpx|yarn|corepack|yarnpkg)(-cli)?([-.][\w.]*)?\.c?js$/.test(script) ||
      /\/(corepack|npm|pnpm|yarn)\/(bin|dist)\//.test(script))
    return 'tool';
  if (flags.includes('--test') && !flags.some((f) => /-isolation=none$/.test(f)))
    return 'node --test';
  if (/\/jest(-cli)?\/bin\/jest\.js$/.test(script)) return 'jest';
  if (/\/mocha\/(bin\/_?mocha(\.js)?|lib\/cli\/cli\.js)$/.test(script)) return 'mocha';
  if (/\/vitest\/(vitest\.mjs|dist\/cli\.js)$/.test(script)) return 'vitest run';
  if (process.env.VITEST && process.send &&
      /\/(vitest|tinypool)\/dist\/.*\/(process|forks|vmForks)\.js$/.test(script))
    return 'vitest';
  return process.env.NODE_TEST_CONTEXT ? 'node:test' : 'plain';
}

function observe(role, record, start, clock, SETTLE_MS, POLL_MS) {
  const track = require('./track.cjs');
  const held = require('./held.cjs');
  const runners = require('./runners.cjs');
  const { capture, frames } = require('./stack.cjs');
  const exit = process.exit;
  const notes = new Set();
  let asked = null; // the stack of process.exit()
  let empty = false; // the event loop ran dry
  let ended = false; // by us
  let reported = false;
  let overSince = 0;

  track.start(runners.onTest);
  held.begin();
  runners.setRole(role);

  function last() {
    // After the listeners of the program, which may release something yet.
    process.removeListener('exit', report);
    process.on('exit', report);
  }

  function report(code) {
    if (reported) return;
    reported = true;
    const now = runners.look();
    const shot = held.snapshot();

    record({
      type: 'end', role: now.role, code,
      // A file without tests is over when its event loop is empty.
      over: now.over || (empty && !asked && (now.role === 'plain' || !now.started)),
      tests: now.tests, refused: now.refused,
      exit: ended ? 'ended' : asked ? 'asked' : empty ? 'natural' : 'other',
      asked: asked ? frames(asked) : [],
      canary: shot.canary, held: shot.held, notes: [...notes, ...shot.notes],
    });
  }

  process.exit = function (code) {
    // Many runners set their exit code so, from a listener of 'exit'.
    if (!ended && !process._exiting) asked = asked || capture(process.exit);
    // Called from a listener of 'exit', it ends the process at once.
    if (process._exiting) report(code === undefined ? process.exitCode || 0 : code);
    else last();
    return exit.apply(process, arguments);
  };
  process.on('beforeExit', () => {
    empty = true;
    last();
  });
  process.on('exit', report);
  process.on('warning', (w) => {
    if (w.name !== 'MaxListenersExceededWarning') return;
    const by = frames(w)[0];
    const emitter = w.emitter || w.target; // an EventTarget is a target
    const kind = emitter && emitter.constructor ? emitter.constructor.name : 'emitter';

    notes.add(`listeners grow: ${w.count} of '${String(w.type)}' on one ${kind}` +
      (by ? `: ${by.function || 'function'} (${by.file}:${by.line})` : ''));
  });

  if (role === 'vitest') {
    require('./vitest.cjs').watchWorker({
      clock,
      settle: SETTLE_MS,
      begin() {
        reported = false;
        start();
      },
      end(isEmpty, tests) {
        empty = isEmpty;
        ended = !isEmpty;
        runners.end(tests);
        report(0);
      },
    });
    return;
  }
  // Runs only while something else keeps the event loop turning.
  clock.setInterval(() => {
    const now = runners.look();

    if (now.role === 'plain' || !now.over || ended) {
      overSince = 0;
      return;
    }
    overSince = overSince || Date.now();
    if (Date.now() - overSince < SETTLE_MS) return;
    ended = true;
    // node:test sums up and sets its exit code when the loop is empty: it is told so.
    if (now.role === 'node:test') process.emit('beforeExit', process.exitCode || 0);
    clock.setTimeout(() => {
      last();
      exit.call(process);
    }, 100);
  }, POLL_MS).unref();
}
