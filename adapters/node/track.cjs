// What the process has created, and where: handles and timers through async_hooks,
// descriptors by wrapping fs.open and its relatives. Nothing is kept alive by it.
'use strict';

const asyncHooks = require('node:async_hooks');
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { capture } = require('./stack.cjs');

// Those that are looked at when the tests are over (held.cjs), and requests in whose
// callbacks such are made: server.listen(port, 'localhost') waits for a lookup.
const TYPES = new Set([
  'TCPSERVERWRAP', 'TCPWRAP', 'PIPESERVERWRAP', 'PIPEWRAP', 'UDPWRAP', 'TTYWRAP',
  'PROCESSWRAP', 'FSEVENTWRAP', 'STATWATCHER', 'SIGNALWRAP', 'MESSAGEPORT', 'WORKER',
  'FILEHANDLE', 'Timeout', 'GETADDRINFOREQWRAP', 'FSREQCALLBACK',
]);

const created = new Map(); // async id → {type, ref, at, by: that of its cause}
const opened = new Map(); // descriptor → {at, handle: of fs.promises, or undefined}
const workers = []; // {ref, at}
const workerStacks = [];
const streamStacks = new WeakMap(); // stream → stack of who made it
let cause = null; // the one whose file is being opened
let onTest = null;
const { openSync, open, closeSync, close } = fs;
const real = { openSync, open, closeSync, close }; // by name in wrapFs()

function init(id, type, trigger, resource) {
  if (type === 'Test') {
    if (onTest) onTest(resource);
    return;
  }
  if (!TYPES.has(type)) return;
  const at = capture(init);

  if (type === 'WORKER') workerStacks.push(at);
  const by = created.get(asyncHooks.executionAsyncId()) || created.get(trigger) || null;

  created.set(id, { type, ref: new WeakRef(resource), at, by });
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

function wrapPromises(promises) {
  const { open: openHandle } = promises;

  async function wrapper() {
    const at = capture(wrapper);
    const handle = await openHandle.apply(this, arguments);

    opened.set(handle.fd, { at, handle: new WeakRef(handle) });
    return handle;
  }
  promises.open = named(wrapper, openHandle);
}

// A stream opens its file in a later tick, when nobody of the project is on the stack.
function wrapStreams(name, prototype) {
  const { [name]: create } = fs;
  const { _construct: construct } = prototype;

  if (!construct) return;
  fs[name] = named(function wrapper() {
    const stream = create.apply(this, arguments);

    streamStacks.set(stream, capture(wrapper));
    return stream;
  }, create);
  prototype._construct = named(function () {
    cause = streamStacks.get(this) || null;
    try {
      return construct.apply(this, arguments);
    } finally {
      cause = null;
    }
  }, construct);
}

// The stack of who opened the descriptor, unless it was closed behind our back.
function openedAt(fd) {
  const entry = opened.get(fd);

  if (!entry) return {};
  if (!entry.handle) return entry.at;
  const handle = entry.handle.deref();

  return handle && handle.fd === fd ? entry.at : {};
}

function wrapFs() {
  const wrapper = {
    openSync() {
      const fd = openSync.apply(this, arguments);

      opened.set(fd, { at: capture(wrapper.openSync) });
      return fd;
    },
    open(...args) {
      const done = args[args.length - 1];
      const at = cause || capture(wrapper.open);

      if (typeof done === 'function')
        args[args.length - 1] = function (err, fd) {
          if (!err) opened.set(fd, { at });
          return done.apply(this, arguments);
        };
      return open.apply(this, args);
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
  wrapPromises(fs.promises);
  wrapStreams('createReadStream', fs.ReadStream.prototype);
  wrapStreams('createWriteStream', fs.WriteStream.prototype);
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

module.exports = { start, created, openedAt, workers, real };
