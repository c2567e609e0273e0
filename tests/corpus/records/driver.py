"""query() checks a connection out, and leaves it to the collector to give it back."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, ".")

import records  # noqa: E402

# As a service has it: it lives as long as the process.
DIRECTORY = tempfile.TemporaryDirectory()
DATABASE = records.Database("sqlite:///" + os.path.join(DIRECTORY.name, "db"), pool_size=50)


class Query(unittest.TestCase):
    def test_first_row(self):
        self.assertEqual(DATABASE.query("select 1 as x union select 2").first().x, 1)
