// When are the tests over, and how many ran? For each runner its own answer:
//   node:test  every Test is an AsyncResource, seen by async_hooks; over when all those
//              below the root have finished
//   Jest       the promise of runCLI() of @jest/core; test files run in this process
//   mocha      the callback of Runner.run()
//   vitest     each of its processes says so itself (vitest.cjs)
//   plain      a script without a runner is over when its event loop is empty
'use strict';

const Module = require('node:module');
const { formatAtOnce } = require('./stack.cjs');

const state = {
  role: 'plain',
  version: process.version,
  started: false, // a test was seen, or the runner itself
  over: false, // all tests that were started have finished
  tests: 0, // that were executed: passed or failed
  root: null, // node:test's
  refused: '', // why the runner cannot be observed
};

function onTest(test) {
  if (state.role !== 'plain' && state.role !== 'node:test') return;
  begin('node:test');
  if (!state.root) state.root = test;
}

function isLeaf(test) {
  return test !== state.root && test.constructor && test.constructor.name !== 'Suite';
}

function countTests(test) {
  let n = isLeaf(test) && test.finished && !test.skipped ? 1 : 0;

  for (const sub of test.subtests || []) n += countTests(sub);
  return n;
}

function isNodeTestOver() {
  const { root } = state;

  if (!root || !Array.isArray(root.subtests)) return false;
  return root.subtests.length > 0 && root.subtests.every((t) => t.finished) &&
    !root.activeSubtests && !(root.pendingSubtests && root.pendingSubtests.length);
}

function look() {
  if (state.role !== 'node:test' || !state.root) return state;
  state.over = isNodeTestOver();
  state.tests = countTests(state.root);
  return state;
}

function wrapJest(core) {
  const runCLI = core.runCLI;

  return Object.create(core, {
    runCLI: {
      enumerable: true,
      value: async function () {
        const all = await runCLI.apply(core, arguments);
        const r = all.results || {};

        state.tests = (r.numPassedTests || 0) + (r.numFailedTests || 0);
        state.over = true;
        return all;
      },
    },
  });
}

// Handles are seen in the process that has them: test files run in this one.
function forceInBand(argv) {
  const kept = [];

  for (let i = 0; i < argv.length; i++) {
    if (/^(-w|--maxWorkers)$/.test(argv[i])) i++;
    else if (!/^(-w=?\d|--maxWorkers=|-i$|--runInBand)/.test(argv[i])) kept.push(argv[i]);
  }
  const end = kept.indexOf('--');

  kept.splice(end < 0 ? kept.length : end, 0, '--runInBand');
  return kept;
}

function wrapMocha(Runner) {
  const { run } = Runner.prototype;

  if (run.exitpath) return;
  Runner.prototype.run = function (done, ...rest) {
    begin('mocha');
    this.on('pass', () => state.tests++);
    this.on('fail', () => state.tests++);
    return run.call(this, function () {
      state.over = true;
      return done && done.apply(this, arguments);
    }, ...rest);
  };
  Runner.prototype.run.exitpath = true;
}

function whenLoaded(react) {
  const load = Module._load;

  Module._load = function (request, parent) {
    return react(request, parent, load.apply(this, arguments));
  };
}

const inMocha = /\/mocha\/lib\/[^/]*$/;
let wrapped = null;

const prepare = {
  jest() {
    formatAtOnce();
    process.argv.splice(2, process.argv.length, ...forceInBand(process.argv.slice(2)));
    whenLoaded((request, parent, exports) => {
      if (request !== '@jest/core' || !exports || !exports.runCLI) return exports;
      wrapped = wrapped || wrapJest(exports);
      return wrapped;
    });
  },
  mocha() {
    whenLoaded((request, parent, exports) => {
      if (/^\.\/runner(\.js)?$/.test(request) && parent && inMocha.test(parent.filename || ''))
        wrapMocha(exports);
      if (/parallel-buffered-runner/.test(request)) {
        begin('mocha');
        state.refused = 'mocha --parallel runs the tests in workers that it ends: ' +
          'use --no-parallel';
      }
      return exports;
    });
  },
};

// Programs that the tests start are theirs to look after.
function begin(role) {
  state.role = role;
  state.started = true;
  process.env.EXITPATH_NODE_BELOW = '1';
}

function end(tests) {
  state.tests = tests;
  state.over = true;
}

// bin/mocha may start another node that runs the tests: it is one when it runs them.
function setRole(role) {
  if (prepare[role]) prepare[role]();
  if (role === 'jest' || role === 'node:test' || role === 'vitest') begin(role);
  if (role === 'node:test') state.started = false;
}

module.exports = { setRole, onTest, look, end };
