#!/usr/bin/env node
// Requests over one kept connection, with answers in chunks: each must take its listeners
// off the socket again.
import http from 'node:http';
import net from 'node:net';
import fetch from '../src/index.js';

const address = `${process.env.TMPDIR || '/tmp'}/s`;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const server = http.createServer((req, res) => {
  res.write('a');
  res.end('b');
});

agent.createConnection = () => net.connect(address);
await new Promise((done) => server.listen(address, done));
for (let i = 0; i < 20; i++) {
  const res = await fetch('http://localhost/', { agent });

  await res.text();
}
agent.destroy();
server.close();
