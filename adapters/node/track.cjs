// What the process has created, and where: handles and timers through async_hooks,
// descriptors by wrapping fs.open and its relatives. Nothing is kept alive by it.
'use strict';

const asyncHooks = require('node:async_hooks');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { capture } = require('./stack.cjs');

// Those that are looked at when the tests are over (held.cjs). GETADDRINFOREQWRAP:
// server.listen(port, 'localhost') makes its handle in the callback of the lookup.
const TYPES = new Set([
  'TCPSERVERWRAP', 'TCPWRAP', 'PIPESERVERWRAP', 'PIPEWRAP', 'UDPWRAP', 'TTYWRAP',
  'PROCESSWRAP', 'FSEVENTWRAP', 'STATWATCHER', 'SIGNALWRAP', 'MESSAGEPORT', 'WORKER',
  'FILEHANDLE', 'DIRHANDLE', 'Timeout', 'GETADDRINFOREQWRAP', 'FSREQCALLBACK',
  'HTTPCLIENTREQUEST',
]);

const created = new Map(); // async id → {type, ref, at, trigger}
const opened = new Map(); // descriptor → {path, at}
const workers = []; // {ref, at}
const workerStacks = [];
let onTest = null;
const { openSync, open, closeSync, close } = fs;
const real = { openSync, open, closeSync, close };

function init(id, type, trigger, resource) {
  if (type === 'Test') {
    if (onTest) onTest(resource);
    return;
  }
  if (!TYPES.has(type)) return;
  const at = capture(init);

  if (type === 'WORKER') workerStacks.push(at);
  created.set(id, { type, ref: new WeakRef(resource), at, trigger });
}

const hook = asyncHooks.createHook({
  init,
  destroy(id) {
    created.delete(id);
  },
});

function named(wrapper, original) {
  for (const key of Reflect.ownKeys(original)) {
    const d = Object.getOwnPropertyDescriptor(original, key);

    if (key !== 'prototype') Object.defineProperty(wrapper, key, d);
  }
  return wrapper;
}

function wrapFs() {
  const wrapper = {
    openSync(path) {
      const fd = openSync.apply(this, arguments);

      opened.set(fd, { path, at: capture(wrapper.openSync) });
      return fd;
    },
    open(path, ...rest) {
      const done = rest[rest.length - 1];
      const at = capture(wrapper.open);

      if (typeof done === 'function')
        rest[rest.length - 1] = function (err, fd) {
          if (!err) opened.set(fd, { path, at });
          return done.apply(this, arguments);
        };
      return open.call(this, path, ...rest);
    },
    closeSync(fd) {
      const rc = closeSync.apply(this, arguments);

      opened.delete(fd);
      return rc;
    },
    // The number is free for others as soon as the call is made.
    close(fd) {
      const rc = close.apply(this, arguments);

      opened.delete(fd);
      return rc;
    },
  };

  for (const name of Object.keys(wrapper)) fs[name] = named(wrapper[name], real[name]);
  syncBuiltinESMExports();
}

// The stack of a worker is taken where its handle is made; node tells of it later.
function onWorker(worker) {
  workers.push({ ref: new WeakRef(worker), at: workerStacks.shift() || {} });
}

function start(whenTest) {
  onTest = whenTest;
  wrapFs();
  process.on('worker', onWorker);
  hook.enable();
}

module.exports = { start, created, opened, workers, real };
