#!/usr/bin/env node
// utimesMillis() whose futimes fails: the descriptor must be closed.
const fs = require('graceful-fs');
const { utimesMillis } = require('../lib/util/utimes');

fs.futimes = (fd, atime, mtime, done) => setImmediate(done, new Error('futimes fails'));
for (let i = 0; i < 20; i++)
  utimesMillis(__filename, 1, 1, (err) => {
    if (!err || err.message !== 'futimes fails') throw err || new Error('no error');
  });
