// vitest runs its test files in processes that it kills. So the report of one is made
// before it says that a file is done: that message waits until the event loop is empty, at
// most SETTLE_MS. The messages go through process.send(): objects with vitest 4, with 2
// and 3 serialized calls and the objects of tinypool.
'use strict';

const v8 = require('node:v8');
const workerThreads = require('node:worker_threads');
const { syncBuiltinESMExports } = require('node:module');

function content(message) {
  if (!(message instanceof Uint8Array)) return message || {};
  try {
    return v8.deserialize(message) || {};
  } catch {
    return {};
  }
}

const isDone = (m) => m.type === 'testfileFinished' ||
  (m.__tinypool_worker_message__ && m.taskId !== undefined);

// Ids are those of a tree: FILE_0_1 is a test, or a suite when there is a FILE_0_1_0.
function addResults(results, packs) {
  for (const [id, result] of Array.isArray(packs) ? packs : [])
    results.set(id, Boolean(result && /^(pass|fail)$/.test(result.state)));
}

function countTests(results) {
  const parents = new Set([...results.keys()].map((id) => id.replace(/_[^_]*$/, '')));
  let n = 0;

  for (const [id, ran] of results) n += ran && id.includes('_') && !parents.has(id) ? 1 : 0;
  return n;
}

// begin(): a test file starts. end(isEmpty, tests): all of it is over. A process may run
// several, one after the other.
function watchWorker({ begin, end, clock, settle }) {
  const { send, channel } = process;
  const results = new Map();
  let running = false;

  // Nothing but the channel keeps a worker from its end when its tests are over.
  function whenSettled(go) {
    const emptied = () => over(true);
    const timer = clock.setTimeout(() => over(false), settle);

    function over(isEmpty) {
      process.removeListener('beforeExit', emptied);
      clock.clearTimeout(timer);
      channel.ref();
      go(isEmpty);
    }
    timer.unref();
    channel.unref();
    process.on('beforeExit', emptied);
  }

  process.send = function (...args) {
    const m = content(args[0]);

    if (running && isDone(m)) {
      running = false;
      whenSettled((isEmpty) => {
        end(isEmpty, countTests(results));
        send.apply(process, args);
      });
      return true;
    }
    if (m.m) {
      if (!running) begin();
      running = true;
      if (m.m === 'onTaskUpdate' && Array.isArray(m.a)) addResults(results, m.a[0]);
    }
    return send.apply(process, args);
  };
}

// Does it start threads for its tests?
function watchThreads(found) {
  const { Worker } = workerThreads;

  workerThreads.Worker = class extends Worker {
    constructor(file, options) {
      super(file, options);
      if (/\/(vitest|tinypool)\/dist\//.test(String(file))) found();
    }
  };
  syncBuiltinESMExports();
}

module.exports = { watchWorker, watchThreads };
