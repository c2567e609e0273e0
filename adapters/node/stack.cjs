// Where something was created: stacks are captured at once and formatted late, since most
// of what is created is released again.
'use strict';

const LIMIT = 50; // frames captured
const KEEP = 20; // frames reported

let eager = false;

// Jest forgets its source maps when a test file is done.
function formatAtOnce() {
  eager = true;
}

// The object whose `stack` will be the stack of the caller of `above`.
function capture(above) {
  const at = {};
  const limit = Error.stackTraceLimit;

  Error.stackTraceLimit = LIMIT;
  Error.captureStackTrace(at, above);
  Error.stackTraceLimit = limit;
  if (eager) textOf(at);
  return at;
}

function parseLine(line) {
  const m = /^\s*at (?:async )?(?:(.*?) \()?((?:file:\/\/|node:|\/).*?)(?::(\d+))?(?::\d+)?\)?$/.exec(line);

  if (!m) return null;
  let name = (m[1] || '').replace(/^new /, '').replace(/ \[as [^\]]*\]$/, '');
  let file = m[2];

  if (file.startsWith('file://')) {
    try {
      file = decodeURIComponent(file.slice(7).replace(/\?.*$/, ''));
    } catch {
      file = file.slice(7);
    }
  }
  if (name === '<anonymous>') name = '';
  return { function: name, file, line: Number(m[3] || 0) };
}

// A project's Error.prepareStackTrace may throw, or give something else than text.
function textOf(at) {
  try {
    return typeof at.stack === 'string' ? at.stack : '';
  } catch {
    return '';
  }
}

// All frames, innermost first.
function allFrames(at) {
  return textOf(at).split('\n').map(parseLine).filter(Boolean);
}

// Created by these files themselves: the innermost function of theirs, or ''.
function ownFunction(at) {
  const first = allFrames(at).find((f) => !f.file.startsWith('node:'));

  return first && first.file.startsWith(__dirname) ? first.function || '?' : '';
}

// Frames that say who created it: not node's own, nor those of the test runner.
const RUNNER = new RegExp('/node_modules/(?:jest-[^/]*|@jest/[^/]*|jest|mocha|p-limit|graceful-fs|' +
  '@vitest/[^/]*|vitest|vite|vite-node|tinypool)/');

function frames(at) {
  return allFrames(at)
    .filter((f) => !f.file.startsWith('node:') && !f.file.startsWith(__dirname) &&
      !RUNNER.test(f.file))
    .slice(0, KEEP);
}

// The innermost frame outside of node, if node's timers or events alone lie below it.
function directCreator(at, internal) {
  const all = allFrames(at);
  let i = 0;

  while (i < all.length && internal.test(all[i].file)) i++;
  return i < all.length && !all[i].file.startsWith('node:') ? all[i] : null;
}

module.exports = { formatAtOnce, capture, textOf, frames, directCreator, ownFunction };
