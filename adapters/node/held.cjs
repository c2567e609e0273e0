// What the process holds now: handles, descriptors, timers, workers, children.
'use strict';

const fs = require('node:fs');
const dgram = require('node:dgram');
const { textOf, frames, directCreator, ownFunction } = require('./stack.cjs');
const { created, openedAt, workers } = require('./track.cjs');

const own = { readdirSync: fs.readdirSync, readlinkSync: fs.readlinkSync,
  readFileSync: fs.readFileSync, openSync: null, closeSync: null, setInterval, clearInterval,
  activeHandles: process._getActiveHandles };
const before = new Set(); // descriptors that were open when the process began
const CANARY = 'exitpathCanary';

function descriptors() {
  const found = new Map();

  for (const name of own.readdirSync('/proc/self/fd')) {
    try {
      found.set(Number(name), own.readlinkSync('/proc/self/fd/' + name));
    } catch {
      // The one of the directory itself.
    }
  }
  return found;
}

function begin() {
  for (const fd of descriptors().keys()) before.add(fd);
  own.openSync = fs.openSync; // as track.cjs has wrapped them
  own.closeSync = fs.closeSync;
}

// The stack of a handle, or of what triggered it when only node's code is in its own: a
// connection that a server took, a server that waited for a lookup.
function framesOf(entry) {
  for (let e = entry, depth = 0; e && depth < 4; e = e.by, depth++) {
    const found = frames(e.at);

    if (found.length) return found;
  }
  return [];
}

function isChildAlive(pid) {
  try {
    const stat = own.readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');

    return state !== 'Z' && state !== 'X' && Number(parent) === process.pid;
  } catch {
    return false;
  }
}

function address(handle, get) {
  const out = {};

  try {
    if (handle[get](out) === 0) return `${out.address}:${out.port}`;
  } catch {
    // Not connected, or of another kind.
  }
  return '';
}

// Inodes of TCP sockets whose peer has gone, or that are going themselves.
function closingSockets() {
  const found = new Set();

  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    try {
      for (const line of own.readFileSync(table, 'latin1').split('\n').slice(1)) {
        const column = line.trim().split(/\s+/);

        if (column.length > 9 && !/^0[123A]$/.test(column[3])) found.add(column[9]);
      }
    } catch {
      // No IPv6.
    }
  }
  return found;
}

function describeSocket(handle) {
  const peer = address(handle, 'getpeername');

  return peer ? `connection to ${peer}` : 'socket, not connected';
}

function has(text, at) {
  return textOf(at).includes(text);
}

const kinds = {
  TCPSERVERWRAP: (h) => ['server', `listening on ${address(h, 'getsockname')}`],
  PIPESERVERWRAP: () => ['server', 'listening on a Unix socket'],
  TCPWRAP: (h) => ['socket', describeSocket(h)],
  // The pipes of a child are its own: it is reported, or it has ended.
  PIPEWRAP: (h, e) => (has('child_process', e.at) ? null : ['socket', 'Unix socket or pipe']),
  UDPWRAP: (h) => ['socket', `UDP ${address(h, 'getsockname')}`],
  FILEHANDLE: (h) => ['fd', own.readlinkSync('/proc/self/fd/' + h.fd)],
};

class Report {
  constructor() {
    this.items = new Map();
    this.notes = new Map();
    this.claimed = new Set(); // descriptors that belong to a handle
    this.canaries = new Set();
    this.closing = null; // inodes, when they were looked up
  }

  // Is it one of ours? The planted ones are ticked off.
  isOwn(kind, at) {
    const name = ownFunction(at);

    if (name === CANARY) this.canaries.add(kind);
    return name !== '';
  }

  add(kind, what, at, found) {
    if (this.isOwn(kind, at)) return;
    const key = JSON.stringify([kind, found, found.length && kind !== 'fd' ? '' : what]);
    const item = this.items.get(key);

    if (item) item.units++;
    else this.items.set(key, { kind, what, units: 1, frames: found });
  }

  note(text) {
    this.notes.set(text, (this.notes.get(text) || 0) + 1);
  }
}

function addTimer(report, entry, timer) {
  const ms = timer._idleTimeout;

  if (timer._destroyed || ms < 0) return;
  if (report.isOwn('timer', entry.at)) return;
  if (typeof timer.hasRef === 'function' && timer.hasRef()) {
    const kind = timer._repeat ? 'timer' : 'pending_timer';
    const found = framesOf(entry);

    // Those of node and of the runner itself have no frames.
    if (found.length)
      report.add(kind, `${timer._repeat ? 'interval' : 'timer'} of ${ms} ms`, entry.at, found);
    return;
  }
  const by = directCreator(entry.at, /^node:(internal\/)?(timers|async_hooks)$/);

  if (by && !by.file.includes('/node_modules/'))
    report.note(`a timer without a reference (unref) is left: ` +
      `${by.function || 'function'} (${by.file}:${by.line})`);
}

// Pools of connections (fetch, agents) let the process end: it may do so before they have
// heard that the server of the test is closed.
function isClosing(report, entry, handle) {
  if (entry.type !== 'TCPWRAP' || handle.hasRef()) return false;
  report.closing = report.closing || closingSockets();
  const inode = /^socket:\[(\d+)\]$/.exec(own.readlinkSync('/proc/self/fd/' + handle.fd));

  return inode !== null && report.closing.has(inode[1]);
}

function addHandle(report, entry, handle) {
  const fd = handle.fd;

  // The planted one has no descriptor yet: node makes it with bind().
  if (entry.type === 'UDPWRAP' && report.isOwn('handle', entry.at)) return;
  if (typeof fd !== 'number' || fd < 0 || before.has(fd)) return;
  report.claimed.add(fd);
  if (isClosing(report, entry, handle)) return;
  const kind = kinds[entry.type] && kinds[entry.type](handle, entry);

  if (!kind) return;
  if (kind[0] === 'fd') report.add('fd', kind[1], openedAt(fd), frames(openedAt(fd)));
  else report.add(kind[0], kind[1], entry.at, framesOf(entry));
}

function addCreated(report) {
  for (const entry of created.values()) {
    const resource = entry.ref.deref();

    if (!resource) continue;
    if (entry.type === 'Timeout') addTimer(report, entry, resource);
    else if (entry.type === 'PROCESSWRAP' && isChildAlive(resource.pid))
      report.add('child', 'child process', entry.at, framesOf(entry));
    else addHandle(report, entry, resource);
  }
}

// Whatever else keeps node from exiting: watchers, ports, signal handlers.
function addActive(report) {
  for (const owner of own.activeHandles.call(process)) {
    if (owner._handle === null) continue; // closed, and about to say so
    const handle = owner._handle || owner;
    const id = typeof handle.getAsyncId === 'function' ? handle.getAsyncId() : 0;
    const entry = created.get(id);
    const fd = typeof handle.fd === 'number' ? handle.fd : -1;

    if (before.has(fd) || report.claimed.has(fd) || handle === process.channel) continue;
    if (entry && (entry.type === 'PROCESSWRAP' || entry.type === 'PIPEWRAP')) continue;
    if (entry && entry.type === 'MESSAGEPORT' && has('worker', entry.at)) continue;
    report.add('handle', owner.constructor ? owner.constructor.name : 'handle',
      entry ? entry.at : {}, entry ? framesOf(entry) : []);
  }
}

// Descriptors that no handle owns. What node and native code open for themselves has no
// path, and no stack.
function addDescriptors(report) {
  for (const [fd, target] of descriptors()) {
    const at = openedAt(fd);

    if (before.has(fd) || report.claimed.has(fd)) continue;
    // libuv keeps one in reserve to turn connections away with.
    if (target === '/dev/null' && !textOf(at)) continue;
    if (target.startsWith('/')) report.add('fd', target, at, frames(at));
    else if (target.startsWith('socket:')) report.add('socket', 'socket', at, []);
  }
}

function addWorkers(report) {
  for (const { ref, at } of workers) {
    const worker = ref.deref();

    if (worker && worker.threadId >= 0)
      report.add('worker', 'worker thread', at, frames(at));
  }
}

// One of each mechanism: an async_hooks handle, a timer, a descriptor.
function exitpathCanary() {
  const socket = dgram.createSocket('udp4');
  const timer = own.setInterval(() => {}, 1 << 30);
  const fd = own.openSync('/dev/null', 'r');

  return () => {
    socket.close();
    own.clearInterval(timer);
    own.closeSync(fd);
  };
}

function snapshot() {
  const report = new Report();
  const release = exitpathCanary();

  try {
    addCreated(report);
    addWorkers(report);
    addActive(report);
    addDescriptors(report);
  } finally {
    release();
  }
  return {
    held: [...report.items.values()],
    notes: [...report.notes].map(([text, n]) => (n > 1 ? `${text}, ${n} times` : text)),
    canary: ['handle', 'timer', 'fd'].every((k) => report.canaries.has(k)),
  };
}

module.exports = { begin, snapshot };
