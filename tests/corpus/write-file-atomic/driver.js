#!/usr/bin/env node
// writeFileSync() whose fsync fails: the descriptor of the temporary file must be closed.
const fs = require('graceful-fs');
const { sync } = require('..');

fs.fsyncSync = () => { throw new Error('fsync fails'); };
for (let i = 0; i < 20; i++) {
  try {
    sync(`${process.env.TMPDIR || '/tmp'}/target`, 'text');
    process.exitCode = 1;
  } catch (err) {
    if (err.message !== 'fsync fails') throw err;
  }
}
