#!/usr/bin/env node
// Clients that are gone before the file was looked up: it must not stay open. The file is
// larger than what is read ahead.
const http = require('http');
const net = require('net');
const path = require('path');
const send = require('..');
const address = `${process.env.TMPDIR || '/tmp'}/s`;
let left = 20;

const server = http.createServer((req, res) => {
  send(req, '/' + path.basename(process.execPath))
    .root(path.dirname(process.execPath))
    .on('error', () => {})
    .pipe(res);
  req.socket.destroy();
  if (--left) setTimeout(connect, 10);
  else setTimeout(() => server.close(), 50);
});

function connect() {
  net.connect(address).on('error', () => {}).write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
}

server.listen(address, connect);
