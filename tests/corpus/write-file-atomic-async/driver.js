#!/usr/bin/env node
// writeFile() and writeFileSync() whose fsync fails. The fix is of the latter alone.
const fs = require('graceful-fs');
const writeFile = require('..');
const target = `${process.env.TMPDIR || '/tmp'}/target`;

fs.fsyncSync = () => { throw new Error('fsync fails'); };
fs.fsync = (fd, done) => setImmediate(done, new Error('fsync fails'));

function expected(err) {
  if (!err || err.message !== 'fsync fails') throw err || new Error('no error');
}

function again(left) {
  if (!left) return;
  try {
    writeFile.sync(target, 'text');
  } catch (err) {
    expected(err);
  }
  writeFile(target, 'text', (err) => {
    expected(err);
    again(left - 1);
  });
}

again(20);
