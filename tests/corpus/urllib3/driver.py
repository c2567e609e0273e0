"""TLS cannot be set up: connect() fails, and close() must close the socket."""
import socket
import sys
import unittest

sys.path.insert(0, "src")

from urllib3.connection import HTTPSConnection  # noqa: E402
from urllib3.exceptions import SSLError  # noqa: E402


class Failure(unittest.TestCase):
    def test_no_certificates(self):
        ours, peer = socket.socketpair()
        with peer:
            connection = HTTPSConnection("example.org", 443)
            connection.set_cert(cert_reqs="CERT_REQUIRED", ca_certs="/missing.pem")
            connection._new_conn = [ours].pop
            del ours
            try:
                with self.assertRaises(SSLError):
                    connection.connect()
            finally:
                connection.close()
